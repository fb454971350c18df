//! Reading JSON that may not be what we expect.
//!
//! Serde's derive fails a whole line for one field of another type, for a field given twice and for a lone-surrogate
//! escape. A line of the child must survive all three, so the views are read by the traits here: a wrong type is
//! "not there", the last of two equal keys counts (as in JavaScript), unknown keys are skipped.
//!
//! There are two modes. *Strict* is the fast one; it stops only at what is not JSON, at a lone surrogate in a string
//! that a view wants, at invalid UTF-8 there, and at numbers beyond `f64`. *Tolerant* is the second try: it first
//! takes each value as text and then reads it by hand where serde_json would refuse.

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use crate::known::Shape;

/// Which try this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Fast; may fail on a line that JavaScript would read.
    Strict,
    /// Slow; fails only where the text is not JSON.
    Tolerant,
}

/// A value that a view can hold.
pub(crate) trait Read<'de>: Sized {
    /// What it reads, for the list of fields that no view knows.
    const SHAPE: Shape;

    /// Reads the next value; `Ok(None)` when it is of another type. An error means that the text is not JSON, or in
    /// strict mode that it needs the second try.
    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error>;
}

/// An object that a view can hold: what [`object!`](crate::object) writes.
pub(crate) trait Object<'de>: Default {
    /// Takes the value of `key` out of the map, whether it wants it or not.
    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A, mode: Mode) -> Result<(), A::Error>;
}

/// Reads a whole text as one `T`; anything but an object gives the default.
pub(crate) fn whole<'de, T: Read<'de> + Default>(text: &'de [u8], mode: Mode) -> serde_json::Result<T> {
    let mut from = serde_json::Deserializer::from_slice(text);
    let value = T::read(&mut from, mode)?;
    from.end()?;
    Ok(value.unwrap_or_default())
}

/// Hands `mode` down to a value inside an object or a list.
pub(crate) struct Seed<T>(Mode, PhantomData<T>);

impl<T> Seed<T> {
    pub(crate) const fn new(mode: Mode) -> Self {
        Self(mode, PhantomData)
    }
}

impl<'de, T: Read<'de>> DeserializeSeed<'de> for Seed<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
        T::read(from, self.0)
    }
}

/// Any value, as far as the views care.
pub(crate) enum Scalar<'de> {
    Text(Cow<'de, str>),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    /// Null, a list, an object, or a number beyond `f64`.
    Other,
}

impl<'de> Scalar<'de> {
    pub(crate) fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Self, D::Error> {
        match mode {
            Mode::Strict => from.deserialize_any(ScalarVisitor),
            Mode::Tolerant => {
                Self::from_text(<&RawValue>::deserialize(from)?.get()).map_err(de::Error::custom)
            }
        }
    }

    fn from_text(text: &'de str) -> serde_json::Result<Self> {
        Ok(match text.as_bytes().first() {
            Some(b'"') => Self::Text(Cow::Owned(tolerant_string(text)?)),
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'-' | b'0'..=b'9') => Self::number(text),
            _ => Self::Other,
        })
    }

    fn number(text: &str) -> Self {
        if let Ok(n) = text.parse() {
            Self::Unsigned(n)
        } else if let Ok(n) = text.parse() {
            Self::Signed(n)
        } else {
            text.parse().ok().filter(|n: &f64| n.is_finite()).map_or(Self::Other, Self::Float)
        }
    }
}

/// Reads a JSON string; a lone surrogate becomes U+FFFD.
fn tolerant_string(token: &str) -> serde_json::Result<String> {
    struct Bytes;

    impl<'de> Visitor<'de> for Bytes {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<String, E> {
            Ok(surrogates_replaced(bytes))
        }
    }

    serde_json::Deserializer::from_str(token).deserialize_bytes(Bytes)
}

/// serde_json gives the bytes of a string that holds a lone surrogate as three bytes that begin with ED; std finds
/// three faults in them.
fn surrogates_replaced(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if chunk.invalid().first() == Some(&0xED) {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Bool(v))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Unsigned(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Signed(v))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Float(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(v.to_owned())))
    }

    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(v)))
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar<'de>, A::Error> {
        skip_seq(&mut seq)?;
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar<'de>, A::Error> {
        skip_map(&mut map)?;
        Ok(Scalar::Other)
    }
}

fn skip_seq<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

fn skip_map<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    while map.next_key_seed(KeySeed)?.is_some() {
        map.next_value::<IgnoredAny>()?;
    }
    Ok(())
}

impl<'de> Read<'de> for String {
    const SHAPE: Shape = Shape::Leaf;

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        Ok(match Scalar::read(from, mode)? {
            Scalar::Text(text) => Some(text.into_owned()),
            _ => None,
        })
    }
}

impl<'de> Read<'de> for bool {
    const SHAPE: Shape = Shape::Leaf;

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        Ok(match Scalar::read(from, mode)? {
            Scalar::Bool(v) => Some(v),
            _ => None,
        })
    }
}

impl<'de> Read<'de> for u64 {
    const SHAPE: Shape = Shape::Leaf;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range by the guard")]
    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        Ok(match Scalar::read(from, mode)? {
            Scalar::Unsigned(n) => Some(n),
            Scalar::Float(n) if (0.0..1.8e19).contains(&n) => Some(n as Self),
            _ => None,
        })
    }
}

