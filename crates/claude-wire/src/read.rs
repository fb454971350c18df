//! Reading JSON that may not be what we expect.
//!
//! Serde's derive fails a whole line for one field of another type, for a field given twice and for a lone-surrogate
//! escape. A line of the child must survive all three, so the views are read by the traits here: a wrong type is
//! "not there", the last of two equal keys counts (as in JavaScript), unknown keys are skipped.
//!
//! There are two modes. *Strict* is the fast one; it stops only at what is not JSON, at a lone surrogate in a string
//! that a view wants, at invalid UTF-8 there, and at numbers beyond `f64`. *Tolerant* is the second try: it first
//! takes each value as text and then reads it by hand where serde_json would refuse.

mod object;
mod pieces;
mod scalar;

pub(crate) use object::{Entries, Object, ObjectVisitor, object};
pub(crate) use pieces::{Piece, pieces};
pub(crate) use scalar::Scalar;

use crate::known::Shape;
use scalar::tolerant_string;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

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

fn skip_seq<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

fn skip_map<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
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

use otherwise_none;

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
