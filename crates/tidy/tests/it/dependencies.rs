//! What the manifests say: shared settings, versions in one place, and which crate may use what.

use super::source::{File, Finding, none, root};
use std::fs;
use toml::Table;

/// A crate's manifest.
struct Manifest {
    name: String,
    file: File,
    table: Table,
}

impl Manifest {
    fn new(path: &str, text: &str) -> Self {
        let table: Table = text.parse().expect("cargo reads it too");
        let name = table["package"]["name"].as_str().expect("a crate has a name").to_owned();
        Self { name, file: File::new(path, text), table }
    }

    fn found(&self, what: String) -> Finding {
        Finding::new(&self.file, 0, what)
    }

    /// The dependencies of one section, for every platform.
    fn section(&self, section: &str) -> Vec<(String, toml::Value)> {
        let of = |table: &Table| -> Vec<(String, toml::Value)> {
            let entries = table.get(section).and_then(toml::Value::as_table);
            entries.map(|t| t.iter().map(|(k, v)| (k.clone(), v.clone())).collect()).unwrap_or_default()
        };
        let mut all = of(&self.table);
        for (_, platform) in self.table.get("target").and_then(toml::Value::as_table).into_iter().flatten() {
            all.extend(platform.as_table().map(of).unwrap_or_default());
        }
        all
    }
}

/// Which of our crates each crate may use: used → user, as ARCHITECTURE.md draws it.
const OURS: &[(&str, &[&str])] = &[
    ("claude-wire", &[]),
    ("ostler-core", &["claude-wire"]),
    ("ostler-os", &[]),
    ("ostler-store", &["claude-wire", "ostler-core", "ostler-os"]),
    ("ostler-controller", &["claude-wire", "ostler-core", "ostler-os", "ostler-store"]),
    // The fake child receives signals as the real one does; that takes ostler-os.
    ("claude-lab", &["claude-wire", "ostler-os"]),
    ("ostler-server", &["claude-wire", "ostler-controller", "ostler-core", "ostler-os", "ostler-store"]),
    (
        "ostler",
        &[
            "claude-lab",
            "claude-wire",
            "ostler-controller",
            "ostler-core",
            "ostler-os",
            "ostler-server",
            "ostler-store",
        ],
    ),
    ("bench", &["claude-lab", "ostler-controller", "ostler-core", "ostler-os", "ostler-store"]),
    ("torture", &["claude-lab", "ostler-controller", "ostler-core", "ostler-os", "ostler-store"]),
    ("tidy", &[]),
];

/// Everything that a pure crate may use.
const PURE: &[(&str, &[&str])] = &[
    ("claude-wire", &["serde", "serde_json", "thiserror", "uuid"]),
    ("ostler-core", &["base64", "claude-wire", "serde", "serde_json", "sha2", "thiserror", "uuid"]),
];

/// Crates that only some of ours may use, so that their weight and their types stay in there.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("axum", &["claude-lab", "ostler-server"]),
    ("hyper", &["claude-lab", "ostler-server"]),
    // The binary makes the runtime; ostler-os has its local sockets for one, behind a feature.
    ("tokio", &["claude-lab", "ostler", "ostler-os", "ostler-server"]),
    ("tracing", &["ostler-server"]),
    ("utoipa", &["ostler-server"]),
    ("ureq", &["ostler-server"]),
    ("rusqlite", &["ostler-store"]),
    ("libc", &["ostler-os"]),
    ("rustix", &["ostler-os"]),
    ("windows-sys", &["ostler-os"]),
    ("clap", &["ostler"]),
    ("clap_complete", &["ostler"]),
    ("clap_mangen", &["ostler"]),
    ("toml", &["ostler", "bench"]),
];

/// Crates that we do without: something above or the standard library does their work.
const NEVER: &[&str] = &[
    "anyhow",
    "async-trait",
    "chrono",
    "futures",
    "lazy_static",
    "once_cell",
    "parking_lot",
    "rand",
    "regex",
];

fn of<'a>(table: &'a [(&str, &[&str])], name: &str) -> Option<&'a [&'a str]> {
    table.iter().find(|(n, _)| *n == name).map(|(_, list)| *list)
}

fn wrong(manifests: &[Manifest]) -> Vec<Finding> {
    manifests.iter().flat_map(|m| shared_settings(m).into_iter().chain(uses(m))).collect()
}

fn shared_settings(manifest: &Manifest) -> Vec<Finding> {
    let mut out = Vec::new();
    let inherits = |value: Option<&toml::Value>| {
        value.and_then(|v| v.get("workspace")) == Some(&toml::Value::Boolean(true))
    };
    for key in ["version", "edition", "rust-version", "license", "repository", "publish"] {
        if !inherits(manifest.table["package"].get(key)) {
            out.push(manifest.found(format!("`{key}.workspace = true` is missing")));
        }
    }
    if !inherits(manifest.table.get("lints").map(|l| l as &toml::Value).map(|_| &manifest.table["lints"])) {
        out.push(manifest.found("`[lints] workspace = true` is missing".to_owned()));
    }
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for (name, value) in manifest.section(section) {
            if !inherits(Some(&value)) {
                out.push(manifest.found(format!(
                    "{section}: `{name}` has a version of its own; put it into the root manifest"
                )));
            }
        }
    }
    if manifest.table.contains_key("target") && manifest.name != "ostler-os" {
        out.push(manifest.found("dependencies of one platform belong to ostler-os".to_owned()));
    }
    out
}

