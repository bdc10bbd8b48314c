//! Guests: WASM modules and JavaScript as the programs of cages, by `stockade-guest`, which lies beside `stockade`.

use std::path::Path;

use super::support::{Ended, Place, has};

/// Whether this build has the program that runs guests: cargo builds it with the tests of its own crate.
pub(crate) fn has_guests() -> bool {
    let beside = super::support::stockade_binary().with_file_name("stockade-guest");
    testing::found_or_skip(beside.is_file(), "stockade-guest is not built")
}

/// A module that prints a line.
pub(crate) fn module(text: &str) -> Vec<u8> {
    module_that(text, &[])
}

/// A module that prints a line, and then does this: instructions, which may call `fd_write` as 0 and `fd_read` as 1. What they
/// write or read is the line, by the one piece that is listed at 0.
pub(crate) fn module_that(text: &str, then: &[u8]) -> Vec<u8> {
    let length = |bytes: &[u8]| u8::try_from(bytes.len()).unwrap();
    let section = |id: u8, body: &[u8]| [&[id, length(body)], body].concat();
    let name = |name: &str| [&[length(name.as_bytes())], name.as_bytes()].concat();
    let import = |call: &str| [name("wasi_snapshot_preview1"), name(call), vec![0, 0]].concat();
    let types = [&[2][..], &[0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f], &[0x60, 0, 0]].concat();
    let imports = [vec![2], import("fd_write"), import("fd_read")].concat();
    let exports = [&[2][..], &name("memory"), &[2, 0], &name("_start"), &[0, 2]].concat();
    // fd_write(1, 0, 1, 8)
    let prints = [0, 0x41, 1, 0x41, 0, 0x41, 1, 0x41, 8, 0x10, 0, 0x1a];
    let body = [&prints, then, &[0x0b]].concat();
    let code = [&[1, length(&body)][..], &body].concat();
    let bytes =
        [&[16, 0, 0, 0, length(text.as_bytes()), 0, 0, 0][..], &[0; 8], text.as_bytes()].concat();
    let data = [&[1, 0, 0x41, 0, 0x0b, length(&bytes)][..], &bytes].concat();
    let sections = [
        section(1, &types),
        section(2, &imports),
        section(3, &[1, 1]),
        section(5, &[1, 0, 1]),
        section(7, &exports),
        section(10, &code),
        section(11, &data),
    ];
    [&b"\0asm\x01\0\0\0"[..], &sections.concat()].concat()
}

