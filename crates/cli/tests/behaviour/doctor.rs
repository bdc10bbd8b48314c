//! `stockade doctor`: the layers that hold here.

use super::support::Place;

/// K179, T56
#[test]
fn every_layer_is_told_and_a_real_cage_is_built() {
    let place = Place::new();
    let ended = place.ask(["doctor"]);
    ended.expect_code(0).prints("user namespaces").prints("seccomp").prints("landlock");
    ended.prints("network").prints("a cage was built and a program ran in it");
    let ended = place.ask(["doctor", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    for layer in value["layers"].as_array().unwrap() {
        assert!(["present", "degraded", "absent"].contains(&layer["state"].as_str().unwrap()));
        assert!(!layer["why"].as_str().unwrap().is_empty());
    }
}

/// K179, T56: where no namespace can be made, nothing runs and the reason is told.
#[test]
fn without_user_namespaces_nothing_runs() {
    let place = Place::new();
    if super::support::is_root() {
        return super::support::skip("a cage of root may be unable to read the program under test");
    }
    // Inside a cage no further one can be built.
    let binary = super::support::stockade_binary();
    let binary = std::fs::canonicalize(binary).unwrap();
    let binary = binary.to_str().unwrap();
    let inside = ["run", "--quiet", "--ro", binary, "--", binary];
    let ended = place.ask([&inside[..], &["run", "--", "echo", "ran"]].concat());
    ended.expect_code(122).says("stockade doctor");
    assert!(!ended.stdout.contains("ran"));
    let ended = place.ask([&inside[..], &["doctor"]].concat());
    ended.expect_code(122).says("this is inside the cage `default`, and no cage can be built");
    assert!(!ended.stdout.contains("ABSENT"), "{}", ended.stdout);
}