fn uses(manifest: &Manifest) -> Vec<Finding> {
    let name = manifest.name.as_str();
    let Some(ours) = of(OURS, name) else {
        return vec![
            manifest
                .found("a new crate: say in this test (and in ARCHITECTURE.md) what it may use".to_owned()),
        ];
    };
    let mut out = Vec::new();
    for (dependency, _) in manifest.section("dependencies") {
        let dependency = dependency.as_str();
        if of(OURS, dependency).is_some() && !ours.contains(&dependency) {
            out.push(manifest.found(format!("may not use {dependency}: the arrow points the other way")));
        }
        if of(PURE, name).is_some_and(|list| !list.contains(&dependency)) {
            out.push(manifest.found(format!("is pure and may not use {dependency}")));
        }
        if of(ONLY_IN, dependency).is_some_and(|users| !users.contains(&name)) {
            out.push(manifest.found(format!("may not use {dependency}: another crate of ours wraps it")));
        }
    }
    for (dependency, _) in manifest.section("dev-dependencies") {
        let dependency = dependency.as_str();
        // The lab is what tests run against.
        if of(OURS, dependency).is_some() && !ours.contains(&dependency) && dependency != "claude-lab" {
            out.push(
                manifest.found(format!("tests may not use {dependency}: the arrow points the other way")),
            );
        }
    }
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for (dependency, _) in manifest.section(section).iter().filter(|(d, _)| NEVER.contains(&d.as_str())) {
            out.push(manifest.found(format!("{section}: we do without {dependency}")));
        }
    }
    out
}

#[test]
fn manifests_keep_the_rules() {
    let folders = fs::read_dir(root().join("crates")).expect("crates/ is there");
    let mut manifests = Vec::new();
    for folder in folders {
        let path = folder.expect("crates/ can be read").path().join("Cargo.toml");
        let text = fs::read_to_string(&path).expect("every folder in crates/ is a crate");
        let shown = path.strip_prefix(root()).expect("it lies below the root").display().to_string();
        manifests.push(Manifest::new(&shown, &text));
    }
    assert!(manifests.len() >= OURS.len(), "a crate of the table is gone");
    none(&wrong(&manifests));
}

#[test]
fn finds_wrong_manifests() {
    const HEAD: &str = "version.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
        license.workspace = true\nrepository.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n";
    let count = |name: &str, rest: &str| {
        let text = format!("[package]\nname = \"{name}\"\n{HEAD}{rest}");
        wrong(&[Manifest::new("crates/a/Cargo.toml", &text)]).len()
    };
    assert_eq!(
        count("ostler-core", "[dependencies]\nclaude-wire.workspace = true\nserde.workspace = true"),
        0
    );
    assert_eq!(
        count("ostler-core", "[dependencies]\nostler-store.workspace = true"),
        2,
        "direction, and pure"
    );
    assert_eq!(count("ostler-store", "[dependencies]\nostler-controller.workspace = true"), 1);
    assert_eq!(count("ostler-store", "[dependencies]\ntokio.workspace = true"), 1);
    assert_eq!(count("ostler-store", "[dev-dependencies]\nclaude-lab.workspace = true"), 0);
    assert_eq!(count("ostler-store", "[dev-dependencies]\nostler.workspace = true"), 1);
    assert_eq!(count("ostler-os", "[dependencies]\nlibc = \"0.2\""), 1);
    assert_eq!(count("ostler-os", "[target.'cfg(unix)'.dependencies]\nlibc.workspace = true"), 0);
    assert_eq!(
        count("ostler", "[target.'cfg(unix)'.dependencies]\nlibc.workspace = true"),
        2,
        "platform, and only in os"
    );
    assert_eq!(count("ostler", "[build-dependencies]\nanyhow.workspace = true"), 1);
    assert_eq!(count("brand-new", ""), 1);
    assert_eq!(wrong(&[Manifest::new("crates/a/Cargo.toml", "[package]\nname = \"tidy\"")]).len(), 7);
}

/// The README's first command is `cargo run --release -- run …`: cargo must know which program that is.
#[test]
fn cargo_run_knows_what_to_run() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut metadata = std::process::Command::new(cargo);
    metadata.args(["metadata", "--format-version=1", "--locked", "--offline", "--no-deps"]);
    let out = metadata.current_dir(root()).output().expect("cargo runs this test");
    let graph: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON was asked for");
    let ids = graph["workspace_default_members"].as_array().expect("a cargo that says it");
    let packages = graph["packages"].as_array().expect("packages").iter();
    let programs: Vec<&str> = packages
        .filter(|package| ids.contains(&package["id"]))
        .flat_map(|package| package["targets"].as_array().into_iter().flatten())
        .filter(|target| target["kind"][0] == "bin")
        .filter_map(|target| target["name"].as_str())
        .collect();
    assert_eq!(programs, ["ostler"]);
}
