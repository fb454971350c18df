//! Lists of text and objects, as the `content` of a message is one.

use super::{Mode, Object, ObjectVisitor, otherwise_none, skip_seq, tolerant_string};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

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
