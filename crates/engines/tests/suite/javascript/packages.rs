//! Packages of the registry that are JavaScript alone load and work, and say what they say under Node.js. A23

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use engines::{End, Kept, Output, World};
use rustix::fs::{Mode, OFlags};
use vfs::{Caller, FileSystem, Host, HostMode, Limits};

/// What is installed. `scripts/packages.cjs` asks each of them something.
const PACKAGES: &[&str] = &[
    "acorn@8",
    "ajv@8",
    "async@3",
    "big.js@6",
    "chalk@5",
    "commander@12",
    "dayjs@1",
    "debug@4",
    "deepmerge@4",
    "diff@7",
    "ejs@3",
    "eventemitter3@5",
    "fast-glob@3",
    "fast-xml-parser@4",
    "handlebars@4",
    "immer@10",
    "immutable@5",
    "ini@5",
    "js-yaml@4",
    "lodash@4",
    "markdown-it@14",
    "marked@12",
    "minimatch@9",
    "minimist@1",
    "ms@2",
    "mustache@4",
    "papaparse@5",
    "qs@6",
    "ramda@0.30",
    "semver@7",
    "uuid@9",
    "validator@13",
    "yaml@2",
    "zod@3",
];
const PROGRAM: &str = include_str!("../../scripts/packages.cjs");

/// Where packages lie that a test installs: once for a list of them, by whoever comes first.
pub(crate) fn installed(name: &str, packages: &[&str]) -> Option<PathBuf> {
    if !testing::has("npm") {
        return None;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&place).unwrap();
    let one_at_a_time = std::fs::File::create(place.with_extension("lock")).unwrap();
    one_at_a_time.lock().unwrap();
    let (done, wanted) = (place.join("done"), packages.join("\n"));
    if std::fs::read_to_string(&done).is_ok_and(|done| done == wanted) {
        return Some(place);
    }
    std::fs::write(place.join("package.json"), "{\"private\": true}").unwrap();
    let mut install = Command::new("npm");
    install.args([
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--no-package-lock",
    ]);
    if !install.args(packages).current_dir(&place).status().unwrap().success() {
        testing::skip("the packages cannot be installed: is the registry reached?");
        return None;
    }
    std::fs::write(done, wanted).unwrap();
    Some(place)
}

/// A world over a directory of the host that it may only read, and what it writes.
pub(crate) fn world_of(place: &Path, name: &[u8]) -> (World, (Kept, Kept)) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(place, flags, Mode::empty()).unwrap();
    let limits = Limits::default();
    let host = Host::new(directory, HostMode::ReadOnly, &limits).unwrap();
    let files = FileSystem::new(Arc::new(host), &limits);
    let caller =
        Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut world = World::new(files, caller, name);
    let kept = (Kept::new(1 << 20), Kept::new(1 << 20));
    world.streams.output = Output::Kept(kept.0.clone());
    world.streams.error = Output::Kept(kept.1.clone());
    (world, kept)
}

/// A23
#[test]
fn packages_do_as_under_node() {
    if !testing::has("node") {
        return;
    }
    let Some(place) = installed("packages-of-guests", PACKAGES) else { return };
    std::fs::write(place.join("main.cjs"), PROGRAM).unwrap();
    let by_node = Command::new("node").arg("main.cjs").current_dir(&place).output().unwrap();
    let (world, (shown, complaint)) = world_of(&place, b"main.cjs");
    let end = engines::javascript::run(b"main.cjs", world).unwrap();
    let complaint = String::from_utf8_lossy(&complaint.bytes()).into_owned();
    assert_eq!(end, End::Exited(0), "{complaint}");
    let (shown, expected) = (shown.bytes(), by_node.stdout);
    let sections = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.split("== ").skip(1).map(str::to_owned).collect()
    };
    let (shown, expected) = (sections(&shown), sections(&expected));
    assert_eq!(expected.len(), PACKAGES.len());
    assert!(!expected.iter().any(|section| section.contains("'failed'")), "{expected:?}");
    let different: Vec<_> =
        shown.iter().zip(&expected).filter(|(shown, expected)| shown != expected).collect();
    assert!(different.is_empty(), "{different:#?}");
    assert_eq!(shown.len(), expected.len(), "{complaint}");
}
