//! Areas of sessions and shells in a real overlay, mounted with the options that cages have.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plan::HostPath;
use session::{AreaKind, Roots, SessionId, Sessions};

/// What a tree holds, by path: kind, permissions, content or target.
pub(crate) type Tree = BTreeMap<Vec<u8>, (char, u32, Vec<u8>)>;

/// Begins a run of a session on a directory; returns the area for it.
pub(crate) fn begin(state: &Path, name: &str, directory: &Path) -> PathBuf {
    fs::create_dir_all(state).unwrap();
    fs::set_permissions(state, fs::Permissions::from_mode(0o700)).unwrap();
    let host = |path: &Path| HostPath::new(path.as_os_str().to_owned()).unwrap();
    let sessions = Sessions::open(&host(state)).unwrap();
    let session = sessions.enter(&SessionId::parse(name).unwrap()).unwrap();
    let area = session.areas().unwrap().open(AreaKind::Workspace, &host(directory)).unwrap();
    let status = fs::metadata(directory).unwrap();
    let like = Roots { mode: status.mode() & 0o777, owner: (status.uid(), status.gid()) };
    area.make_layers(like).unwrap();
    // What was made before has an earlier date, by any clock.
    std::thread::sleep(Duration::from_millis(15));
    workspace::mark_run(area.as_fd()).unwrap();
    std::thread::sleep(Duration::from_millis(15));
    area.path().as_path().to_owned()
}

/// Runs a shell in an overlay, with the options that cages have.
pub(crate) fn cage(outside: &Path, host: &Path, area: &Path, script: &str) {
    let merged = outside.join("merged");
    fs::create_dir_all(&merged).unwrap();
    let script = format!(
        "set -e; mount -t overlay overlay -o \
         userxattr,lowerdir={},upperdir={area}/upper,workdir={area}/work {merged}\ncd {merged}\n{script}",
        host.display(),
        area = area.display(),
        merged = merged.display(),
    );
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &script]).env("HOME", outside);
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{errors}");
}

/// Reads a whole tree. The root itself is not in it.
pub(crate) fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let status = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            let mode = status.permissions().mode() & 0o7777;
            let kind = status.file_type();
            let node = if kind.is_dir() {
                pending.push(path.clone());
                ('d', mode, Vec::new())
            } else if kind.is_symlink() {
                ('l', 0, fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec())
            } else if kind.is_file() {
                ('f', mode, fs::read(&path).unwrap())
            } else {
                ('o', mode, Vec::new())
            };
            tree.insert(name, node);
        }
    }
    tree
}

/// Where two trees differ, for a message that can be read.
#[track_caller]
pub(crate) fn assert_same(found: &Tree, expected: &Tree) {
    let differs = |name: &&Vec<u8>| found.get(*name) != expected.get(*name);
    let names: Vec<&Vec<u8>> = found.keys().chain(expected.keys()).filter(differs).collect();
    if let Some(name) = names.first() {
        panic!(
            "{} paths differ, among them {}: found {:?}, expected {:?}",
            names.len(),
            String::from_utf8_lossy(name),
            found.get(*name),
            expected.get(*name)
        );
    }
}
