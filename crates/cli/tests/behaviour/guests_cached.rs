//! What modules were compiled to is kept, found again, and never loaded once somebody has changed it.

use std::fs;
use std::path::PathBuf;

use super::guests::{has_guests, module};
use super::support::Place;

/// A module that is large enough to be kept: it prints its line.
fn large(text: &str) -> Vec<u8> {
    let mut module = module(text);
    let name = [&[4][..], b"name"].concat();
    let junk = vec![0; (1 << 17) - name.len()];
    // A section that means nothing to the engine.
    module.extend([0, 0x80, 0x80, 0x08]);
    module.extend([[4].as_slice(), b"more", &junk].concat());
    module
}

fn kept(place: &Place) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place.home.join(".cache/stockade/modules")) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file()).collect()
}

/// How often something was compiled: that is a start of its own, on record.
fn starts(place: &Place) -> usize {
    let is_start = |record: &serde_json::Value| record["event"] == "subagent.spawn";
    place.records().iter().filter(|record| is_start(record)).count()
}

/// A25: compiled once, in a cage of its own that is on record, and used by every later run of the same bytes.
#[test]
fn a_module_is_compiled_once() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("tool.wasm", large("one\n"));
    let run = |expected: &str| {
        place.ask(["wasm", "-q", "tool.wasm"]).expect_code(0).prints(expected);
        starts(&place)
    };
    assert_eq!(run("one\n"), 2);
    assert_eq!(run("one\n"), 3, "it was compiled before");
    assert_eq!(kept(&place).len(), 1);
    place.write("tool.wasm", large("two\n"));
    assert_eq!(run("two\n"), 5, "other bytes are another module");
    assert_eq!(kept(&place).len(), 2);
    place.write("small.wasm", module("small\n"));
    place.ask(["wasm", "-q", "small.wasm"]).expect_code(0).prints("small");
    assert_eq!((starts(&place), kept(&place).len()), (6, 2), "it is compiled faster than found");
}

/// A25: code that was changed is not loaded: the module is compiled where it runs. A cage that may write to the cache
/// changes nothing.
#[test]
fn changed_code_is_not_loaded() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("tool.wasm", large("one\n"));
    place.write("other.wasm", large("other\n"));
    for name in ["tool.wasm", "other.wasm"] {
        place.ask(["wasm", "-q", name]).expect_code(0);
    }
    let kept = kept(&place);
    let codes: Vec<Vec<u8>> = kept.iter().map(|path| fs::read(path).unwrap()).collect();
    // Each has the other's: whole, of the same engine, and not its own.
    fs::write(&kept[0], &codes[1]).unwrap();
    fs::write(&kept[1], &codes[0]).unwrap();
    place.ask(["wasm", "-q", "tool.wasm"]).expect_code(0).prints("one");
    place.ask(["wasm", "-q", "other.wasm"]).expect_code(0).prints("other");
    for path in &kept {
        let mut code = fs::read(path).unwrap();
        let middle = code.len() / 2;
        code[middle] ^= 1;
        fs::write(path, code).unwrap();
    }
    place.ask(["wasm", "-q", "tool.wasm"]).expect_code(0).prints("one");
    // A link to somewhere else is no code.
    for path in &kept {
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", path).unwrap();
    }
    place.ask(["wasm", "-q", "tool.wasm"]).expect_code(0).prints("one");
}
