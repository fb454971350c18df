//! Which blocks are good. A field that is not known is refused too: the API would refuse it, for ever.

use super::Kind;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// The longest image that is accepted, in bytes of base64: the API's own limit. That is a file of 3 932 160 bytes.
pub const MAX_IMAGE: usize = 5 << 20;

/// Why a block can't be sent.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// Not an object.
    #[error("it is not a JSON object")]
    NotAnObject,
    /// A type of block that messages don't have.
    #[error("blocks of type {name:?} are not known; known are text, image and document")]
    UnknownType {
        /// Its type.
        name: String,
    },
    /// Blocks that claude makes itself.
    #[error("{name} blocks are made by claude itself and its tools; a message can't have any")]
    NotSaid {
        /// Its type.
        name: String,
    },
    /// A field is missing, or is something else.
    #[error("its {field} is missing or is not {wanted}")]
    Field {
        /// Where, such as `source.data`.
        field: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// A field that this type of block doesn't have.
    #[error("its {field} is not known; known are {known}")]
    UnknownField {
        /// Where.
        field: String,
        /// What there is, for people.
        known: String,
    },
    /// Nothing is said.
    #[error("its {field} is empty")]
    Blank {
        /// Where.
        field: &'static str,
    },
    /// A type of source that this type of block doesn't have.
    #[error("its source.type is {name:?}; it must be {known}")]
    Source {
        /// What was said.
        name: String,
        /// What there is.
        known: &'static str,
    },
    /// A media type that is not taken here.
    #[error("its source.media_type is {name:?}; it must be {known}")]
    MediaType {
        /// What was said.
        name: String,
        /// What there is.
        known: &'static str,
    },
    /// Not base64.
    #[error("its source.data is not base64")]
    NotBase64(#[source] base64::DecodeError),
    /// Base64 of something else than what was said.
    #[error("its source.data is {}, not {}", name(*found), said.media_type())]
    OtherData {
        /// What was said.
        said: Kind,
        /// What it is.
        found: Option<Kind>,
    },
    /// Larger than the API takes.
    #[error("the image has {len} bytes as base64; the API takes at most {MAX_IMAGE} (a file of {})", MAX_IMAGE / 4 * 3)]
    ImageTooLarge {
        /// Its length, as base64.
        len: usize,
    },
    /// Bytes that are no image.
    #[error("it is {}; images are png, jpeg, gif and webp", name(*found))]
    NoImage {
        /// What it is.
        found: Option<Kind>,
    },
    /// Bytes that are no document.
    #[error("it is {}; documents are PDF and UTF-8 text", name(*found))]
    NoDocument {
        /// What it is.
        found: Option<Kind>,
    },
}

fn name(found: Option<Kind>) -> &'static str {
    found.map_or("something else", Kind::media_type)
}

/// Looks at one block.
pub(super) fn block(block: &Value) -> Result<(), BlockError> {
    let fields = Fields::of(block, "")?;
    match fields.text("type")? {
        "text" => {
            fields.only(&["type", "text"])?;
            fields.said("text", "text")
        }
        "image" => {
            fields.only(&["type", "source"])?;
            image(&fields.inner("source")?)
        }
        "document" => {
            fields.only(&["type", "source", "title", "context"])?;
            for field in ["title", "context"] {
                if fields.object.contains_key(field) {
                    fields.text(field)?;
                }
            }
            document(&fields.inner("source")?)
        }
        name @ ("tool_use" | "tool_result" | "thinking" | "redacted_thinking") => {
            Err(BlockError::NotSaid { name: name.to_owned() })
        }
        name => Err(BlockError::UnknownType { name: name.to_owned() }),
    }
}

fn image(source: &Fields<'_>) -> Result<(), BlockError> {
    match source.text("type")? {
        "base64" => {
            let known = "image/png, image/jpeg, image/gif or image/webp";
            let len = source.base64(Kind::is_image, known)?;
            if len > MAX_IMAGE { Err(BlockError::ImageTooLarge { len }) } else { Ok(()) }
        }
        "url" => {
            source.only(&["type", "url"])?;
            let url = source.text("url")?;
            let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            if rest.is_none_or(str::is_empty) {
                return Err(BlockError::Field {
                    field: source.path("url"),
                    wanted: "an http or https address",
                });
            }
            Ok(())
        }
        name => Err(BlockError::Source { name: name.to_owned(), known: "base64 or url" }),
    }
}

fn document(source: &Fields<'_>) -> Result<(), BlockError> {
    match source.text("type")? {
        "base64" => source.base64(|kind| kind == Kind::Pdf, "application/pdf").map(drop),
        "text" => {
            source.only(&["type", "media_type", "data"])?;
            let name = source.text("media_type")?;
            if name != "text/plain" {
                return Err(BlockError::MediaType { name: name.to_owned(), known: "text/plain" });
            }
            source.said("data", "source.data")
        }
        name => Err(BlockError::Source { name: name.to_owned(), known: "base64 or text" }),
    }
}

/// The fields of a block or of its source.
struct Fields<'a> {
    object: &'a Map<String, Value>,
    /// What stands before their names.
    at: &'static str,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, at: &'static str) -> Result<Self, BlockError> {
        Ok(Self { object: value.as_object().ok_or(BlockError::NotAnObject)?, at })
    }

    fn path(&self, field: &str) -> String {
        format!("{}{field}", self.at)
    }

    fn text(&self, field: &str) -> Result<&'a str, BlockError> {
        self.object
            .get(field)
            .and_then(Value::as_str)
            .ok_or_else(|| BlockError::Field { field: self.path(field), wanted: "a text" })
    }

    /// A text with something in it.
    fn said(&self, field: &str, path: &'static str) -> Result<(), BlockError> {
        if self.text(field)?.trim().is_empty() { Err(BlockError::Blank { field: path }) } else { Ok(()) }
    }

    fn inner(&self, field: &str) -> Result<Fields<'a>, BlockError> {
        let wanted = || BlockError::Field { field: self.path(field), wanted: "an object" };
        let object = self.object.get(field).and_then(Value::as_object).ok_or_else(wanted)?;
        Ok(Fields { object, at: "source." })
    }

    fn only(&self, known: &[&str]) -> Result<(), BlockError> {
        match self.object.keys().find(|field| !known.contains(&field.as_str())) {
            None => Ok(()),
            Some(field) => Err(BlockError::UnknownField { field: self.path(field), known: known.join(", ") }),
        }
    }

    /// Base64 of what its media type says; its length. The whole of it is decoded: one bad letter is enough for the API.
    fn base64(&self, fits: fn(Kind) -> bool, known: &'static str) -> Result<usize, BlockError> {
        self.only(&["type", "media_type", "data"])?;
        let name = self.text("media_type")?;
        let Some(said) = Kind::of_media_type(name).filter(|kind| fits(*kind)) else {
            return Err(BlockError::MediaType { name: name.to_owned(), known });
        };
        let data = self.text("data")?;
        let bytes = STANDARD.decode(data).map_err(BlockError::NotBase64)?;
        let found = Kind::of(&bytes[..bytes.len().min(Kind::HEAD)]);
        if found != Some(said) {
            return Err(BlockError::OtherData { said, found });
        }
        Ok(data.len())
    }
}
