//! Objects: read key by key, the last of two equal keys counts, unknown keys are skipped.

use super::{Mode, Read, Seed, otherwise_none, skip_seq, structure, tolerant_string};
use crate::known::Shape;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// An object that a view can hold: what `object!` writes.
pub(crate) trait Object<'de>: Default {
    /// Takes the value of `key` out of the map, whether it wants it or not.
    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A, mode: Mode) -> Result<(), A::Error>;
}

/// Reads an object field by field.
pub(crate) struct ObjectVisitor<T>(pub(crate) Mode, pub(crate) PhantomData<T>);

impl<'de, T: Object<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Option<T>;

    otherwise_none!(str, seq);

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut object = T::default();
        while let Some(key) = map.next_key_seed(KeySeed(self.0))? {
            object.field(&key.0, &mut map, self.0)?;
        }
        Ok(Some(object))
    }
}

/// An object whose keys are data, in the order of the text.
#[derive(Clone, Debug)]
pub(crate) struct Entries<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Read<'de> + Default> Read<'de> for Entries<T> {
    const SHAPE: Shape = Shape::Entries(&T::SHAPE);

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        structure(from, mode, b'{', EntriesVisitor(mode, PhantomData))
    }
}

struct EntriesVisitor<T>(Mode, PhantomData<T>);

impl<'de, T: Read<'de> + Default> Visitor<'de> for EntriesVisitor<T> {
    type Value = Option<Entries<T>>;

    otherwise_none!(str, seq);

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key_seed(KeySeed(self.0))? {
            let value = map.next_value_seed(Seed::<T>::new(self.0))?;
            entries.push((key.0.into_owned(), value.unwrap_or_default()));
        }
        Ok(Some(Entries(entries)))
    }
}

/// A key of an object, borrowed from the line where it has no escapes.
pub(super) struct Key<'de>(Cow<'de, str>);

pub(super) struct KeySeed(pub(super) Mode);

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Key<'de>, D::Error> {
        match self.0 {
            Mode::Strict => from.deserialize_str(self),
            Mode::Tolerant => {
                let text = <&RawValue>::deserialize(from)?.get();
                Ok(Key(tolerant_string(text).map_err(de::Error::custom)?.into()))
            }
        }
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Owned(key.to_owned())))
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Borrowed(key)))
    }
}

/// Writes a struct that is read from an object, field by field: `name: Type = "key"`.
///
/// A missing field, or one of another type, has its type's default. `skip: ["key", …]` names fields that are known
/// and not read. `rest: field` hands all other keys to that field, which is an object itself.
macro_rules! object {
    (@other $self:ident, $key:ident, $map:ident, $mode:ident) => {
        $map.next_value::<::serde::de::IgnoredAny>().map(|_| ())
    };
    (@other $self:ident, $key:ident, $map:ident, $mode:ident, $rest:ident) => {
        $crate::read::Object::field(&mut $self.$rest, $key, $map, $mode)
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident {
            $( $(#[$fmeta:meta])* $fvis:vis $field:ident : $Type:ty = $key:literal $(| $alias:literal)* ),* $(,)?
        }
        $( rest: $(#[$rmeta:meta])* $rvis:vis $rest:ident : $Rest:ty; )?
        $( skip: [$($skip:literal),* $(,)?]; )?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        $vis struct $Name {
            $( $(#[$rmeta])* $rvis $rest: $Rest, )?
            $( $(#[$fmeta])* $fvis $field: $Type, )*
        }

        impl<'de> $crate::read::Object<'de> for $Name {
            fn field<A: ::serde::de::MapAccess<'de>>(
                &mut self,
                key: &str,
                map: &mut A,
                mode: $crate::read::Mode,
            ) -> Result<(), A::Error> {
                match key {
                    $( $key $(| $alias)* => {
                        self.$field = map.next_value_seed($crate::read::Seed::new(mode))?.unwrap_or_default();
                    } )*
                    _ => $crate::read::object!(@other self, key, map, mode $(, $rest)?)?,
                }
                Ok(())
            }
        }

        impl<'de> $crate::read::Read<'de> for $Name {
            const SHAPE: $crate::known::Shape = $crate::known::Shape::Object {
                fields: &[
                    $( ($key, &<$Type as $crate::read::Read<'static>>::SHAPE), )*
                    $( $( ($alias, &<$Type as $crate::read::Read<'static>>::SHAPE), )* )*
                    $( $( ($skip, &$crate::known::Shape::Opaque), )* )?
                ],
                rest: &[ $( &<$Rest as $crate::read::Read<'static>>::SHAPE )? ],
            };

            fn read<D: ::serde::Deserializer<'de>>(
                from: D,
                mode: $crate::read::Mode,
            ) -> Result<Option<Self>, D::Error> {
                $crate::read::structure(
                    from, mode, b'{', $crate::read::ObjectVisitor(mode, ::std::marker::PhantomData),
                )
            }
        }
    };
}
pub(crate) use object;