/// A component that ends with this status, and has so many bytes in it that do nothing.
pub(crate) fn component(status: u8, filling: usize) -> Vec<u8> {
    let text = format!(
        "(component
           (core module $m (data \"{}\") (func (export \"run\") (result i32) (i32.const {status})))
           (core instance $i (instantiate $m))
           (func $run (result (result)) (canon lift (core func $i \"run\")))
           (instance (export \"wasi:cli/run@0.2.0\") (export \"run\" (func $run))))",
        "x".repeat(filling)
    );
    wat::parse_str(text).unwrap()
}

fn javascript(place: &Place, flags: &[&str], source: &str) -> Ended {
    place.write("main.js", source);
    place.ask([&["js"], flags, &["main.js", "one"]].concat())
}

/// A26: a module is known by its first bytes, whatever it is called, and what it writes is there.
#[test]
fn a_module_is_known_by_its_first_bytes() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("tool.txt", module("from a module\n"));
    for words in [
        &["run", "./tool.txt"][..],
        &["run", "-q", "--", "./tool.txt"],
        &["run", "--guest", "tool.txt"],
        &["run", "--guest=wasm", "tool.txt"],
        &["wasm", "tool.txt"],
        &["wasm", "--ro", ".", "--", "tool.txt"],
    ] {
        let ended = place.ask(words);
        ended.expect_code(0);
        assert_eq!(ended.stdout, "from a module\n", "{words:?}");
    }
    let commands: Vec<_> =
        place.records().into_iter().filter(|record| record["event"] == "start.intent").collect();
    assert!(!commands.is_empty() || !place.records().is_empty());
}

/// A22, A26: a component is known by its first bytes too, and its end is its own.
#[test]
fn a_component_runs() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    for status in [0, 1] {
        place.write("tool.txt", component(status, 1));
        for words in
            [&["run", "./tool.txt"][..], &["run", "--guest", "tool.txt"], &["wasm", "tool.txt"]]
        {
            place.ask(words).expect_code(status.into());
        }
    }
}

/// A26: `--guest` runs nothing native, and each refusal says what to do.
#[test]
fn what_is_no_guest_is_refused() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("half.wasm", &module("x")[..20]);
    place.write("component.wasm", b"\0asm\x0d\0\x01\0");
    place.write("text", "no program");
    place.ask(["run", "--guest", "/bin/sh"]).expect_code(126).says("is not a guest");
    place.ask(["run", "--guest", "text"]).expect_code(126).says("is not a guest");
    place.ask(["run", "--guest", "nothing"]).expect_code(127).says("cannot be read");
    place.ask(["run", "--guest=python", "x"]).expect_code(2).says("guests are `wasm`, `js`, `any`");
    place.ask(["wasm", "half.wasm"]).expect_code(126).says("not a WASM module");
    place.ask(["wasm", "component.wasm"]).expect_code(126).says("wasi:cli/run");
    place.ask(["wasm", "text"]).expect_code(126).says("does not begin as");
    place.ask(["js", "nothing.js"]).expect_code(127).says("No such file");
    place.ask(["js"]).expect_code(2).says("no program").says("stockade js FILE");
    place.ask(["wasm", "--rw", "."]).expect_code(2).says("stockade wasm FILE");
    let mut elsewhere = place.stockade();
    elsewhere.env("STOCKADE_GUEST", place.project.join("missing")).args(["js", "x.js"]);
    Ended::of(elsewhere.output().unwrap()).expect_code(122).says("STOCKADE_GUEST");
}

/// A1, A25: a guest has the files, the variables and the limits of its cage, and no more.
#[test]
fn a_guest_has_what_its_cage_has() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("data", "data");
    let outside = place.outside().join("secret");
    std::fs::write(&outside, "secret").unwrap();
    let look = format!(
        "const fs = require('fs');
         const tell = (act) => {{ try {{ console.log(act()); }} catch (error) {{ console.log(error.code); }} }};
         tell(() => fs.readFileSync('data', 'utf8'));
         tell(() => fs.writeFileSync('new', 'new'));
         tell(() => fs.readFileSync('{}', 'utf8'));
         tell(() => fs.readFileSync('/proc/self/mem'));
         tell(() => fs.readdirSync('/proc').length);
         tell(() => fs.openSync('/dev/null', 'w'));
         tell(() => [process.argv.slice(2), process.env.GIVEN, process.env.KEPT]);
         fs.writeFileSync('/tmp/x', 'x'); tell(() => fs.readFileSync('/tmp/x', 'utf8'));",
        outside.display()
    );
    let ended = javascript(&place, &["--env", "GIVEN=yes"], &look);
    ended.expect_code(0);
    let told = "data\nEROFS\nENOENT\nEACCES\nEACCES\nENXIO\n[ [ 'one' ], 'yes', undefined ]\nx\n";
    assert_eq!(ended.stdout, told);
    javascript(&place, &["--rw", "."], "require('fs').writeFileSync('new', 'new')").expect_code(0);
    assert_eq!(std::fs::read_to_string(place.project.join("new")).unwrap(), "new");
    javascript(&place, &["--time", "1s"], "for (;;);").expect_code(124);
    javascript(&place, &[], "process.exit(5)").expect_code(5);
    javascript(&place, &[], "throw new Error('mine')").expect_code(1).says("Error: mine");
    let deep = "(function again() { again(); })()";
    javascript(&place, &[], deep).expect_code(137).says("its limit `max_stack`");
}

/// A24: the same script gives the same answers by Node.js and as a guest, in the same cage.
#[test]
fn a_script_does_as_by_node_in_the_same_cage() {
    if !has_guests() || !has("node") {
        return;
    }
    let scripts =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../engines/tests/scripts");
    for name in ["files.js", "bytes.js", "modules.mjs"] {
        let source = std::fs::read_to_string(scripts.join(name)).unwrap();
        let told = |words: &[&str]| {
            let place = Place::new();
            place.write(name, &source);
            let words = [words, &[name]].concat();
            let ended = place.ask(words);
            ended.expect_code(0);
            ended.stdout.replace(&*place.project.to_string_lossy(), "PROJECT")
        };
        let by_node = told(&["run", "-q", "--rw", ".", "--", "node"]);
        assert_eq!(told(&["js", "-q", "--rw", "."]), by_node, "{name}");
    }
}

/// A26: a script whose first line names what runs guests is one, and says nothing about its cage.
#[test]
fn a_first_line_names_what_runs_it() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    let script = |line: &str| format!("#!{line}\nconsole.log('ran', process.argv.length);\n");
    place.write("tool", script("/usr/bin/env -S stockade js"));
    place.ask(["run", "./tool", "one"]).expect_code(0).prints("ran 3");
    place.write("wide", script("/usr/bin/env -S stockade js --rw /"));
    assert_ne!(place.ask(["run", "./wide"]).code, 0);
    place.write("node", script("/usr/bin/env node"));
    place.ask(["run", "--guest", "./node"]).expect_code(0).prints("ran 2");
}

/// A23: TypeScript runs without its types, and what is more than a type is refused by name and place.
#[test]
fn typescript_runs() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write(
        "part.mts",
        "export type A = { b: number };\nexport const twice = (a: A): number => a.b * 2;\n",
    );
    place.write("main.mts", "import { twice, type A } from './part.mts';\nconst a = { b: 21 } satisfies A;\nconsole.log(twice(a as A));\n");
    place.ask(["js", "main.mts"]).expect_code(0).prints("42");
    place.ask(["run", "--guest", "main.mts"]).expect_code(0).prints("42");
    place.write("more.ts", "let a = 1;\nenum B { C }\n");
    place.ask(["js", "more.ts"]).expect_code(1).says("more.ts:2:1: an enum is more than a type");
}

/// A23: a guest starts the programs that its cage shows, and reaches the network that its cage has: none.
#[test]
fn a_guest_has_the_programs_of_its_cage() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    let source = "const { execSync, spawnSync, exec } = require('child_process');
        console.log(execSync('echo out; cat', { input: 'in', encoding: 'utf8' }), spawnSync('sh', ['-c', 'exit 3']).status);
        try { execSync('exit 4', { stdio: 'pipe' }); } catch (error) { console.log(error.status); }
        exec('echo later', (error, output) => console.log(error, output));
        fetch('http://127.0.0.1:9/').catch((error) => console.log(error.message, error.cause.code));";
    let told = javascript(&place, &[], source);
    told.expect_code(0);
    assert!(told.stdout.starts_with("out\nin 3\n4\n"), "{}", told.stdout);
    told.prints("null later\n").prints("fetch failed ECONNREFUSED");
    let none = "console.log(require('child_process').spawnSync('sh', ['-c', 'true']).error.code);";
    javascript(&place, &["--commands", "none"], none).expect_code(0).prints("ENOENT");
}

