//! `stockade apply` and `undo` that are killed, that find no room, or that meet another one.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::{Reviewed, Tree, assert_same, tree};
use crate::support::{has, slowly, stockade_binary};

/// K283, T13, T54: killed anywhere, the next command finds the host whole: as before or as after, and nothing beside it.
#[test]
fn a_killed_apply_or_undo_is_finished_or_taken_back() {
    if !has("unshare") {
        return;
    }
    let files: Vec<(String, String)> =
        (0..60).map(|number| (format!("d{}/f{number}", number % 7), "old\n".repeat(50))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let reviewed = Reviewed::new(&files);
    reviewed.cage(
        "for f in d0/* d1/* d2/*; do echo new >> $f; done; rm -r d3; mv d4/f4 d4/named
         mkdir -p n/m; for i in 1 2 3 4 5 6 7 8 9; do echo $i > n/m/$i; done; chmod 700 d5; ln -s n d6/l",
    );
    let before = reviewed.host();
    let whole = Instant::now();
    reviewed.ask(&["apply"]).expect_code(0);
    let whole = whole.elapsed();
    let after = reviewed.host();
    assert_ne!(before, after);
    let (mut is_applied, mut killed, mut seen) = (true, 0, [0, 0]);
    for _ in 0..KILLS {
        let word = if is_applied { "undo" } else { "apply" };
        killed += usize::from(kill(&reviewed, word, random_part(whole)));
        // Any command for the workspace puts right what is left.
        reviewed.ask(&["diff", "--name-only"]).expect_code(0);
        let host = reviewed.host();
        is_applied = host == after;
        assert_same(&host, if is_applied { &after } else { &before });
        seen[usize::from(is_applied)] += 1;
    }
    assert!(killed > KILLS / 4, "only {killed} of {KILLS} were killed in time");
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    // What is left works.
    if is_applied {
        reviewed.ask(&["undo"]).expect_code(0);
    }
    reviewed.ask(&["apply"]).expect_code(0);
    assert_same(&reviewed.host(), &after);
}

/// Starts a command and kills it after a while; returns whether it still ran.
fn kill(reviewed: &Reviewed, word: &str, after: Duration) -> bool {
    let mut command = reviewed.place.stockade();
    let mut child = command.arg(word).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    let still_ran = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    still_ran
}

fn random_part(of: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() % 1000;
    of * u32::try_from(random).unwrap() / 1000
}

/// T13: of two at once one is done, and the other does nothing.
#[test]
fn of_two_applies_at_once_one_is_done() {
    if !has("unshare") {
        return;
    }
    let files: Vec<(String, String)> =
        (0..200).map(|number| (format!("f{number}"), "old\n".to_owned())).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let reviewed = Reviewed::new(&files);
    reviewed.cage("for f in f*; do echo new > $f; done");
    let start = || {
        let mut command = reviewed.place.stockade();
        command.arg("apply").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start(), start()];
    let both = both.map(|child| child.wait_with_output().unwrap());
    let codes = both.each_ref().map(|output| output.status.code().unwrap());
    // The other came when there was nothing left, while the first was at work, or saw that it had been.
    assert!(codes.contains(&0) && codes.iter().all(|code| matches!(code, 0 | 1 | 125)), "{both:?}");
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{both:?}");
    assert_eq!(reviewed.read("f0"), "new\n");
    reviewed.ask(&["undo"]).expect_code(0);
    assert_eq!(reviewed.read("f199"), "old\n");
}

/// T13, T54: on a full disk nothing is applied, and there is a way on.
#[test]
fn on_a_full_disk_nothing_is_applied() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("kept", "k\n")]);
    reviewed.cage("echo x > a; head -c 3000000 /dev/urandom > large; echo new > kept");
    // The host's directory is a small file system of its own, in namespaces of this test.
    let script = format!(
        "set -e; project={project}; mount -t tmpfs -o size=1m,mode=755 none $project
         cd $project; echo k > kept; touch -d 2000-01-01 kept
         {stockade} apply && exit 9; {stockade} apply --json || true
         ls -A; cat kept; {stockade} apply a && cat a",
        project = reviewed.place.project.display(),
        stockade = stockade_binary().display(),
    );
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &script]).env_clear();
    command.env("HOME", &reviewed.place.home).env("XDG_STATE_HOME", reviewed.place.state());
    let output = command.env("PATH", "/usr/bin:/bin").output().unwrap();
    let (out, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(errors.contains("make room"), "{out}\n{errors}");
    assert!(out.contains("\"code\": \"cannot_build\""), "{out}\n{errors}");
    assert!(out.contains("\nkept\nk\n"), "{out}\n{errors}");
}

/// A wait that ends is better than a test that hangs.
#[test]
fn a_workspace_that_stays_locked_is_refused_at_once() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n")]);
    reviewed.cage("echo new > a");
    // The kernel's own directory beside it is closed to its owner as well.
    let upper = reviewed.area.join("upper");
    let before: Tree = tree(&upper);
    let area = fs::File::open(&reviewed.area).unwrap();
    rustix::fs::flock(&area, rustix::fs::FlockOperation::LockShared).unwrap();
    let started = Instant::now();
    reviewed.ask(&["apply"]).expect_code(125);
    assert!(started.elapsed() < slowly(Duration::from_secs(10)));
    assert_same(&tree(&upper), &before);
}

/// Enough to hit every phase; each takes three starts of the program.
const KILLS: usize = 60;
