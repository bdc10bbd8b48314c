//! Compiled modules that come back to a pool.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::io::Write as _;

use engines::GuestLimits;
use engines::wasm::{CodeDigest, Wasm};

use super::{Modules, place, write};

const EMPTY: &[u8] = b"\0asm\x01\0\0\0";

/// A25
#[test]
fn what_a_guest_compiled_is_there_for_the_next() {
    let wasm = Wasm::new(&GuestLimits::default()).unwrap();
    let (mut modules, digest) = (Modules::default(), CodeDigest::of(EMPTY));
    let written = place().unwrap();
    let code = wasm.compile(EMPTY).unwrap();
    write(written.try_clone().unwrap(), digest, &code).unwrap();
    assert!(modules.take(&wasm, written.try_clone().unwrap()));
    assert!(modules.get(digest).is_some());
    assert!(modules.get(CodeDigest::of(b"another")).is_none());
    assert!(!modules.take(&wasm, written), "it is there already");
}

/// A25
#[test]
fn code_that_could_still_be_changed_is_not_looked_at() {
    let wasm = Wasm::new(&GuestLimits::default()).unwrap();
    let (mut modules, digest) = (Modules::default(), CodeDigest::of(EMPTY));
    let written = place().unwrap();
    let mut file = File::from(written.try_clone().unwrap());
    file.write_all(&[0]).unwrap();
    file.write_all(digest.to_string().as_bytes()).unwrap();
    file.write_all(&wasm.compile(EMPTY).unwrap().serialize().unwrap()).unwrap();
    assert!(!modules.take(&wasm, written));
    assert!(modules.get(digest).is_none());
}
