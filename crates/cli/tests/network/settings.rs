//! What a policy and a user's configuration say beyond what is allowed: denials with reasons, where
//! names are asked, and a proxy that is the only way out.

use std::fs;

use super::support::Ended;
use super::world::World;

/// T38, K189, K211, K220: an entry that denies wins, and its reason reaches the client and the report.
#[test]
fn denials_win_and_give_their_reason() {
    let Some(world) = World::new() else { return };
    world.configure(
        "[cage.reasons]\nfs = [{ rw = \".\" }]\nnet.allow = [\"web.example\", \"**.web.example\"]\n\
         net.deny = [\"deep.sub.web.example\"]\n\
         net.reasons = { \"deep.sub.web.example\" = \"ask the shallow one\" }",
    );
    let run = |line: &str| world.run(&["--cage", "reasons"], &["sh", "-c", line]);
    run("curl -sSf -m 10 http://sub.web.example/").works();
    let refused = run("curl -sS -m 10 -D - http://deep.sub.web.example/; exit 3");
    refused.is_refused("deep.sub.web.example", 80);
    refused.prints("403").prints("X-Stockade-Reason: ").prints("ask the shallow one");
    let denials = refused.denials();
    let told = denials.iter().any(|denial| denial.to_string().contains("ask the shallow one"));
    assert!(told, "{denials:?}");
    assert!(refused.report()["network"]["denied"].as_u64() >= Some(1));
}

/// K69: without a setting, names are asked where the host asks.
#[test]
fn the_hosts_own_resolver() {
    let Some(world) = World::new() else { return };
    fs::remove_file(world.place.home.join(".config/stockade/config.toml")).unwrap();
    let mut command = world.uncaged(super::support::stockade_binary().to_str().unwrap());
    command.args(["run", "--net", "web.example", "--", "curl", "-sSf", "-m", "10"]);
    let ended = Ended::of(command.arg("http://web.example/").output().unwrap());
    ended.expect_code(0).prints("hello from web.example");
    assert!(world.names_asked().contains(&"web.example".to_owned()));
}

/// Connections leave through the user's own proxy, which is told its password and the names,
/// and never hears of what is refused.
#[test]
fn a_proxy_as_the_only_egress() {
    let Some(world) = World::new() else { return };
    world.configure("proxy = \"http://user:pass@203.0.113.2:3129\"");
    for run in [World::shell, World::shell_without_proxy] {
        let get = |host: &str| format!("curl -sSf -m 10 https://{host}/");
        run(&world, &["web.example"], &get("web.example")).works().prints("hello from");
        run(&world, &["web.example"], &get("other.example")).name_is_refused("other.example");
    }
    let seen = world.seen("far");
    let proxied: Vec<_> = seen.iter().filter(|line| line["what"] == "proxied").collect();
    assert!(proxied.len() >= 2, "{seen:?}");
    for line in &proxied {
        assert_eq!(line["authorization"], "Basic dXNlcjpwYXNz", "{line}");
        let target = line["target"].as_str().unwrap();
        assert!(!target.contains("other.example"), "{line}");
    }
}
