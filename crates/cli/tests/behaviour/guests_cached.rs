//! What modules were compiled to is kept, found again, and never loaded once somebody has changed it.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::guests::{component, has_guests, module};
use super::support::{Place, slowly};

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

/// A25: so is a component.
#[test]
fn a_component_is_compiled_once() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    for (status, expected) in [(0, 2), (0, 3), (1, 5), (1, 6)] {
        place.write("tool.wasm", component(status, 70_000));
        place.ask(["wasm", "-q", "tool.wasm"]).expect_code(status.into());
        assert_eq!(starts(&place), expected);
    }
    assert_eq!(kept(&place).len(), 2);
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

/// A25: what a cage does not have from the host is not compiled for it: neither by a link that leads out, nor what is hidden,
/// nor what no rule grants.
#[test]
fn what_the_cage_does_not_have_is_not_compiled() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    let secret = place.outside().join("secret.wasm");
    fs::write(&secret, large("secret\n")).unwrap();
    std::os::unix::fs::symlink(&secret, place.project.join("link.wasm")).unwrap();
    std::os::unix::fs::symlink(place.outside(), place.project.join("out")).unwrap();
    place.write("hidden.wasm", large("hidden\n"));
    place.write(".ssh/id.wasm", large("secret\n"));
    let own = place.project.join("hidden.wasm");
    std::os::unix::fs::symlink(&own, place.outside().join("name")).unwrap();
    let by_link = place.outside().join("name").display().to_string();
    let granted = place.outside().display().to_string();
    for words in [
        &["wasm", "link.wasm"][..],
        &["wasm", "out/secret.wasm"],
        &["wasm", secret.to_str().unwrap()],
        &["wasm", "--hide", "hidden.wasm", "hidden.wasm"],
        &["wasm", "--hide", &by_link, "hidden.wasm"],
        &["wasm", "--ro", &granted, "link.wasm"],
        &["wasm", ".ssh/id.wasm"],
    ] {
        let _ended = place.ask(words);
        assert_eq!(kept(&place), Vec::<PathBuf>::new(), "{words:?}");
    }
    place.ask(["wasm", "--ro", &granted, secret.to_str().unwrap()]).expect_code(0).prints("secret");
    assert_eq!(kept(&place).len(), 1);
}

/// A module that takes long to compile: many functions of many instructions.
fn slow_to_compile() -> Vec<u8> {
    let number = |mut value: usize| {
        let mut bytes = Vec::new();
        loop {
            let seven = u8::try_from(value & 0x7f).unwrap();
            value >>= 7;
            bytes.push(if value == 0 { seven } else { seven | 0x80 });
            if value == 0 {
                return bytes;
            }
        }
    };
    let section = |id: u8, body: &[u8]| [&[id], &*number(body.len()), body].concat();
    let count = 300;
    // One local; `local.get 0, i32.const 1, i32.add, local.set 0` again and again.
    let steps = [0x20, 0, 0x41, 1, 0x6a, 0x21, 0].repeat(4000);
    let code = [&[1, 1, 0x7f][..], &steps, &[0x0b]].concat();
    let code = [number(code.len()), code].concat();
    [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, &[1, 0x60, 0, 0]),
        section(3, &[number(count), vec![0; count]].concat()),
        section(7, &[&[1, 6][..], b"_start", &[0, 0]].concat()),
        section(10, &[number(count), code.repeat(count)].concat()),
    ]
    .concat()
}

/// A25: compiling is bounded by the time of the run, and counts towards it.
#[test]
fn compiling_takes_no_longer_than_the_run() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("slow.wasm", slow_to_compile());
    let began = Instant::now();
    let ended = place.ask(["wasm", "-q", "--time", "1s", "slow.wasm"]);
    assert_ne!(ended.code, 0);
    assert!(began.elapsed() < slowly(Duration::from_secs(6)), "{:?}", began.elapsed());
    let records = place.records();
    assert!(records.iter().any(|record| record.to_string().contains("walltime")), "{records:?}");
}

/// A25: what compiles ends with who asked for it.
#[test]
fn a_compiler_ends_with_its_caller() {
    if !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("slow.wasm", slow_to_compile());
    let compilers = || {
        let of = |entry: fs::DirEntry| {
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            let directory = fs::read_link(entry.path().join("cwd")).ok()?;
            let is_own = directory.starts_with(&place.home) && words.ends_with(b"compile\0");
            (is_own && words.windows(11).any(|part| part == b"--result-fd")).then_some(())
        };
        fs::read_dir("/proc").unwrap().flatten().filter_map(of).count()
    };
    let mut run = place.stockade();
    run.args(["wasm", "-q", "slow.wasm"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = run.spawn().unwrap();
    let until = Instant::now() + slowly(Duration::from_secs(20));
    while compilers() == 0 {
        assert!(Instant::now() < until, "no compiler came");
        std::thread::sleep(Duration::from_millis(5));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let until = Instant::now() + slowly(Duration::from_secs(3));
    while compilers() > 0 {
        assert!(Instant::now() < until, "the compiler outlives its caller");
        std::thread::sleep(Duration::from_millis(10));
    }
}
