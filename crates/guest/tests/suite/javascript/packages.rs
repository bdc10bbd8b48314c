//! Packages of the registry that are JavaScript alone load and work, and say what they say under Node.js. A23

use std::process::Command;
use std::sync::Arc;

use guest::{End, Kept, Output, World};
use rustix::fs::{Mode, OFlags};
use vfs::{Caller, FileSystem, Host, HostMode, Limits};

/// What is installed.
const PACKAGES: &[&str] = &[
    "acorn@8",
    "ajv@8",
    "commander@12",
    "fast-glob@3",
    "handlebars@4",
    "lodash@4",
    "minimist@1",
    "semver@7",
    "uuid@9",
    "yaml@2",
];

/// What is done with it.
const PROGRAM: &str = "
    const { program } = require('commander'); program.option('-x <n>').parse(['node', 'x', '-x', '5']);
    const Ajv = require('ajv'); const check = new Ajv().compile({ type: 'object', required: ['a'] });
    const _ = require('lodash');
    console.log(require('acorn').parse('1 + a', { ecmaVersion: 2022 }).body[0].expression.type);
    console.log(program.opts(), check({ a: 1 }), check({}), check.errors[0].message);
    console.log(require('fast-glob').sync('node_modules/mini*/package.json'));
    console.log(require('handlebars').compile('{{#each a}}<{{this}}>{{/each}}')({ a: ['<', 2] }));
    console.log(_.chunk([1, 2, 3], 2), _.camelCase('a b'), _.template('<%= a %>')({ a: 1 }));
    console.log(require('minimist')(['--a=1', 'b', '-xyz']), require('semver').satisfies('1.2.3', '^1.0.0'));
    console.log(require('uuid').v5('x', require('uuid').v5.URL), require('uuid').validate(require('uuid').v4()));
    console.log(require('yaml').parse('a: [1, {b: c}]'), require('yaml').stringify({ x: ['y', null] }));
";

/// A23
#[test]
fn packages_do_as_under_node() {
    if !testing::has("npm") || !testing::has("node") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("package.json"), "{\"private\": true}").unwrap();
    std::fs::write(place.path().join("main.js"), PROGRAM).unwrap();
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]);
    let installed = install.args(PACKAGES).current_dir(place.path()).status().unwrap();
    if !installed.success() {
        testing::skip("the packages cannot be installed: is the registry reached?");
        return;
    }
    let by_node = Command::new("node").arg("main.js").current_dir(place.path()).output().unwrap();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(place.path(), flags, Mode::empty()).unwrap();
    let limits = Limits::default();
    let host = Host::new(directory, HostMode::ReadOnly, &limits).unwrap();
    let files = FileSystem::new(Arc::new(host), &limits);
    let caller =
        Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut world = World::new(files, caller, b"main.js");
    let (shown, complaint) = (Kept::new(1 << 20), Kept::new(1 << 20));
    world.streams.output = Output::Kept(shown.clone());
    world.streams.error = Output::Kept(complaint.clone());
    let end = guest::javascript::run(b"main.js", world).unwrap();
    let complaint = String::from_utf8_lossy(&complaint.bytes()).into_owned();
    assert_eq!(end, End::Exited(0), "{complaint}");
    let expected = String::from_utf8_lossy(&by_node.stdout).into_owned();
    assert_eq!(String::from_utf8_lossy(&shown.bytes()), expected, "{complaint}");
}
