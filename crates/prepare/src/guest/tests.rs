//! What a program is, by how it begins; and what its engine is told.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::ffi::OsString;

use super::{Interpreter, engine, interpreter, within_memory};

/// A26: a first line names what runs guests, and says nothing about the cage.
#[test]
fn first_lines_name_their_interpreter() {
    for (line, expected) in [
        ("/usr/bin/env -S stockade js", Interpreter::Guests),
        (" /usr/local/bin/stockade js ", Interpreter::Guests),
        ("/usr/bin/stockade-guest js", Interpreter::Guests),
        ("/usr/bin/env node", Interpreter::Node),
        ("/usr/bin/node", Interpreter::Node),
        ("/usr/bin/env -S stockade js --rw /", Interpreter::Other),
        ("/usr/bin/stockade run", Interpreter::Other),
        ("/usr/bin/env", Interpreter::Other),
        ("/bin/sh", Interpreter::Other),
        ("", Interpreter::Other),
    ] {
        assert_eq!(interpreter(line), expected, "{line}");
    }
}

/// A25: a guest has less memory than its cage, whatever that has.
#[test]
fn the_engine_is_held_below_its_cage() {
    let words = |words: &[&str]| -> Vec<OsString> { words.iter().map(OsString::from).collect() };
    let engine = engine().into_os_string().into_string().unwrap();
    let guest = words(&[&engine, "--of-version", "1", "js", "tool.js"]);
    for (megabytes, expected) in [(512, 448_u64), (64, 32), (2, 1), (4096, 3584), (100_000, 4096)] {
        let told = within_memory(&guest, Some(megabytes));
        let most = (expected << 20).to_string();
        assert_eq!(
            told,
            words(&[&engine, "--of-version", "1", "--max-memory", &most, "js", "tool.js"])
        );
    }
    assert_eq!(within_memory(&guest, None), guest);
    let native = words(&["/bin/sh", "--of-version", "1", "js"]);
    assert_eq!(within_memory(&native, Some(512)), native);
}
