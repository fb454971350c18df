//! Files and content blocks through the binary, and names for messages when the command dies over them.

use super::desk_sessions::Office;
use ostler_controller::crash::IN_SEND;
use serde_json::{Value, json};

const ECHO: &str = "otherwise\n say You said $text\n";

/// A png of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// What the children were told, without all the rest of the lines.
fn contents(office: &Office) -> Vec<Value> {
    let users = office.told().into_iter().filter(|line| line["type"] == "user");
    users.map(|line| line["message"]["content"].clone()).collect()
}

#[test]
fn files_come_before_the_prompt() {
    let office = Office::new(ECHO);
    // Names say nothing.
    let png = office.desk.file("picture.txt", PNG).display().to_string();
    let notes = office.desk.file("notes.png", "some\nnotes\n").display().to_string();
    let pdf = office.desk.file("report.pdf", "%PDF-1.4\n%").display().to_string();
    let ran = office.run(&["--image", &png, "--file", &notes, "--file", &pdf, "look", "at it"]).exits(0);
    assert!(ran.out.starts_with("You said look at it\n"), "{}", ran.all());
    let told = contents(&office);
    let blocks = told[0].as_array().unwrap();
    let kinds: Vec<&Value> = blocks.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["document", "document", "image", "text"]);
    assert_eq!(
        blocks[0],
        json!({"type": "document", "title": "notes.png",
            "source": {"type": "text", "media_type": "text/plain", "data": "some\nnotes\n"}})
    );
    assert_eq!(
        (&blocks[1]["title"], &blocks[1]["source"]["data"]),
        (&json!("report.pdf"), &json!("JVBERi0xLjQKJQ=="))
    );
    assert_eq!(blocks[2]["source"]["media_type"], "image/png");
    assert_eq!(blocks[3], json!({"type": "text", "text": "look at it"}));
    office.close();
}

#[test]
fn blocks_as_they_are() {
    let office = Office::new(ECHO);
    let id = office.settled(&["one"]);
    let two = r#"[ {"text": "two", "type": "text"} ]"#;
    let file = office.desk.file("two.json", two).display().to_string();
    office.desk.run(&["send", &id, "--wait", "--content", &file]).exits(0);
    let three = br#"[{"type":"text","text":"three"}]"#;
    let ran = office.desk.run_with(&["send", &id, "--wait", "--content", "-"], three).exits(0);
    assert_eq!(ran.out, "You said three\n");
    let started = office.creating("start", &["--content", &file]);
    let other = office.desk.run(&started).exits(0).out.trim().to_owned();
    office.desk.run(&["wait", &other]).exits(0);
    let block = |text: &str| json!([{"type": "text", "text": text}]);
    assert_eq!(contents(&office), [json!("one"), block("two"), block("three"), block("two")]);
    office.close();
}

#[test]
fn what_a_message_has_in_it_is_shown() {
    let office =
        Office::new("when look\n mark looking\n until go\n say seen\notherwise\n say You said $text\n");
    let png = office.desk.file("picture", PNG).display().to_string();
    let notes = office.desk.file("notes", "some notes").display().to_string();
    let id = office.started(&["--image", &png, "--file", &notes, "look\nat it"]);
    office.reaches("looking");
    let says = "look at it [document notes 10 B] [image png 70 B]";
    let shown = office.desk.run(&["show", &id]).exits(0);
    assert!(shown.out.contains(says), "{}", shown.all());
    office.open("go");
    office.desk.run(&["wait", &id]).exits(0);
    let watched = office.desk.run(&["watch", &id, "--no-wait"]).exits(0);
    assert!(watched.out.contains(&format!("» {says}\n")), "{}", watched.all());
    office.close();
}

/// The command is killed when its message is accepted and nobody knows of it: sent again, it is the same one.
#[test]
fn a_key_over_a_killed_command() {
    let office = Office::new(ECHO);
    let png = office.desk.file("picture", PNG).display().to_string();
    let id = office.settled(&["one"]);
    for (key, more) in [("plain", &["two"][..]), ("blocks", &["--image", &png, "two"])] {
        let once = office.desk.path(&format!("died-{key}"));
        let words = [&["send", &id, "--key", key][..], more].concat();
        let mut command = office.desk.command(&words);
        command.env("OSTLER_CRASH_AT", IN_SEND).env("OSTLER_CRASH_ONCE", &once);
        assert_eq!(command.output().unwrap().status.code(), None, "it was to be killed");
        assert!(once.exists());
        let send = || office.desk.run(&words).exits(0).out.trim().to_owned();
        let delivery = send();
        office.desk.run(&["wait", &id]).exits(0);
        assert_eq!(send(), delivery);
        let other = office.desk.run(&["send", &id, "--key", key, "something else"]).exits(8);
        assert!(other.err.contains("used before, for another message"), "{}", other.all());
        assert!(other.err.contains("hint: use another --key"), "{}", other.all());
        let shown = office.desk.run(&["show", &id, "--json"]).exits(0).document();
        let named: Vec<&Value> =
            shown["deliveries"].as_array().unwrap().iter().filter(|d| d["key"] == key).collect();
        assert_eq!(named.len(), 1);
        assert_eq!(named[0]["id"], delivery);
        assert_eq!(named[0]["state"], "completed");
    }
    assert_eq!(contents(&office).len(), 3, "one, two, and two with an image");
    office.close();
}
