//! The real CLI is given images and documents: what it sends to the API, and what that costs.

use super::engine::stable::{Session, now, until};
use super::real_stage::{Paid, Stage, WAITING, answer_to, on_both_versions, runs, said};
use ostler_controller::client::NewMessage;
use ostler_core::content::{Block, Blocks, Content};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::Mode;
use ostler_core::rows::{DeliveryState, Outcome};
use serde_json::Value;
use std::fs;

on_both_versions! {
    an_image_and_documents
    an_image_steers
    a_command_in_a_block
}

/// A png of one red pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDATx\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82";

const PDF: &[u8] = b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";

fn deliver(session: &Session<'_>, blocks: Vec<Block>) -> DeliveryId {
    let id = DeliveryId(uuid::Uuid::new_v4());
    let content = Content::Blocks(Blocks::of(blocks).unwrap());
    let message = NewMessage { id, content, mode: Mode::Auto, idempotency_key: None, at: now() };
    session.stable.ostler.deliver(session.id, &message).unwrap()
}

/// The blocks that the API was sent last which are not text, wherever they stand, without what the CLI puts on them.
fn others(stage: &Stage) -> Vec<Value> {
    let body = stage.lab.requests().last().unwrap().json();
    let messages = body["messages"].as_array().unwrap().clone();
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let others = blocks.filter(|block| block["type"] == "image" || block["type"] == "document");
    let plain = others.cloned().map(|mut block| {
        block.as_object_mut().unwrap().remove("cache_control");
        block
    });
    plain.collect()
}

fn plain(blocks: &[Block]) -> Vec<Value> {
    serde_json::from_str(Blocks::of(blocks.to_vec()).unwrap().json()).unwrap()
}

fn an_image_and_documents(version: &'static str) {
    // 2.1.332 adds a text of its own behind the prompt: where it has put a copy of the image.
    let stage = Stage::new(version, "otherwise\n say Seen.\n");
    let session = stage.session();
    let files = [
        Block::document("notes.txt", b"The word is heron.").unwrap(),
        Block::document("page.pdf", PDF).unwrap(),
        Block::image(PNG).unwrap(),
    ];
    let id = deliver(&session, [&files[..], &[Block::text("look")]].concat());
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(answer_to(&session, id), "Seen.");
    assert_eq!(others(&stage), plain(&files));
    assert!(stage.last_request().contains(r#""text":"look"#), "{}", stage.last_request());
    // They are in the transcript, and a resume sends them again.
    let turn = session.completes("again");
    assert_eq!(turn.generation, 2);
    assert_eq!(others(&stage), plain(&files));
    stage.finish(&Paid::Exactly);
}

fn an_image_steers(version: &'static str) {
    let script = format!(
        "when \"one\"\n tool Bash {{\"command\": \"{WAITING}\", \"description\": \"wait\"}}\nthen\n say Done.\notherwise\n say You said $text.\n"
    );
    let stage = Stage::new(version, &script);
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    session.send("one");
    runs(&session);
    let image = Block::image(PNG).unwrap();
    let id = deliver(&session, vec![image.clone(), Block::text("look")]);
    super::real_stage::is_read(&session, 1, id);
    fs::write(stage.stable.path("work/go"), "").unwrap();
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!(session.delivery(id).state, DeliveryState::Completed);
    assert_eq!(others(&stage), plain(&[image]));
    stage.finish(&Paid::Exactly);
}

/// Why commands are refused in blocks as they are in prompts.
fn a_command_in_a_block(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say You said $text.\n");
    let session = stage.session();
    session.completes("one");
    deliver(&session, vec![Block::text("first"), Block::text("/cost")]);
    session.wait();
    until("a result", || said(&session, 2).iter().any(|line| line.is("result")).then_some(()));
    let asked = stage.lab.requests().into_iter().find(|request| request.text.contains("/cost"));
    assert!(asked.is_none(), "the API was asked");
    stage.stable.finish();
}
