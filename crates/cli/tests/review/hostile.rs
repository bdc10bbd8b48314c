//! What a program can put into its layer to mislead or to harm whoever reviews it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

use serde_json::Value;

use crate::fixture::Reviewed;
use crate::support::{has, is_root};

/// T12, T13: names and contents that act on a terminal are shown, and do nothing.
#[test]
fn nothing_that_a_program_wrote_acts_on_the_terminal() {
    if !has("unshare") || !has("script") {
        return;
    }
    let reviewed = Reviewed::new(&[("text", "one\n"), ("clash", "c\n")]);
    reviewed.cage(
        "name=$(printf 'a\\033]0;title\\007\\nb\\342\\200\\256c'); echo x > \"$name\"
         printf 'two\\033[2J\\r\\342\\200\\256\\n' > text; mkdir -p .vscode
         printf x > .vscode/$(printf 'tasks.json'); printf y > clash
         ln -s $(printf '/etc/\\033[31mpasswd') link",
    );
    reviewed.change("clash", "host\n");
    for words in ["diff", "diff --stat", "diff --name-only", "apply", "diff", "session list"] {
        let line = format!("'{}' {words}", crate::support::stockade_binary().display());
        let shown = crate::terminal::typed(&reviewed, &line, "n\nq\n");
        let bad = shown.replace("\x1b[1m", "").replace("\x1b[m", "").replace("\x1b[0m", "");
        let colours = ["\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1;31m", "\x1b[1;33m"];
        let bad = colours.iter().fold(bad, |text, colour| text.replace(colour, ""));
        let bad = ["\x1b[1;36m", "\x1b[1;32m", "\r\x1b[K"]
            .iter()
            .fold(bad, |text, colour| text.replace(colour, ""));
        assert!(!bad.contains('\x1b'), "{words}: {bad:?}");
        assert!(!shown.contains('\u{202e}') && !shown.contains('\x07'), "{words}: {shown:?}");
    }
    // A program gets the exact names.
    let json: Value = serde_json::from_str(&reviewed.ask(&["diff", "--json"]).stdout).unwrap();
    let left = json["workspaces"][0]["changes"].as_array().unwrap();
    assert!(left.iter().any(|change| change["path"] == "clash"), "{json:#}");
}

/// T12: no FIFO, no socket, no device, no set-id bit, nothing of another owner reaches the host, and nothing blocks.
#[test]
fn what_must_not_reach_the_host_does_not() {
    if !has("unshare") || !has("python3") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n"), ("tool", "t\n")]);
    reviewed.cage(
        "mkfifo fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'
         echo new > a; cp /bin/true set; chmod 6755 set; chmod 6755 tool; mkdir d; chmod 3777 d; echo x > d/x",
    );
    // What only the layer's owner can forge: a whiteout for nothing, marks, a link in place of a directory.
    let upper = reviewed.area.join("upper");
    if is_root() {
        let status = Command::new("mknod").arg(upper.join("device")).args(["c", "1", "3"]).status();
        assert!(status.unwrap().success());
        let status =
            Command::new("mknod").arg(upper.join("nothing")).args(["c", "0", "0"]).status();
        assert!(status.unwrap().success());
        std::os::unix::fs::chown(upper.join("a"), Some(12345), Some(12345)).unwrap();
    }
    let mark = |name: &str, attribute: &str, value: &[u8]| {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(upper.join(name), attribute, value, flags).unwrap();
    };
    mark("a", "user.overlay.redirect", b"/etc/passwd");
    mark("tool", "user.note", b"kept");
    let shown = reviewed.ask(&["diff", "--stat"]);
    shown.expect_code(0).says("never applied: fifo: it is a FIFO").says("sock: it is a socket");
    let ended = reviewed.ask(&["apply"]);
    assert!(ended.code == 0 || ended.code == 1, "{}", ended.stderr);
    for name in ["fifo", "sock", "device", "nothing"] {
        assert!(!reviewed.has(name), "{name}");
    }
    let own = fs::metadata(&reviewed.place.project).unwrap().uid();
    for name in ["a", "tool", "set", "d", "d/x"] {
        let status = fs::metadata(reviewed.place.project.join(name)).unwrap();
        assert_eq!(status.permissions().mode() & 0o7000, 0, "{name}");
        assert_eq!(status.uid(), own, "{name}");
    }
    assert!(!reviewed.read("a").contains("root:"));
}

