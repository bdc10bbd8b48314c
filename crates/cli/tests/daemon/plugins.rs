//! Plugins over the API: cages from capabilities, and never without one.

use serde_json::{Value, json};

use crate::serving::{Place, Serving};

fn plugin(serving: &Serving, capabilities: Value, line: &str) -> Value {
    let mut request = serving.shell(line);
    request["capabilities"] = capabilities;
    request
}

/// K207, K208
#[test]
fn a_plugin_has_what_it_was_given() {
    let serving = Serving::new();
    let project = &serving.place.project;
    std::fs::create_dir_all(project.join("data")).unwrap();
    std::fs::create_dir_all(project.join("out")).unwrap();
    std::fs::write(project.join("data/in"), "hello").unwrap();
    std::fs::write(project.join("secret"), "hidden").unwrap();
    // The policy's own cage has more, and is not the plugin's.
    serving.place.default_cage("fs = [{ rw = \".\" }]");
    let words = json!(["read:fs:data", "write:fs:out", "exec:cat", "exec:ls"]);
    let line = "cat data/in > out/copy; cat secret; echo x > data/new; ls /usr/bin";
    let id = serving.spawn(&plugin(&serving, words.clone(), line));
    serving.wait(&id);
    assert_eq!(std::fs::read_to_string(project.join("out/copy")).unwrap(), "hello");
    assert!(!project.join("data/new").exists());
    let output = serving.output(&id, "stdout");
    assert!(output.contains("cat") && !output.contains("python3"), "{output}");
    assert!(!output.contains("hidden"), "{output}");
    // The same cage as the command's.
    let body = json!({ "project": project, "capabilities": words, "argv": ["true"] });
    let served = serving.post("/v1/policy/check", &body).expect(200);
    let flags = words.as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let mut command = serving.place.stockade();
    command.args(["check", "--json"]).args(flags.flat_map(|word| ["--capability", word]));
    let printed = command.arg("true").output().unwrap().stdout;
    let printed: Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(served["hash"], printed["hash"]);
    let mut question = json!({ "project": project, "capabilities": words });
    question["path"] = json!("secret");
    assert_eq!(serving.post("/v1/policy/why", &question).expect(200)["yes"], false);
    question["path"] = json!("data/in");
    assert_eq!(serving.post("/v1/policy/why", &question).expect(200)["yes"], true);
}

/// K208: the ceiling holds, and neither the project's file nor a text in its place raises it.
#[test]
fn a_plugin_stays_under_the_ceiling() {
    let serving = Serving::new();
    let project = &serving.place.project;
    let check = |word: &str| {
        let body = json!({ "project": project, "capabilities": [word] });
        serving.post("/v1/policy/check", &body)
    };
    check("net:example.com:443").refused(403, "beyond_ceiling");
    check("read:fs:/opt").refused(403, "beyond_ceiling");
    check("read:fs:../..").refused(422, "policy_invalid");
    let text = "version = 1\n[ceiling]\nnet.allow = [\"example.com:443\"]\n";
    let body = json!({
        "project": project, "capabilities": ["net:example.com:443"], "policy": text,
    });
    serving.post("/v1/policy/check", &body).refused(400, "bad_request");
    serving.place.configuration(text);
    check("net:example.com:443").expect(200);
    check("net:example.com:80").refused(403, "beyond_ceiling");
    let message = check("raed:fs:src").refused(422, "policy_invalid");
    assert!(message.contains("did you mean `read:fs:src`?"), "{message}");
}

/// K209: a list that says nothing, or something else beside, starts nothing.
#[test]
fn a_plugin_is_always_caged_and_never_something_else() {
    let serving = Serving::new();
    serving.place.configuration("version = 1\n[cage]\nopen = \"disabled\"\n");
    let start =
        |capabilities: Value| serving.post("/v1/cages", &plugin(&serving, capabilities, "true"));
    for wrong in [json!([]), json!(null), json!("exec:git"), json!([5]), json!({})] {
        start(wrong).refused(400, "bad_request");
    }
    for word in ["disabled", "uncaged", "*"] {
        let message = start(json!([word])).refused(422, "policy_invalid");
        assert!(message.contains("a plugin is always caged"), "{message}");
    }
    for beside in ["cage", "agent", "policy"] {
        let mut request = plugin(&serving, json!(["exec:git"]), "true");
        request[beside] = json!("open");
        serving.post("/v1/cages", &request).refused(400, "bad_request");
    }
    assert_eq!(serving.get("/v1/cages")["cages"], json!([]));
    let open = Place::new().serving(&["--no-sandbox"]);
    let request = plugin(&open, json!(["exec:sh"]), "touch x");
    open.post("/v1/cages", &request).refused(403, "uncaged_not_allowed");
    assert!(!open.place.project.join("x").exists());
}
