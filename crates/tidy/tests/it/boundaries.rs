//! What each of our crates links in the end, as cargo resolves it: what its manifest doesn't say but its
//! dependencies bring.

use super::source::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Each package's normal dependencies (not those for tests and build scripts), by name.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// (crate, what it must not link, the crates through which it may after all).
const NOT_LINKED: &[(&str, &[&str], &[&str])] = &[
    ("claude-wire", &["libc", "rustix", "tokio", "axum", "rusqlite", "jiff"], &["uuid", "getrandom"]),
    ("ostler-core", &["rustix", "tokio", "axum", "rusqlite", "jiff", "clap"], &[]),
    // Behind a feature, and only for the server, it has sockets for a runtime; so what uses it is asked without it.
    ("ostler-os", &["serde", "serde_json", "axum", "rusqlite"], &["tokio"]),
    ("ostler-store", &["tokio", "axum", "hyper", "clap"], &["ostler-os"]),
    ("ostler-controller", &["tokio", "axum", "hyper", "clap"], &["ostler-os"]),
    ("ostler", &["axum", "hyper"], &["claude-lab", "ostler-server"]),
    // TLS is for what we ask of others, never for what we serve.
    ("ostler", &["rustls"], &["ureq"]),
    ("ostler", &["openssl-sys", "native-tls", "reqwest", "syntect", "chrono"], &[]),
];

/// Everything that `start` links when nothing is followed through `through`.
fn linked(graph: &Graph, start: &str, through: &[&str]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start.to_owned()];
    while let Some(name) = open.pop() {
        for next in graph.get(&name).into_iter().flatten() {
            if !through.contains(&next.as_str()) && seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

fn crossed(graph: &Graph, rules: &[(&str, &[&str], &[&str])]) -> Vec<String> {
    let mut out = Vec::new();
    for (name, banned, through) in rules {
        if !graph.contains_key(*name) {
            out.push(format!("{name}: no such crate"));
        }
        let all = linked(graph, name, through);
        out.extend(banned.iter().filter(|b| all.contains(**b)).map(|b| format!("{name} links {b}")));
    }
    out
}

/// The graph that `cargo metadata` gives for this platform.
fn resolved() -> Graph {
    let version = Command::new("rustc").arg("-vV").output().expect("rustc is needed to know the platform");
    let version = String::from_utf8(version.stdout).expect("rustc speaks UTF-8");
    let host = version.lines().find_map(|l| l.strip_prefix("host: ")).expect("rustc names its host");
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", host])
        .current_dir(root())
        .output()
        .expect("cargo is there: it built this test");
    assert!(out.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&out.stderr));
    graph(&serde_json::from_slice(&out.stdout).expect("cargo writes JSON"))
}

fn graph(metadata: &Value) -> Graph {
    let list = |v: &Value| v.as_array().expect("a list, by cargo's format").clone();
    let names: BTreeMap<String, String> =
        list(&metadata["packages"]).iter().map(|p| (text(&p["id"]), text(&p["name"]))).collect();
    let mut graph = Graph::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let normal = |dep: &&Value| list(&dep["dep_kinds"]).iter().any(|k| k["kind"].is_null());
        let uses = list(&node["deps"])
            .iter()
            .filter(normal)
            .map(|d| names[&text(&d["pkg"])].clone())
            .collect::<Vec<_>>();
        // Two versions of one crate are one entry here.
        graph.entry(names[&text(&node["id"])].clone()).or_default().extend(uses);
    }
    graph
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text, by cargo's format").to_owned()
}

#[test]
fn crates_link_what_they_may() {
    let found = crossed(&resolved(), NOT_LINKED);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn finds_what_dependencies_bring() {
    let metadata = serde_json::json!({
        "packages": [
            {"id": "1", "name": "top"}, {"id": "2", "name": "middle"}, {"id": "3", "name": "heavy"},
            {"id": "4", "name": "for-tests"}],
        "resolve": {"nodes": [
            {"id": "1", "deps": [{"pkg": "2", "dep_kinds": [{"kind": null}]}, {"pkg": "4", "dep_kinds": [{"kind": "dev"}]}]},
            {"id": "2", "deps": [{"pkg": "3", "dep_kinds": [{"kind": "build"}, {"kind": null}]}]},
            {"id": "3", "deps": []}, {"id": "4", "deps": []}]}
    });
    let graph = graph(&metadata);
    assert_eq!(crossed(&graph, &[("top", &["heavy"], &[])]), ["top links heavy"]);
    assert!(crossed(&graph, &[("top", &["heavy"], &["middle"]), ("top", &["for-tests"], &[])]).is_empty());
    assert_eq!(crossed(&graph, &[("gone", &[], &[])]).len(), 1);
}
