//! `stockade check`: the compiled cage without running anything.

use super::support::Place;

/// K57, K221
#[test]
fn for_a_person() {
    let place = Place::new();
    place.write("secrets/key", "x");
    place.default_cage("fs = [{ ro = \".\" }, { hide = \"secrets\" }]");
    let ended = place.ask(["check"]);
    ended.expect_code(0).prints("read-only").prints("hidden").prints("/usr").prints("loopback");
    ended.prints("summary     cage[default@");
    let ended = place.ask(["check", "--", "sh", "-c", "echo 'x y'"]);
    ended.expect_code(0).prints("sh -c");
}

/// Text is shown as text: letters of any script, and the ends of lines as they are written.
#[test]
fn text_is_shown_as_text() {
    let place = Place::new();
    let line = "echo \u{fc}ber\n\techo 'x'\u{202e}";
    let words = ["--env", "GREETING=gr\u{fc}\u{df}e\nund mehr", "--", "sh", "-c", line];
    let ended = place.ask([&["check"][..], &words].concat());
    ended.expect_code(0).prints("GREETING=gr\u{fc}\u{df}e\\nund mehr");
    ended.prints("sh -c $'echo \u{fc}ber\\n\\techo \\'x\\'\\xe2\\x80\\xae'");
    let ended = place.ask([&["check", "--format", "bwrap"][..], &words].concat());
    ended.expect_code(0).prints("--setenv GREETING $'gr\u{fc}\u{df}e\\nund mehr'");
    let ended = place.ask([&["check", "--json"][..], &words].concat());
    let value: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(value["plan"]["start"]["argv"][1], "-c");
    let variables = value["plan"]["walls"]["environment"].as_array().unwrap();
    let greeting = variables.iter().find(|one| one["name"] == "GREETING").unwrap();
    assert_eq!(greeting["value"], "gr\u{fc}\u{df}e\nund mehr");
}

/// K25, K57, K70: what is reached, in both directions, and by which way out.
#[test]
fn the_network_section() {
    let place = Place::new();
    let flags = ["--net", "b.example,a.example:443", "--host-port=5432", "--publish", "8080"];
    let ended = place.ask([&["check"], &flags[..]].concat());
    ended.expect_code(0).prints("allowed     a.example:443").prints("allowed     b.example");
    ended.prints("host port   5432").prints("published   8080");
    ended.prints("HTTPS_PROXY=http://127.0.0.1:3128").prints("all_proxy=socks5h://127.0.0.1:1080");
    let ended = place.ask([&["check", "--json"], &flags[..]].concat());
    let value: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(value["plan"]["walls"]["network"]["host_ports"], serde_json::json!([5432]));
    let line = value["summary"].as_str().unwrap();
    assert!(line.contains(" net=a.example:443,b.example,host[5432],publish[8080] "), "{line}");
    let configuration = place.home.join(".config/stockade");
    std::fs::create_dir_all(&configuration).unwrap();
    let text = "version = 1\n[network]\nresolvers = [\"10.0.0.2\"]\nproxy = \"http://u:secret@proxy.corp:3128\"\n";
    std::fs::write(configuration.join("config.toml"), text).unwrap();
    let ended = place.ask([&["check"], &flags[..]].concat());
    ended.expect_code(0).says("proxy `proxy.corp`, port 3128").says("`10.0.0.2:53`");
    assert!(!ended.stderr.contains("secret") && !ended.stdout.contains("proxy.corp"));
    let closed = place.ask(["check"]);
    assert!(closed.prints("loopback and nothing else").stderr.is_empty(), "{}", closed.stderr);
}

/// K27, K30, K241
#[test]
fn as_json_it_is_the_plan_that_would_run() {
    let place = Place::new();
    let hash = |ended: &super::support::Ended| -> (String, serde_json::Value) {
        let value: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        (value["hash"].as_str().unwrap().to_owned(), value["plan"].clone())
    };
    let (first, plan) = hash(&place.ask(["check", "--json", "--", "true"]));
    let (second, _) = hash(&place.ask(["check", "--format", "json", "--", "true"]));
    assert_eq!(first, second);
    assert_eq!(plan["start"]["argv"][0], "true");
    let ran = place.ask(["run", "--json", "--", "true"]);
    let ran: serde_json::Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(ran["plan_hash"], serde_json::json!(first));
}

/// K1, K24, K33, K35, K39, K40, K43, K44
#[test]
fn as_a_bubblewrap_command_line() {
    let place = Place::new();
    let ended = place.ask(["check", "--format", "bwrap", "--", "true"]);
    ended
        .expect_code(0)
        .prints("--unshare-user")
        .prints("--die-with-parent")
        .prints("--new-session");
    ended.prints(&format!("--ro-bind {0} {0}", place.project.display()));
    ended.says("bubblewrap:");
    // The words are those that a shell would take.
    let line = format!("set -- {}; echo $#", ended.stdout.trim());
    let shell = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
    assert!(shell.status.success());
}

/// K11
#[test]
fn a_policy_that_cannot_be_used_is_refused_here_too() {
    let place = Place::new();
    place.default_cage("fs = [{ ro = \"missing\" }]");
    place.ask(["check"]).expect_code(123).says("it does not exist");
}

/// K11: whoever asked for JSON gets the error as JSON as well, and a person still the text.
#[test]
fn an_error_is_told_in_the_form_that_was_asked_for() {
    let place = Place::new();
    place.policy("version = 1\n[cage.default]\nsf = []\n");
    for words in [&["check", "--json"][..], &["check", "--format", "json"], &["why", "x", "--json"]]
    {
        let ended = place.ask(words);
        ended.expect_code(123).says("unknown word `sf`").says("cannot be used");
        let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(told["exit_code"], 123, "{words:?}");
        assert_eq!(told["error"]["code"], "policy_syntax", "{words:?}");
        assert!(told["error"]["message"].as_str().unwrap().contains("unknown word `sf`"));
        let diagnostics = &told["error"]["diagnostics"];
        assert!(diagnostics["file"].as_str().unwrap().ends_with("stockade.toml"), "{diagnostics}");
        let error = &diagnostics["errors"][0];
        assert_eq!((&error["line"], &error["column"]), (&3.into(), &1.into()), "{diagnostics}");
        assert_eq!(error["label"], "did you mean `fs`?");
    }
    assert_eq!(place.ask(["check"]).expect_code(123).stdout, "");
    place.policy("version = 1\n[cage]\ndefault = \"disabled\"\n");
    let ended = place.ask(["check", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&ended.expect_code(125).stdout).unwrap();
    assert_eq!(told["error"]["code"], "not_approved");
    assert_eq!(told["error"].get("diagnostics"), None);
    assert!(told["error"]["help"][0].as_str().unwrap().contains("stockade allow"));
}
