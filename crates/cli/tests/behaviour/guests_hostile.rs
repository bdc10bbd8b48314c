//! Guests that mean harm: each is ended by the limit of its cage that it reaches, which is named.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::guests::{has_guests, module, module_that};
use super::support::{Ended, Place, slowly};

/// Started with its input open, so that who reads it waits.
fn start(place: &Place, words: &[&str]) -> Child {
    let mut command = place.stockade();
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// A25: whatever a guest does, in the engine, in a call of its host or in a program of its own, it ends with its time, which is
/// said; its neighbour never notices.
#[test]
fn time_ends_whatever_a_guest_does() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("good.js", "setTimeout(() => console.log('undisturbed'), 4000);");
    let neighbour = start(&place, &["js", "-q", "good.js"]);
    for source in [
        "for (;;);",
        "process.on('SIGTERM', () => {}); for (;;) try { for (;;); } catch {} finally { for (;;); }",
        "require('fs').readSync(0, Buffer.alloc(1));",
        "require('child_process').execSync('sleep 100');",
        "const fs = require('fs'); for (;;) { fs.mkdirSync('/tmp/a/b/c', { recursive: true }); fs.rmSync('/tmp/a', { recursive: true }); }",
    ] {
        place.write("main.js", format!("require('fs').writeSync(1, 'began\\n'); {source}"));
        ends_with_its_time(&place, &["js", "--time", "1s", "main.js"], source);
    }
    // `loop (br 0)`, and `fd_read(0, 0, 1, 8)` of what nobody writes.
    let spins = [0x03, 0x40, 0x0c, 0, 0x0b];
    let waits = [0x41, 0, 0x41, 0, 0x41, 1, 0x41, 8, 0x10, 1, 0x1a];
    for (what, then) in [("a module that spins", &spins[..]), ("one that waits", &waits)] {
        place.write("main.wasm", module_that("began\n", then));
        ends_with_its_time(&place, &["wasm", "--time", "1s", "main.wasm"], what);
    }
    Ended::of(neighbour.wait_with_output().unwrap()).expect_code(0).prints("undisturbed");
}

/// Three times at most: once in a while a busy machine has something else to do for longer.
fn ends_with_its_time(place: &Place, words: &[&str], what: &str) {
    let soon = slowly(Duration::from_millis(400));
    let is_soon = (0..3).any(|_| late_with_its_time(place, words, what) < soon);
    assert!(is_soon, "{what}: three times later than {soon:?}");
}

fn late_with_its_time(place: &Place, words: &[&str], what: &str) -> Duration {
    let mut child = start(place, words);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "began", "{what}");
    let begun = Instant::now();
    // Waiting for a program closes its input, and one that reads would come to its end.
    let _input = child.stdin.take();
    let ended = Ended::of(child.wait_with_output().unwrap());
    ended.expect_code(124).says("time limit");
    begun.elapsed().saturating_sub(Duration::from_secs(1))
}

/// A25: a guest that grows fails by its own limit, below its cage's, and nothing else in the cage is killed; its neighbour
/// never notices.
#[test]
fn memory_ends_a_guest_by_name() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("grow.js", "const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1));");
    place.write(
        "good.js",
        "let sum = 0; for (let at = 0; at < 1e6; at++) sum += at; console.log(sum);",
    );
    let neighbour = start(&place, &["js", "-q", "good.js"]);
    let flags = ["js", "-q", "--degraded-limits", "--memory", "128M", "grow.js"];
    place.ask(flags).expect_code(137).says("its limit `max_memory` of 83886080 bytes");
    let neighbour = Ended::of(neighbour.wait_with_output().unwrap());
    neighbour.expect_code(0).prints("499999500000");
}

/// A25: names and files are bounded by the cage's room.
#[test]
fn files_are_bounded_by_the_cage() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write(
        "fill.js",
        "const fs = require('fs'); let count = 0;
         try { for (;;) fs.writeFileSync(`/tmp/${count++}`, 'x'.repeat(65536)); } catch (error) { console.log(error.code, count < 1e6); }",
    );
    let flags = ["js", "-q", "--tmp-size", "4M", "fill.js"];
    place.ask(flags).expect_code(0).prints("ENOSPC true");
}

/// A26: what is cut or changed is refused, before and behind the cache.
#[test]
fn malformed_modules_are_refused() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    let mut large = module("large\n");
    // A section of the module's own, so that it is large enough to be kept.
    large.extend([0, 0x80, 0x80, 0x08]);
    large.extend([[4].as_slice(), b"junk", &vec![0xff; (1 << 17) - 5]].concat());
    for (name, bytes) in
        [("cut.wasm", &large[..large.len() - 9]), ("head.wasm", &b"\0asm\x01\0\0\0\xff"[..])]
    {
        place.write(name, bytes);
        place.ask(["wasm", "-q", name]).expect_code(126).says("not a WASM module");
    }
    place.write("whole.wasm", &large);
    place.ask(["wasm", "-q", "whole.wasm"]).expect_code(0).prints("large");
}