impl<'de> Read<'de> for i64 {
    const SHAPE: Shape = Shape::Leaf;

    #[expect(clippy::cast_possible_truncation, reason = "in range by the guard")]
    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        Ok(match Scalar::read(from, mode)? {
            Scalar::Unsigned(n) => Self::try_from(n).ok(),
            Scalar::Signed(n) => Some(n),
            Scalar::Float(n) if n.abs() < 9.2e18 => Some(n as Self),
            _ => None,
        })
    }
}

impl<'de> Read<'de> for f64 {
    const SHAPE: Shape = Shape::Leaf;

    #[expect(clippy::cast_precision_loss, reason = "a JSON number is a double to its writer")]
    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        Ok(match Scalar::read(from, mode)? {
            Scalar::Unsigned(n) => Some(n as Self),
            Scalar::Signed(n) => Some(n as Self),
            Scalar::Float(n) => Some(n),
            _ => None,
        })
    }
}

/// The value's own text. Null counts as absent.
impl<'de> Read<'de> for Box<RawValue> {
    const SHAPE: Shape = Shape::Opaque;

    fn read<D: Deserializer<'de>>(from: D, _mode: Mode) -> Result<Option<Self>, D::Error> {
        let raw = <&RawValue>::deserialize(from)?;
        Ok((raw.get() != "null").then(|| raw.to_owned()))
    }
}

/// Whether it is there or of the right type is part of the value.
impl<'de, T: Read<'de>> Read<'de> for Option<T> {
    const SHAPE: Shape = T::SHAPE;

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        T::read(from, mode).map(Some)
    }
}

/// Elements of another type are left out.
impl<'de, T: Read<'de>> Read<'de> for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        structure(from, mode, b'[', ListVisitor(mode, PhantomData))
    }
}

/// Reads a list or an object (`open` is how its text begins) with `visitor`, which says `None` to anything else.
pub(crate) fn structure<'de, D, V, T>(
    from: D,
    mode: Mode,
    open: u8,
    visitor: V,
) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    V: Visitor<'de, Value = Option<T>>,
{
    match mode {
        Mode::Strict => from.deserialize_any(visitor),
        Mode::Tolerant => {
            let text = <&RawValue>::deserialize(from)?.get();
            if text.as_bytes().first() != Some(&open) {
                return Ok(None);
            }
            serde_json::Deserializer::from_str(text).deserialize_any(visitor).map_err(de::Error::custom)
        }
    }
}

/// What a visitor says to all the types that it doesn't want.
macro_rules! otherwise_none {
    ($($kind:ident),*) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        $(otherwise_none!(@$kind);)*
    };
    (@str) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(None)
        }
    };
    (@seq) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            skip_seq(&mut seq)?;
            Ok(None)
        }
    };
    (@map) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            skip_map(&mut map)?;
            Ok(None)
        }
    };
}

struct ListVisitor<T>(Mode, PhantomData<T>);

impl<'de, T: Read<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Option<Vec<T>>;

    otherwise_none!(str, map);

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element_seed(Seed::<T>::new(self.0))? {
            list.extend(item);
        }
        Ok(Some(list))
    }
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

/// A part of a content list.
pub(crate) enum Piece<'de, T> {
    Text(Cow<'de, str>),
    Object(T),
}

/// Reads what may be one string, one object, or a list of both; everything else is left out.
pub(crate) fn pieces<'de, T: Object<'de>, D: Deserializer<'de>>(
    from: D,
    mode: Mode,
) -> Result<Vec<Piece<'de, T>>, D::Error> {
    let mut list = Vec::new();
    PieceSeed { mode, list: &mut list, in_list: false }.deserialize(from)?;
    Ok(list)
}

struct PieceSeed<'a, 'de, T> {
    mode: Mode,
    list: &'a mut Vec<Piece<'de, T>>,
    /// Lists inside a list are not content: without this a deep one would meet serde_json's recursion limit.
    in_list: bool,
}

impl<'de, T: Object<'de>> DeserializeSeed<'de> for PieceSeed<'_, 'de, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        if self.mode == Mode::Strict {
            return from.deserialize_any(self).map(|_| ());
        }
        let text = <&RawValue>::deserialize(from)?.get();
        match text.as_bytes().first() {
            Some(b'"') => {
                let text = tolerant_string(text).map_err(de::Error::custom)?;
                self.list.push(Piece::Text(Cow::Owned(text)));
            }
            Some(b'[' | b'{') => {
                let mut inner = serde_json::Deserializer::from_str(text);
                inner.deserialize_any(self).map_err(de::Error::custom)?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl<'de, T: Object<'de>> Visitor<'de> for PieceSeed<'_, 'de, T> {
    type Value = Option<()>;

    otherwise_none!();

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        self.list.push(Piece::Text(Cow::Owned(text.to_owned())));
        Ok(None)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        self.list.push(Piece::Text(Cow::Borrowed(text)));
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        if self.in_list {
            skip_seq(&mut seq)?;
            return Ok(None);
        }
        while seq
            .next_element_seed(PieceSeed { mode: self.mode, list: &mut *self.list, in_list: true })?
            .is_some()
        {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let object = ObjectVisitor::<T>(self.mode, PhantomData).visit_map(map)?;
        self.list.extend(object.map(Piece::Object));
        Ok(None)
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
