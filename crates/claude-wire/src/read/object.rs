//! Objects: read key by key, the last of two equal keys counts, unknown keys are skipped.

use super::{Mode, Read, Seed, otherwise_none, skip_seq, structure, surrogates_replaced};
use crate::known::Shape;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// An object that a view can hold: what [`object!`](crate::object) writes.
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
        while let Some(key) = map.next_key_seed(KeySeed)? {
            object.field(key.as_str(), &mut map, self.0)?;
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
        while let Some(key) = map.next_key_seed(KeySeed)? {
            let value = map.next_value_seed(Seed::<T>::new(self.0))?;
            entries.push((surrogates_replaced(&key.0), value.unwrap_or_default()));
        }
        Ok(Some(Entries(entries)))
    }
}

/// A key of an object. Taken as bytes: then even one with a lone surrogate is readable, and nothing is copied.
pub(crate) struct Key<'de>(Cow<'de, [u8]>);

impl Key<'_> {
    /// Its text; empty for one that isn't UTF-8, which no view can want.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

pub(crate) struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Key<'de>, D::Error> {
        from.deserialize_bytes(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, v: &[u8]) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Owned(v.to_owned())))
    }

    fn visit_borrowed_bytes<E>(self, v: &'de [u8]) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Borrowed(v)))
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
