//! The processes beside a cage that serve its mounts, seen from the host, and what of them can be seen inside.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::support::{Place, is_root, slowly};
use crate::{behaviour, can_mount, drive_server, shell, with_drive};

/// The children of a process that serve mounts, and theirs.
pub(crate) fn servers(parent: u32) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let is_child = status.lines().any(|line| line == format!("PPid:\t{parent}"));
        let is_server = ["stockade-files", "stockade-dial"]
            .iter()
            .any(|name| status.starts_with(&format!("Name:\t{name}\n")));
        if is_child && is_server {
            found.extend(Pid::from_raw(pid));
            found.extend(servers(u32::try_from(pid).unwrap()));
        }
    }
    found
}

pub(crate) fn field(pid: Pid, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim_start_matches(':').trim().to_owned()
}

/// A17: of the host a server has the directory of its store, and no capability; a dialer not even that.
#[test]
fn a_server_has_nothing_but_its_store() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let (drive, _) = drive_server::start();
    let line = "echo ready > ready; while test ! -e go; do sleep 0.05; done";
    let flags = ["--mount", "/mnt/s=store:data.db,rw", "--mount", "/mnt/d=gdrive:root"];
    let words = [&["run", "--rw", "."], &flags[..], &["--", "sh", "-c", line]].concat();
    let mut command = with_drive(&place, &drive);
    let mut child = command.args(words).stdout(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + slowly(Duration::from_secs(20));
    while !place.project.join("ready").exists() {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    }
    let all = servers(child.id());
    assert_eq!(all.len(), 3, "{all:?}");
    for pid in all {
        assert_eq!(field(pid, "Seccomp"), "2");
        assert_eq!(field(pid, "NoNewPrivs"), "1");
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(field(pid, set).trim_matches('0'), "", "{set}");
        }
        if !is_root() {
            // Nobody but root looks into a process that may not be looked into.
            assert!(fs::read_dir(format!("/proc/{pid}/root/")).is_err());
            continue;
        }
        let mut names: Vec<_> = fs::read_dir(format!("/proc/{pid}/root/"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let name = field(pid, "Name");
        match name.as_str() {
            "stockade-dial" => assert_eq!(names, ["etc"]),
            _ => assert!(names.is_empty() || names == ["store"], "{names:?}"),
        }
        let network = fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        assert_eq!(network == own, name == "stockade-dial");
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
        assert!(environment.is_empty());
    }
    place.write("go", "");
    assert!(child.wait().unwrap().success());
}

/// A17: neither variables nor processes, files or the record have the credential.
#[test]
fn credentials_are_nowhere_inside() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let (drive, _) = drive_server::start();
    let line = "env; cat /proc/*/environ /proc/*/cmdline /proc/self/mountinfo /run/stockade/* 2>/dev/null; \
        ls -R /mnt /run /tmp";
    let flags = ["--ro", ".", "--mount", "/mnt/d=gdrive:root,rw"];
    let ended = shell(&mut with_drive(&place, &drive), &flags, line);
    ended.expect_code(0).prints("fuse.stockade");
    let records = serde_json::to_string(&place.records()).unwrap();
    assert!(records.contains("gdrive:root"));
    let mut command = with_drive(&place, &drive);
    let checked = command.args([&["check", "--json"], &flags[..], &["--", "true"]].concat());
    let checked = String::from_utf8(checked.output().unwrap().stdout).unwrap();
    assert!(checked.contains("drive"));
    for (what, text) in [("inside", &ended.stdout), ("record", &records), ("plan", &checked)] {
        assert!(!text.contains(behaviour::SECRET), "{what}: {text}");
        assert!(!text.contains("client-secret"), "{what}: {text}");
    }
}
