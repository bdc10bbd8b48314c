//! Projects on file systems whose dates say nothing of when a file appeared.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Ended, Place, has_all, is_root, skip, stockade_binary};

/// A project that is seen through another directory, mounted by a program; unmounted when dropped. The
/// dates of change are those of modification there, which anybody can set.
struct Mounted {
    place: Place,
}

const USER: u32 = 54321;

impl Mounted {
    /// Nothing where there is no such thing.
    fn new(place: Place) -> Option<Self> {
        if !is_root() {
            skip("only root can mount for another user");
            return None;
        }
        if !has_all(&["setpriv", "bindfs", "umount"]) {
            return None;
        }
        let outside = place.outside();
        fs::copy(stockade_binary(), outside.join("stockade")).unwrap();
        fs::rename(&place.project, outside.join("real")).unwrap();
        fs::create_dir(&place.project).unwrap();
        let root = place.home.parent().unwrap();
        let own = Command::new("chown").args(["-R", &format!("{USER}:{USER}")]).arg(root).status();
        assert!(own.unwrap().success());
        fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
        let mut mount = Command::new("bindfs");
        mount.args(["--ctime-from-mtime", "-o", "allow_other"]).arg(outside.join("real"));
        let mounted = mount.arg(&place.project).stderr(Stdio::null()).status().unwrap();
        if !mounted.success() {
            skip("this machine lets nobody mount by FUSE");
            return None;
        }
        Some(Self { place })
    }

    fn shell(&self, line: &str) -> Ended {
        let program = self.place.outside().join("stockade");
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={USER}"), &format!("--regid={USER}"), "--clear-groups"]);
        command.arg(program).args(["run", "--rw", ".", "--", "sh", "-c", line]);
        command.current_dir(&self.place.project).env_clear().env("HOME", &self.place.home);
        Ended::of(command.env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).output().unwrap())
    }

    fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.place.project.join(path)).is_ok()
    }

    fn write(&self, path: &str) {
        let path = self.place.write(path, "of the user");
        for path in path.ancestors().take_while(|path| *path != self.place.project) {
            chown(path, Some(USER), Some(USER)).unwrap();
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let project: &Path = &self.place.project;
        let _status = Command::new("umount").arg("--lazy").arg(project).status();
    }
}

/// K227, T5: a date that the program has set says nothing, and what has appeared is set aside all the same.
#[test]
fn what_appears_is_set_aside_whatever_its_date() {
    let Some(mounted) = Mounted::new(Place::new()) else { return };
    mounted.write(".git/config");
    mounted.write(".git/HEAD");
    mounted.write("tools/.npmrc");
    let planted = [".envrc", ".vscode/tasks.json", ".git/hooks/pre-commit", "new/and/.npmrc"];
    let line = planted.map(|file| {
        format!("mkdir -p $(dirname {file}) && echo x > {file} && touch -d 2001-01-01 {file} $(dirname {file})")
    });
    let ended = mounted.shell(&line.join(" && "));
    ended.expect_code(0).says(".envrc` appeared").says("new/and/.npmrc` appeared");
    for file in planted {
        assert!(!mounted.has(file), "{file}\n{}", ended.stderr);
    }
    for file in [".git/config", ".git/HEAD", "tools/.npmrc"] {
        assert!(mounted.has(file), "{file}\n{}", ended.stderr);
    }
}

/// K227: what was there stays where it is; what lies too deep to be known is told in one line.
#[test]
fn what_was_there_stays_and_what_cannot_be_known_is_told() {
    let Some(mounted) = Mounted::new(Place::new()) else { return };
    let kept = [".envrc", ".vscode/settings.json", ".git/config", "one/two/.npmrc"];
    for file in kept {
        mounted.write(file);
    }
    std::os::unix::fs::symlink("one", mounted.place.project.join(".cargo")).unwrap();
    let ended = mounted.shell("echo x > work.txt; mkdir more");
    assert_eq!(ended.expect_code(0).stderr, "");
    for number in 0..3 {
        mounted.write(&format!("one/two/three/four/five/{number}/.npmrc"));
    }
    let ended = mounted.shell("echo x > work.txt");
    ended.expect_code(0).says("and 2 other files may have appeared during the run");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(kept.iter().all(|file| mounted.has(file)));
}

/// T5: directories that the program closes to their owner are opened there as elsewhere.
#[test]
fn closed_directories_are_searched() {
    let Some(mounted) = Mounted::new(Place::new()) else { return };
    mounted.write("old/file");
    let ended = mounted.shell(
        "mkdir new && echo x > new/.envrc && chmod 311 new && echo x > old/.envrc && chmod 311 old",
    );
    ended.expect_code(0).says("new/.envrc` appeared").says("old/.envrc` appeared");
    assert!(!mounted.has("new/.envrc") && !mounted.has("old/.envrc"), "{}", ended.stderr);
}
