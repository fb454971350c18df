//! The real executables: what they say about themselves, and that they are asked once.

use super::fake_machine::Machine;
use super::real_stage::claude as real;

#[test]
fn both_versions_are_asked_once_and_remembered() {
    let m = Machine::new();
    for (version, agents_by_file) in [("2.1.332", true), ("2.1.200", false)] {
        let path = real(version);
        let first = m.find(path.to_str()).unwrap().launcher;
        assert_eq!(first.resolved.version, version);
        assert_eq!(first.resolved.agents_by_file, agents_by_file);
        assert_eq!(m.find(path.to_str()).unwrap().launcher, first);
    }
    // What is remembered is used: another version in the memory is believed.
    let memory = m.path("cache/ostler/executables.json");
    let text = std::fs::read_to_string(&memory).unwrap();
    std::fs::write(&memory, text.replace("\"2.1.332\"", "\"2.1.999\"")).unwrap();
    assert_eq!(m.find(real("2.1.332").to_str()).unwrap().launcher.resolved.version, "2.1.999");
    // A file that is another one by its time isn't.
    std::fs::write(
        &memory,
        text.replace("\"2.1.332\"", "\"2.1.999\"").replace("\"mtime_ns\": 1", "\"mtime_ns\": 2"),
    )
    .unwrap();
    assert_eq!(m.find(real("2.1.332").to_str()).unwrap().launcher.resolved.version, "2.1.332");
    // Damage costs a second and nothing else.
    std::fs::write(&memory, "{").unwrap();
    assert_eq!(m.find(real("2.1.200").to_str()).unwrap().launcher.resolved.version, "2.1.200");
    let litter = std::fs::read_dir(m.path("tmp")).unwrap().count()
        + std::fs::read_dir(m.path("home")).unwrap().count();
    assert_eq!(litter, 0, "asking leaves nothing behind");
}
