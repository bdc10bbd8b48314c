//! A host directory, a session's area, and a shell in a real overlay of both.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use crate::{
    Applied, Changes, Marking, Merging, Request, Selection, TreePath, What, Workspace,
    WorkspaceError,
};

/// A host directory and an area for it.
pub(super) struct Fixture {
    pub(super) place: tempfile::TempDir,
    pub(super) host: PathBuf,
    pub(super) area: PathBuf,
    _other: Option<tempfile::TempDir>,
}

/// What a tree holds, by path: kind, permissions, content or target, and of a file the date of its content.
pub(super) type Tree = BTreeMap<Vec<u8>, (char, u32, Vec<u8>, (i64, i64))>;

impl Fixture {
    pub(super) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let area = place.path().join("area");
        Self::with_area(place, area, None)
    }

    /// With the area on another file system.
    pub(super) fn apart() -> Option<Self> {
        let memory = Path::new("/dev/shm");
        if !memory.is_dir() {
            testing::skip("there is no /dev/shm");
            return None;
        }
        let place = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir_in(memory).unwrap();
        let area = other.path().join("area");
        Some(Self::with_area(place, area, Some(other)))
    }

    fn with_area(
        place: tempfile::TempDir,
        area: PathBuf,
        other: Option<tempfile::TempDir>,
    ) -> Self {
        let host = place.path().join("host");
        fs::create_dir(&host).unwrap();
        for name in ["", "upper", "work"] {
            fs::create_dir(area.join(name)).unwrap();
        }
        fs::create_dir(place.path().join("merged")).unwrap();
        Self { place, host, area, _other: other }
    }

    /// Writes files of the host: a name that ends in a slash is a directory.
    pub(super) fn host(&self, files: &[(&str, &str)]) -> &Self {
        write(&self.host, files);
        self
    }

    /// Writes files into the upper layer as they are.
    pub(super) fn upper(&self, files: &[(&str, &str)]) -> &Self {
        write(&self.area.join("upper"), files);
        self
    }

    /// A run begins. What was made before has an earlier date, by any clock.
    pub(super) fn start(&self) -> &Self {
        std::thread::sleep(Duration::from_millis(15));
        crate::mark_run(std::os::fd::AsFd::as_fd(&open(&self.area))).unwrap();
        std::thread::sleep(Duration::from_millis(15));
        self
    }

    /// Runs a shell in a real overlay; what it sees in the end is returned.
    pub(super) fn cage(&self, script: &str) -> Tree {
        let seen = self.place.path().join("seen");
        open_up(&seen);
        let _ = fs::remove_dir_all(&seen);
        fs::create_dir(&seen).unwrap();
        let mount = format!(
            "set -e; mount -t overlay overlay -o \
             userxattr,lowerdir={},upperdir={}/upper,workdir={}/work {}",
            self.host.display(),
            self.area.display(),
            self.area.display(),
            self.place.path().join("merged").display()
        );
        let merged = self.place.path().join("merged");
        let (merged, copy) = (merged.display(), seen.display());
        let script =
            format!("{mount}\ncd {merged}\n{script}\ncp -a {merged}/. {copy}/; chmod u+rwx {copy}");
        let mut command = Command::new("unshare");
        command.args(["-Urm", "sh", "-c", &script]).env("HOME", self.place.path());
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{errors}");
        tree(&seen)
    }

    pub(super) fn workspace(&self) -> Workspace {
        Workspace::new(open(&self.host), open(&self.area), Marking::User)
    }

    pub(super) fn changes(&self) -> Changes {
        self.workspace().changes().unwrap()
    }

    pub(super) fn apply_all(&self) -> Applied {
        self.apply(Selection::All).unwrap()
    }

    pub(super) fn apply(&self, selection: Selection) -> Result<Applied, WorkspaceError> {
        let workspace = self.workspace();
        let changes = workspace.changes()?;
        let confirmed = changes.list.iter().map(|change| change.path.clone()).collect();
        let merging = Merging::WhereCertain;
        workspace.apply(&changes, &Request { confirmed, merging, ..Request::of(selection) })
    }

    pub(super) fn host_tree(&self) -> Tree {
        tree(&self.host)
    }

    pub(super) fn upper_names(&self) -> Vec<String> {
        tree(&self.area.join("upper"))
            .keys()
            .map(|name| String::from_utf8_lossy(name).into())
            .collect()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        open_up(self.place.path());
        open_up(&self.area);
    }
}

/// Lets a user remove a tree with closed directories in it.
fn open_up(path: &Path) {
    let mut command = Command::new("chmod");
    command.args(["-R", "u+rwX"]).arg(path).stderr(std::process::Stdio::null());
    let _ = command.status();
}

/// Each change in a short form.
pub(super) fn summary(changes: &Changes) -> Vec<String> {
    let word = |what: &What| match what {
        What::Added => "A".to_owned(),
        What::Modified => "M".to_owned(),
        What::Deleted => "D".to_owned(),
        What::TypeChanged => "T".to_owned(),
        What::AttributesChanged => "P".to_owned(),
        What::Renamed { from } => format!("R {from} ->"),
    };
    let conflict = |change: &crate::Change| change.conflict.map_or("", |_| " !");
    let changed = changes.list.iter();
    changed
        .map(|change| format!("{} {}{}", word(&change.what), change.path, conflict(change)))
        .collect()
}

pub(super) fn paths(names: &[&str]) -> Vec<TreePath> {
    names.iter().map(|name| TreePath::parse(name.as_bytes()).unwrap()).collect()
}

pub(super) fn open(path: &Path) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap()
}

fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = root.join(name);
        if name.ends_with('/') {
            fs::create_dir_all(&path).unwrap();
            continue;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match content.strip_prefix("-> ") {
            Some(target) => std::os::unix::fs::symlink(target, &path).unwrap(),
            None => fs::write(&path, content).unwrap(),
        }
    }
}

/// Reads a whole tree. The root itself is not in it.
pub(super) fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let status = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            let mode = status.permissions().mode() & 0o7777;
            let kind = status.file_type();
            let dated = (status.mtime(), status.mtime_nsec());
            let node = if kind.is_dir() {
                pending.push(path.clone());
                ('d', mode, Vec::new(), (0, 0))
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec();
                ('l', 0, target, (0, 0))
            } else if kind.is_file() {
                ('f', mode, fs::read(&path).unwrap(), dated)
            } else {
                ('o', mode, Vec::new(), (0, 0))
            };
            tree.insert(name, node);
        }
    }
    tree
}

/// Where two trees differ, for a message that can be read.
#[track_caller]
pub(super) fn assert_same(found: &Tree, expected: &Tree) {
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
