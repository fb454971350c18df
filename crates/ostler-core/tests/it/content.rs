//! Which content blocks are good, what they are stored as, and how they are shown.

use ostler_core::content::{
    Attached, Block, BlockError, Blocks, Content, ContentError, Kind, MAX_IMAGE, Shown, shown, to_wire,
};
use serde_json::{Value, json};

/// A png, as far as its beginning goes; base64 of it is [`PNG`].
const PNG_BYTES: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const PNG: &str = "iVBORw0KGgoAAAANSUhEUg==";
const JPEG: &str = "/9j/4AAQSkZJRgABAQ==";
const GIF: &str = "R0lGODlhAQABAAAAACw=";
const WEBP: &str = "UklGRiQAAABXRUJQVlA4IA==";
const PDF: &str = "JVBERi0xLjQKJQ==";

fn image(media_type: &str, data: &str) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
}

fn pdf() -> Value {
    json!({"type": "document", "title": "r", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}})
}

fn text_document(data: &str) -> Value {
    json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": data}})
}

fn parse(value: &Value) -> Result<Blocks, ContentError> {
    Blocks::parse(&value.to_string())
}

/// The error, its cause included.
fn why(value: &Value) -> String {
    let error = parse(value).expect_err("is not good");
    let cause = std::error::Error::source(&error).map(|e| format!(": {e}")).unwrap_or_default();
    format!("{error}{cause}")
}

#[test]
fn good_blocks() {
    let good = [
        json!({"type": "text", "text": "hello"}),
        image("image/png", PNG),
        image("image/jpeg", JPEG),
        image("image/gif", GIF),
        image("image/webp", WEBP),
        json!({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}),
        pdf(),
        text_document("some text"),
        json!({"type": "document", "title": "t", "context": "c",
            "source": {"type": "text", "media_type": "text/plain", "data": "x"}}),
    ];
    for block in &good {
        assert!(parse(&json!([block])).is_ok(), "{block}: {}", why(&json!([block])));
    }
    let all = parse(&Value::from(good.to_vec())).unwrap();
    assert_eq!(serde_json::from_str::<Value>(all.json()).unwrap(), Value::from(good.to_vec()));
}

