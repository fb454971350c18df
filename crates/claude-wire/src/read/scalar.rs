//! Single values: strings, numbers, flags, and anything as its own text.

use super::{Mode, Read, skip_map, skip_seq};
use crate::known::Shape;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

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
pub(super) fn tolerant_string(token: &str) -> serde_json::Result<String> {
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
