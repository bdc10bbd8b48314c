//! `stockade snapshot`: what a session has is kept, comes back, and goes to other sessions.

use std::fs;

use crate::support::{Place, has};

fn ask(place: &Place, words: &str) -> crate::support::Ended {
    place.ask(words.split(' '))
}

/// A16: what was changed in a view, what lies in scratch, and what was removed there, sleep in a snapshot and wake.
#[test]
fn a_session_comes_back() {
    let place = Place::new();
    place.write("one", "one\n");
    place.write("gone", "gone\n");
    let flags = ["--cow", ".", "--session", "work"];
    let line = "rm gone; echo changed > one; mkdir -p d/e; echo new > d/e/new; echo s > /scratch/s";
    place.shell(&flags, line).expect_code(0);
    ask(&place, "snapshot save before --session work").expect_code(0);
    ask(&place, "snapshot save before --session work").expect_code(125).says("there is a snapshot");
    place.shell(&flags, "echo later > one; rm -r d /scratch/s; echo x > gone").expect_code(0);
    ask(&place, "snapshot restore before --session work").expect_code(0);
    let look = "cat one d/e/new /scratch/s; test ! -e gone && echo still gone";
    let expected = "changed\nnew\ns\nstill gone";
    place.shell(&flags, look).expect_code(0).prints(expected);
    ask(&place, "snapshot fork before --session other").expect_code(0);
    let other = ["--cow", ".", "--session", "other"];
    place.shell(&other, look).expect_code(0).prints(expected);
    place.shell(&other, "echo forked > one").expect_code(0);
    place.shell(&flags, "cat one").expect_code(0).prints("changed");
    ask(&place, "snapshot fork before --session other").expect_code(125).says("already");
    let listed = ask(&place, "snapshot list");
    listed.expect_code(0).prints("before  session");
    // A review finds what it would have found.
    let diff = ask(&place, "diff other --name-only");
    assert!(diff.stdout.contains("d/e/new") && diff.stdout.contains("gone"), "{}", diff.stdout);
    ask(&place, "snapshot rm before").expect_code(0);
    ask(&place, "snapshot rm before").expect_code(1).says("there is no snapshot");
    ask(&place, "snapshot save x --session none").expect_code(1).says("there is no session");
}

/// A16: an archive is put into scratch alone, whatever it has, and one that leads out is refused.
#[test]
fn an_archive_is_put_into_scratch() {
    if !has("tar") {
        return;
    }
    let place = Place::new();
    place
        .shell(&["--session", "work"], "mkdir /scratch/d; echo kept > /scratch/d/f")
        .expect_code(0);
    ask(&place, "snapshot save one --session work").expect_code(0);
    let file = place.outside().join("one.tar");
    place.ask(["snapshot", "export", "one", file.to_str().unwrap()]).expect_code(0);
    place.ask(["snapshot", "export", "one", file.to_str().unwrap()]).expect_code(125);
    let listed = std::process::Command::new("tar").arg("-tf").arg(&file).output().unwrap();
    assert!(String::from_utf8(listed.stdout).unwrap().contains("./scratch/d/f"));
    place.ask(["snapshot", "import", file.to_str().unwrap(), "two"]).expect_code(0);
    ask(&place, "snapshot fork two --session new").expect_code(0);
    place.shell(&["--session", "new"], "cat /scratch/scratch/d/f").expect_code(0).prints("kept");
    let mut hostile = fs::read(&file).unwrap();
    // The name of the first directory in it leads out.
    let at = hostile.windows(9).position(|name| name == b"./scratch").unwrap();
    hostile[at..at + 9].copy_from_slice(b"../cratch");
    fs::write(&file, hostile).unwrap();
    place.ask(["snapshot", "import", file.to_str().unwrap(), "three"]).expect_code(125);
    let listed = ask(&place, "snapshot list --json");
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let of: Vec<_> = listed.as_array().unwrap().iter().map(|one| one["of"].as_str()).collect();
    assert_eq!(of, [Some("archive"), Some("session")]);
}

/// A16: nobody may be in a session that is saved or replaced.
#[test]
fn a_session_in_use_stays() {
    let place = Place::new();
    place.shell(&["--session", "work"], "echo kept > /scratch/f").expect_code(0);
    ask(&place, "snapshot save one --session work").expect_code(0);
    let mut command = place.stockade();
    command.args(["run", "--session", "work", "--", "sh", "-c", "echo here; read line"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut here = [0; 4];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut here).unwrap();
    ask(&place, "snapshot save two --session work")
        .expect_code(125)
        .says("still in use")
        .says("`stockade run --session work`");
    ask(&place, "snapshot restore one --session work").expect_code(125).says("still in use");
    drop(child.stdin.take());
    child.wait().unwrap();
    ask(&place, "snapshot restore one --session work").expect_code(0);
    place.shell(&["--session", "work"], "cat /scratch/f").expect_code(0).prints("kept");
}

/// A16: a cage that runs is put to sleep with its files, and what is started in the woken session goes on with them. Its
/// processes are new ones.
#[test]
fn a_cage_sleeps_and_wakes_with_its_files() {
    let place = Place::new();
    place.write("count", "0\n");
    let script = "n=$(($(cat count) + 1)); echo $n > count; echo $$-$n > /scratch/last; echo ready $n; exec sleep 1000";
    let words = ["run", "--cow", ".", "--session", "work", "--", "sh", "-c", script];
    let sleep = |expected: &str| {
        let mut command = place.stockade();
        let mut child = command.args(words).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut ready = vec![0; expected.len()];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        assert_eq!(String::from_utf8(ready).unwrap(), expected);
        let refused = ask(&place, "snapshot save asleep --session work");
        refused.expect_code(125).says("`stockade run --session work` goes on with the same files");
        let process = i32::try_from(child.id()).unwrap();
        let process = rustix::process::Pid::from_raw(process).unwrap();
        // Once is for the program, twice ends it.
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        child.wait().unwrap();
        ask(&place, "snapshot save asleep --session work").expect_code(0);
        ask(&place, "session end work").expect_code(0);
        ask(&place, "snapshot fork asleep --session work").expect_code(0);
        ask(&place, "snapshot rm asleep").expect_code(0);
    };
    sleep("ready 1\n");
    sleep("ready 2\n");
    let look = ["--cow", ".", "--session", "work"];
    place.shell(&look, "cat count; cat /scratch/last").expect_code(0).prints("2\n");
    assert_eq!(fs::read_to_string(place.project.join("count")).unwrap(), "0\n");
}