/// A block, and what its refusal says.
fn bad() -> Vec<(Value, &'static str)> {
    let url = |url: &str| json!({"type": "image", "source": {"type": "url", "url": url}});
    vec![
        (json!("text"), "not a JSON object"),
        (json!({}), "its type is missing or is not a text"),
        (json!({"type": 1}), "its type is missing"),
        (json!({"type": "video"}), "type \"video\" are not known; known are text, image and document"),
        (json!({"type": "tool_result", "tool_use_id": "x"}), "tool_result blocks are made by claude itself"),
        (json!({"type": "tool_use"}), "tool_use blocks"),
        (json!({"type": "text"}), "its text is missing"),
        (json!({"type": "text", "text": " \n"}), "its text is empty"),
        (
            json!({"type": "text", "text": "x", "cache_control": {}}),
            "its cache_control is not known; known are type, text",
        ),
        (json!({"type": "image"}), "its source is missing or is not an object"),
        (
            json!({"type": "image", "source": {"type": "file", "file_id": "f"}}),
            "source.type is \"file\"; it must be base64 or url",
        ),
        (image("image/bmp", PNG), "source.media_type is \"image/bmp\"; it must be image/png"),
        (image("application/pdf", PDF), "source.media_type is \"application/pdf\""),
        (image("image/png", "iVBORw0KGgo!"), "source.data is not base64"),
        // Padding is not optional, and a line break is no letter.
        (image("image/png", "iVBORw0KGgoAAAANSUhEUg"), "source.data is not base64"),
        (image("image/png", "iVBORw0K\nGgo="), "source.data is not base64"),
        (image("image/png", ""), "source.data is something else, not image/png"),
        (image("image/png", JPEG), "source.data is image/jpeg, not image/png"),
        (image("image/png", "aGVsbG8="), "source.data is something else, not image/png"),
        (
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png"}}),
            "source.data is missing",
        ),
        (url("file:///etc/passwd"), "source.url is missing or is not an http or https address"),
        (url("https://"), "source.url"),
        (
            json!({"type": "document", "source": {"type": "url", "url": "https://e.org"}}),
            "must be base64 or text",
        ),
        (json!({"type": "document", "title": 3, "source": {}}), "its title is missing or is not a text"),
        (
            json!({"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}),
            "it must be application/pdf",
        ),
        (
            json!({"type": "document", "source": {"type": "text", "media_type": "text/html", "data": "x"}}),
            "it must be text/plain",
        ),
        (text_document("  "), "source.data is empty"),
    ]
}

#[test]
fn bad_blocks_are_named_by_their_place() {
    let good = json!({"type": "text", "text": "hello"});
    for (block, says) in bad() {
        let why = why(&json!([good, block]));
        assert!(why.starts_with("block 1 of the content can't be sent: "), "{why}");
        assert!(why.contains(says), "{says:?} is not in: {why}");
    }
}

#[test]
fn what_is_no_list_of_blocks() {
    assert!(matches!(Blocks::parse("[{"), Err(ContentError::NotJson(_))));
    assert!(matches!(Blocks::parse("[] []"), Err(ContentError::NotJson(_))));
    assert!(matches!(Blocks::parse("{}"), Err(ContentError::NotAnArray)));
    assert!(matches!(Blocks::parse("\"hello\""), Err(ContentError::NotAnArray)));
    assert!(matches!(Blocks::parse("[]"), Err(ContentError::NoBlocks)));
    // A lone surrogate would be an error of the API for ever.
    assert!(matches!(Blocks::parse(r#"[{"type":"text","text":"\ud800"}]"#), Err(ContentError::NotJson(_))));
}

/// What the child reads is what was checked: of a field that is there twice, the checked one.
#[test]
fn the_same_blocks_are_the_same_bytes() {
    let spaced = Blocks::parse("[ {\"text\": \"a\\u0062\",\n \"type\":\"text\"} ]").unwrap();
    let tight = Blocks::parse(r#"[{"type":"text","text":"ab"}]"#).unwrap();
    assert_eq!(spaced, tight);
    let twice = Blocks::parse(r#"[{"type":"tool_result","type":"text","text":"ab"}]"#).unwrap();
    assert_eq!(twice, tight);
    assert!(Blocks::parse(r#"[{"type":"text","text":"ab","type":"tool_result"}]"#).is_err());
}

#[test]
fn stored_and_read_again() {
    let text = Content::from("[1] is \"text\"");
    assert!(matches!(to_wire(&text.to_stored()), claude_wire::Content::Text(t) if t == "[1] is \"text\""));
    let blocks = parse(&json!([image("image/png", PNG)])).unwrap();
    let json = blocks.json().to_owned();
    let stored = Content::Blocks(blocks).to_stored();
    assert!(matches!(to_wire(&stored), claude_wire::Content::Blocks(raw) if raw.get() == json));
}

#[test]
fn files_by_what_they_are() {
    let made = Blocks::of(vec![
        Block::document("a.txt", "héllo".as_bytes()).unwrap(),
        Block::document("b", b"%PDF-1.4\n%").unwrap(),
        Block::image(PNG_BYTES).unwrap(),
        Block::text("look"),
    ]);
    let json: Value = serde_json::from_str(made.unwrap().json()).unwrap();
    assert_eq!(
        json,
        json!([
            {"type": "document", "title": "a.txt",
                "source": {"type": "text", "media_type": "text/plain", "data": "héllo"}},
            {"type": "document", "title": "b",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
            image("image/png", PNG),
            {"type": "text", "text": "look"},
        ])
    );
    let refused = |bytes: &[u8]| Block::document("x", bytes).expect_err("no document");
    assert!(matches!(refused(PNG_BYTES), BlockError::NoDocument { found: Some(Kind::Png) }));
    assert!(matches!(refused(b"caf\xe9"), BlockError::NoDocument { found: None }));
    assert!(matches!(refused(b"ELF\0"), BlockError::NoDocument { found: None }));
    assert!(matches!(refused(b""), BlockError::Blank { .. }));
    assert!(matches!(Block::image(b"%PDF-1.4"), Err(BlockError::NoImage { found: Some(Kind::Pdf) })));
    assert!(matches!(Block::image(b""), Err(BlockError::NoImage { found: None })));
}

#[test]
fn an_image_of_exactly_the_limit() {
    let mut bytes = PNG_BYTES.to_vec();
    bytes.resize(MAX_IMAGE / 4 * 3, 0);
    assert!(Block::image(&bytes).is_ok());
    bytes.push(0);
    let error = Block::image(&bytes).expect_err("too large").to_string();
    assert_eq!(
        error,
        "the image has 5242884 bytes as base64; the API takes at most 5242880 (a file of 3932160)"
    );
}

#[test]
fn shown_to_people() {
    let of = |value: &Value| shown(value.to_string().as_bytes());
    let plain = |text: &str| Shown { text: text.to_owned(), attached: vec![] };
    assert_eq!(of(&json!("hello")), plain("hello"));
    assert_eq!(shown(b"not JSON"), plain("not JSON"));
    let attached = |what: &str, name: &str, bytes| Attached { what: what.into(), name: name.into(), bytes };
    let blocks = json!([
        {"type": "document", "title": "a.txt", "source": {"type": "text", "media_type": "text/plain", "data": "héllo"}},
        pdf(),
        text_document("abc"),
        image("image/png", PNG),
        {"type": "image", "source": {"type": "url", "url": "https://e.org/a"}},
        {"type": "text", "text": "one"},
        {"type": "text", "text": "two"},
        {"type": "of-later"},
    ]);
    assert_eq!(
        of(&blocks),
        Shown {
            text: "one\ntwo".to_owned(),
            attached: vec![
                attached("document", "a.txt", Some(6)),
                attached("document", "r", Some(10)),
                attached("document", "text", Some(3)),
                attached("image", "png", Some(PNG_BYTES.len() as u64)),
                attached("image", "https://e.org/a", None),
                attached("of-later", "", None),
            ],
        }
    );
}