/// T1, T12: neither a link of the program nor one that the host has leads an apply or a look out of the project.
#[test]
fn links_lead_nobody_out() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("dir/a", "a\n"), ("plain", "p\n")]);
    let outside = reviewed.place.outside();
    fs::write(outside.join("secret"), "secret\n").unwrap();
    fs::create_dir(outside.join("target")).unwrap();
    reviewed.cage(&format!(
        "ln -s {0}/secret leak; echo new > dir/a; echo made > dir/made; rm plain; ln -s {0}/target plain",
        outside.display()
    ));
    let shown = reviewed.ask(&["diff"]);
    shown.expect_code(0).says("link: leak: it leads out").prints("+");
    assert!(!shown.stdout.contains("+secret\n"), "{}", shown.stdout);
    // Meanwhile the host's own directory became a link.
    fs::rename(reviewed.place.project.join("dir"), outside.join("dir")).unwrap();
    std::os::unix::fs::symlink(outside.join("dir"), reviewed.place.project.join("dir")).unwrap();
    let ended = reviewed.ask(&["apply"]);
    ended.expect_code(1);
    assert_eq!(fs::read_to_string(outside.join("dir/a")).unwrap(), "a\n");
    assert!(!outside.join("dir/made").exists());
    assert_eq!(fs::read_dir(outside.join("target")).unwrap().count(), 0);
    let target = fs::read_link(reviewed.place.project.join("leak")).unwrap();
    assert_eq!(target, outside.join("secret"));
}

/// T13: many names and a huge file with nothing in it take no endless time and no endless memory.
#[test]
fn many_names_and_huge_files_are_bounded() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n")]);
    let upper = reviewed.area.join("upper");
    for directory in 0..20 {
        let directory = upper.join(format!("d{directory}"));
        fs::create_dir(&directory).unwrap();
        for file in 0..200 {
            fs::File::create(directory.join(file.to_string())).unwrap();
        }
    }
    let huge = fs::File::create(upper.join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    reviewed.ask(&["diff", "--stat"]).expect_code(0).prints("4021 paths changed");
    reviewed.ask(&["diff", "huge"]).expect_code(0).prints("Binary files");
    reviewed.ask(&["apply", "d1", "d2"]).expect_code(0).prints("applied: 402 paths");
    reviewed.ask(&["discard", "--yes"]).expect_code(0);
    reviewed.ask(&["diff"]).expect_code(0).says("has changed nothing");
}

/// T12, T67: what the project's own Git configuration names, a link where a directory of such names would be, and what
/// makes a repository of a directory are held like names that run code.
#[test]
fn what_runs_code_under_another_name_is_held() {
    if !has("unshare") || !has("git") {
        return;
    }
    let reviewed = Reviewed::new(&[("hk/pre-commit", "#!/bin/sh\n"), ("s/config", "[core]\n")]);
    let project = &reviewed.place.project;
    for words in [&["init", "-q"][..], &["config", "core.hooksPath", "hk"]] {
        let mut git = std::process::Command::new("git");
        git.args(words).current_dir(project).env("HOME", &reviewed.place.home);
        assert!(git.status().unwrap().success());
    }
    reviewed.cage(
        "echo touch pwned >> hk/pre-commit; mkdir ca; echo x > ca/config.toml; ln -s ca .cargo; \
         mkdir -p s/objects s/refs; echo 'ref: refs/heads/main' > s/HEAD; echo fine > fine",
    );
    reviewed.ask(&["diff"]).says("runs code");
    let applied = reviewed.ask(&["apply"]);
    applied.expect_code(1);
    for path in ["hk/pre-commit", ".cargo", "s/HEAD"] {
        applied.says(path);
    }
    assert_eq!(reviewed.read("hk/pre-commit"), "#!/bin/sh\n");
    assert!(!project.join("s/HEAD").exists() && !project.join(".cargo").exists());
    assert!(project.join("fine").exists() && project.join("ca/config.toml").exists());
    reviewed.ask(&["apply", "hk/pre-commit"]).expect_code(0);
    assert!(reviewed.read("hk/pre-commit").contains("pwned"));
}
