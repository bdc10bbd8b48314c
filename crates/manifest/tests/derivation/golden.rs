//! One manifest for each family of capabilities, and exactly what a call of it becomes: what was
//! derived, the Plan and the bubblewrap command line. `STOCKADE_UPDATE_GOLDEN=1` writes them anew.
//!
//! The first line of a manifest says which call is meant: `# call: {"autonomy": …, "args": …}`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use manifest::Derived;
use policy::RuleOrigin;
use serde_json::Value;

use crate::calls::{Asking, compiled, derived, host_with_executor, read};
use crate::own_part;
use crate::rendered::{bwrap_text, plan_text};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/derivation/examples")
}

fn files() -> BTreeSet<PathBuf> {
    fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn asking(text: &str) -> Asking {
    let first = text.lines().next().unwrap_or_default();
    let call: Value = serde_json::from_str(first.strip_prefix("# call: ").unwrap_or("{}")).unwrap();
    let or_default = |key: &str| call.get(key).cloned().unwrap_or_default();
    Asking {
        autonomy: call
            .get("autonomy")
            .map_or_else(Default::default, |word| serde_json::from_value(word.clone()).unwrap()),
        grants: serde_json::from_value(or_default("grants")).unwrap(),
        arguments: or_default("args").as_object().cloned(),
        ..Asking::default()
    }
}

fn derived_text(derived: &Derived) -> String {
    let mut lines = Vec::new();
    let policy = &derived.policy;
    let from = |origin: &RuleOrigin| format!("  ({origin})");
    lines.extend(
        policy
            .fs
            .iter()
            .map(|rule| format!("{} {}{}", rule.access.word(), rule.path, from(&rule.origin))),
    );
    lines.extend(policy.net.allow.iter().map(|(to, origin)| format!("net {to}{}", from(origin))));
    lines.push(format!("time {:?}", policy.limits.walltime_sec));
    lines.extend(derived.create.iter().map(|path| format!("create {path}")));
    let confined = derived.confined.iter();
    lines.extend(confined.map(|one| format!("confined {} within {}", one.path, one.root)));
    lines.extend(derived.asks.iter().map(|asked| format!("{asked:?}")));
    lines.extend(derived.narrowed.iter().map(|text| format!("narrowed: {text}")));
    lines.extend(derived.notes.iter().map(|text| format!("note: {text}")));
    format!("{}\n", lines.join("\n"))
}

/// The texts of an example by their extensions.
fn texts(manifest: &Path) -> [(&'static str, String); 3] {
    let text = fs::read_to_string(manifest).unwrap();
    let host = host_with_executor();
    let derived = derived(&host, &read(&text), &asking(&text))
        .unwrap_or_else(|refused| panic!("{}: {refused}", manifest.display()));
    let (plan, facts) = compiled(&host, &derived);
    [
        ("derived.txt", derived_text(&derived)),
        ("plan.txt", plan_text(&plan, &facts)),
        ("bwrap.txt", bwrap_text(&plan)),
    ]
}

/// M2, M17, M23, M24, M33, M34, M36, M44, M50, M51, M52, M53, M54, T57, T60: the files of `base` are whole; the
/// Plan and the command line of every other example hold what differs from it.
#[test]
fn examples_derive_and_compile_to_exactly_this() {
    let update = std::env::var_os("STOCKADE_UPDATE_GOLDEN").is_some();
    let is_manifest = |path: &&PathBuf| path.extension().is_some_and(|known| known == "toml");
    let all = files();
    let base = texts(&directory().join("base.toml"));
    let mut expected: BTreeSet<PathBuf> = all.iter().filter(is_manifest).cloned().collect();
    assert!(expected.len() >= 6, "only {} examples", expected.len());
    let mut differences = Vec::new();
    for manifest in all.iter().filter(is_manifest) {
        let is_base = manifest.file_stem().is_some_and(|stem| stem == "base");
        for ((extension, text), (_, of_base)) in texts(manifest).into_iter().zip(&base) {
            let is_whole = is_base || extension == "derived.txt";
            let new = if is_whole { text } else { own_part::of(of_base, &text) };
            let file = manifest.with_extension(extension);
            if update {
                fs::write(&file, &new).unwrap();
            }
            if fs::read_to_string(&file).unwrap_or_default() != new {
                differences.push(format!("{}\n{new}", file.display()));
            }
            expected.insert(file);
        }
    }
    assert_eq!(files(), expected, "some files belong to no example");
    assert!(
        differences.is_empty(),
        "{} files differ; look at the change, then set STOCKADE_UPDATE_GOLDEN=1\n{}",
        differences.len(),
        differences.join("\n")
    );
}
