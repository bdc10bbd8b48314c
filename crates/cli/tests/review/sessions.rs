//! `stockade session list` and `session prune`: what sessions hold, and which go.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::fixture::{Reviewed, begin};
use crate::support::has;

#[test]
fn a_list_says_what_sessions_hold() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n"), ("b", "b\n")]);
    reviewed.cage("echo new > a; head -c 100000 /dev/urandom > large");
    let list = reviewed.ask(&["session", "list"]);
    list.expect_code(0).prints("work").prints("not in use").prints("KiB");
    list.prints(&format!("{}: 2 changed paths", reviewed.place.project.display()));
    reviewed.ask(&["apply", "a"]).expect_code(0);
    reviewed.ask(&["session", "list"]).prints("1 changed path, `undo` takes the last apply back");
    let json: Value =
        serde_json::from_str(&reviewed.ask(&["session", "list", "--json"]).stdout).unwrap();
    let workspace = &json[0]["workspaces"][0];
    assert_eq!((&workspace["changes"], &workspace["undo"]), (&1.into(), &true.into()));
    assert!(json[0]["bytes"].as_u64().unwrap() > 100_000, "{json:#}");
    // One whose directory is gone is in the list too.
    fs::rename(&reviewed.place.project, reviewed.place.home.join("moved")).unwrap();
    fs::create_dir(&reviewed.place.project).unwrap();
    fs::remove_dir(&reviewed.place.project).unwrap();
    let mut command = reviewed.place.stockade();
    command.current_dir(&reviewed.place.home);
    let gone = crate::support::Ended::of(command.args(["session", "list"]).output().unwrap());
    gone.expect_code(0).prints("cannot be opened");
    fs::rename(reviewed.place.home.join("moved"), &reviewed.place.project).unwrap();
}

/// Nothing that was not applied goes without being asked for.
#[test]
fn pruning_takes_what_holds_nothing_and_what_is_old() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n")]);
    reviewed.cage("echo new > a");
    let place = &reviewed.place;
    begin(place, "empty", &place.project);
    let sessions = place.state().join("stockade/sessions");
    let dry = reviewed.ask(&["session", "prune", "--dry-run"]);
    dry.expect_code(0).prints("empty").prints("would be removed: 1 session\n");
    assert!(sessions.join("empty").exists());
    let pruned = reviewed.ask(&["session", "prune", "--json"]);
    let pruned: Value = serde_json::from_str(&pruned.expect_code(0).stdout).unwrap();
    assert_eq!(pruned["removed"][0]["id"], "empty");
    assert!(!sessions.join("empty").exists() && sessions.join("work").exists());
    // Nobody has used it for long.
    reviewed.ask(&["session", "prune", "--older-than", "1d"]).prints("removed: 0 sessions");
    let users = fs::File::open(sessions.join("work/users")).unwrap();
    users.set_modified(SystemTime::now() - Duration::from_secs(3 * 86_400)).unwrap();
    let refused = reviewed.ask(&["session", "prune", "--older-than", "1d"]);
    refused.expect_code(2).says("never applied").says("--yes");
    reviewed.ask(&["session", "prune", "--older-than", "yesterday"]).expect_code(2);
    // One that is in use stays.
    let area = fs::File::open(&reviewed.area).unwrap();
    rustix::fs::flock(&area, rustix::fs::FlockOperation::LockShared).unwrap();
    let stays = reviewed.ask(&["session", "prune", "--older-than", "1d", "--yes"]);
    stays.expect_code(0).says("in use now").prints("removed: 0 sessions");
    drop(area);
    let gone = reviewed.ask(&["session", "prune", "--older-than", "1d", "--yes"]);
    gone.expect_code(0).prints("work").prints("1 changed path").prints("removed: 1 session\n");
    assert!(!sessions.join("work").exists());
    let ended = place.records().into_iter().filter(|one| one["event"] == "session.ended");
    assert_eq!(ended.count(), 2);
}