/// A25: many guests have one cage; what that does not show none of them sees, and its limits hold for all of them.
#[test]
fn guests_of_a_pool_have_the_cage_of_the_pool() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("tool.wasm", module("of a module"));
    place.write("secret", "not for guests");
    let requests = [
        r#"{"id": 1, "file": "tool.wasm"}"#,
        r#"{"id": 2, "script": "const fs = require('fs'); let seen = ''; try { seen = fs.readFileSync('secret', 'utf8'); } catch {} console.log(seen === ''); fs.writeFileSync('new', '2')"}"#,
        r#"{"id": 3, "script": "fetch('http://127.0.0.1:9/').catch((error) => console.log(error.cause.code))"}"#,
        r#"{"id": 4, "script": "for (;;);", "seconds": 0.2}"#,
    ];
    place.write("requests", requests.join("\n"));
    let mut command = place.stockade();
    command.args(["pool", "-q", "--rw", ".", "--hide", "secret", "--time", "60s"]);
    command.stdin(std::fs::File::open(place.project.join("requests")).unwrap());
    let ended = Ended::of(command.output().unwrap());
    ended.expect_code(0);
    for answer in [
        r#"{"id":1,"status":0,"output":"of a module","error":""}"#,
        r#"{"id":2,"status":0,"output":"true\n","error":""}"#,
        r#"{"id":3,"status":0,"output":"ECONNREFUSED\n","error":""}"#,
        r#"{"id":4,"status":137,"output":"","error":"","why":"it was ended: it reached its limit `seconds` of 0.2"}"#,
    ] {
        ended.prints(answer);
    }
    assert_eq!(ended.stdout.lines().count(), 4);
    assert_eq!(std::fs::read_to_string(place.project.join("new")).unwrap(), "2");
    place.ask(["pool", "--", "tool.wasm"]).expect_code(2).says("`--at-once N`");
}
