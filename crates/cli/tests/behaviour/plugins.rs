//! Plugins: cages from capabilities, through the command.

use super::support::Place;

/// K207, K208
#[test]
fn a_plugin_has_what_it_was_given() {
    let place = Place::new();
    place.write("data/in", "hello");
    place.write("secret", "hidden");
    std::fs::create_dir(place.project.join("out")).unwrap();
    let line = "cat data/in > out/copy; cat secret; echo x > data/new; ls /usr/bin";
    let words = ["read:fs:data", "write:fs:out", "exec:cat", "exec:ls"];
    let flags = words.iter().flat_map(|word| ["--capability", word]);
    let run: Vec<&str> = ["run"].into_iter().chain(flags).chain(["--", "sh", "-c", line]).collect();
    let ended = place.ask(&run);
    assert_eq!(std::fs::read_to_string(place.project.join("out/copy")).unwrap(), "hello");
    assert!(!place.project.join("data/new").exists());
    ended.says("secret: No such file or directory").prints("cat");
    assert!(!ended.stdout.contains("python3") && !ended.stdout.contains("hidden"));
}

/// K208
#[test]
fn a_plugin_stays_under_the_ceiling() {
    let place = Place::new();
    let check = |word: &str| place.ask(["check", "--capability", word]);
    check("net:example.com:443").expect_code(125).says("capability `net:example.com:443`");
    check("read:fs:/opt").expect_code(125).says("capability `read:fs:/opt`");
    // Neither does a project's own file raise it.
    place.default_cage("net.allow = [\"example.com:443\"]");
    check("net:example.com:443").expect_code(125);
    let configuration = place.home.join(".config/stockade");
    std::fs::create_dir_all(&configuration).unwrap();
    let text = "version = 1\n[ceiling]\nnet.allow = [\"example.com:443\"]\n";
    std::fs::write(configuration.join("config.toml"), text).unwrap();
    check("net:example.com:443").expect_code(0).prints("example.com:443");
    check("net:example.com:80").expect_code(125);
}

/// K209
#[test]
fn a_plugin_is_always_caged() {
    let place = Place::new();
    place.policy("version = 1\ncage.open = \"disabled\"\n");
    for word in ["disabled", "uncaged", "*"] {
        let ended = place.ask(["run", "--capability", word, "--", "true"]);
        ended.expect_code(123).says("a plugin is always caged");
    }
    let both = ["run", "--capability", "exec:git", "--cage", "open", "--", "true"];
    place.ask(both).expect_code(2).says("cannot be used with");
    let open = ["run", "--capability", "exec:git", "--no-sandbox", "--", "true"];
    place.ask(open).expect_code(2).says("cannot be used with");
}

#[test]
fn all_errors_come_with_what_was_meant() {
    let place = Place::new();
    let words = ["check", "--capability", "raed:fs:src", "--capability", "net:example.com"];
    let ended = place.ask(words);
    ended.expect_code(123).says("did you mean `read:fs:src`?").says("`net:example.com:443`");
}
