//! Questions about policies: `check`, `why`, `schema`, `doctor`.

use serde_json::json;

use crate::serving::Serving;

#[test]
fn a_text_is_compiled_or_its_errors_are_told() {
    let serving = Serving::new();
    let ask = |text: &str| {
        let body = json!({ "project": serving.place.project, "policy": text, "argv": ["make"] });
        serving.post("/v1/policy/check", &body)
    };
    let good = ask("version = 1\n[cage.default]\nfs = [{ rw = \".\" }]\n").expect(200);
    assert!(good["summary"].as_str().unwrap().contains("rw:"), "{}", good["summary"]);
    assert_eq!(good["plan"]["start"]["argv"][0], "make");
    let bad = ask("version = 1\n[cage.default]\nfs = [{ rwx = \".\" }]\n");
    let message = bad.refused(422, "policy_syntax");
    assert!(message.contains("stockade.toml:3") && message.contains("rwx"), "{message}");
    assert_eq!(bad.expect(422)["diagnostics"]["errors"][0]["line"], 3);
    // No file has this text, so that there is nothing to approve yet.
    let beyond = ask("version = 1\n[cage.default]\nnet.allow = [\"example.com\"]\n");
    beyond.refused(403, "not_approved");
    let help = beyond.expect(403)["help"][0].as_str().unwrap().to_owned();
    assert!(
        help.contains("write the text to that file") && help.contains("stockade allow"),
        "{help}"
    );
    // The file itself is checked where no text is given; the built-in policy where there is none.
    let body = json!({ "project": serving.place.project });
    let built_in = serving.post("/v1/policy/check", &body).expect(200);
    assert!(built_in["summary"].as_str().unwrap().contains("ro:"));
}

/// The daemon's answer is that of the command.
#[test]
fn check_and_why_answer_as_the_command_line_does() {
    let serving = Serving::new();
    serving.place.default_cage("fs = [{ rw = \".\" }]\nnet.allow = [\"example.com\"]");
    assert!(serving.place.stockade().args(["allow", "--yes"]).output().unwrap().status.success());
    let body = json!({ "project": serving.place.project, "argv": ["true"] });
    let served = serving.post("/v1/policy/check", &body).expect(200);
    let output = serving.place.stockade().args(["check", "--json", "true"]).output().unwrap();
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(served["hash"], printed["hash"]);
    let questions = [
        (json!({ "path": "." }), vec!["why", "--json", "."]),
        (json!({ "path": "/root/x" }), vec!["why", "--json", "/root/x"]),
        (json!({ "host": "example.com:443" }), vec!["why", "--json", "--host", "example.com:443"]),
        (json!({ "host": "example.org" }), vec!["why", "--json", "--host", "example.org"]),
        (json!({ "syscall": "ptrace" }), vec!["why", "--json", "--syscall", "ptrace"]),
        (json!({ "variable": "PATH" }), vec!["why", "--json", "--env", "PATH"]),
    ];
    for (mut question, words) in questions {
        question["project"] = json!(serving.place.project);
        let served = serving.post("/v1/policy/why", &question).expect(200);
        let output = serving.place.stockade().args(words).output().unwrap();
        let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(served["answer"], printed, "{question}");
        assert_eq!(served["yes"], output.status.success(), "{question}");
    }
}

/// The command line of bubblewrap is that which the command prints.
#[test]
fn a_cage_is_told_as_a_bubblewrap_command_line() {
    let serving = Serving::new();
    let mut body = json!({ "project": serving.place.project, "argv": ["true"], "bwrap": true });
    let served = serving.post("/v1/policy/check", &body).expect(200)["bwrap"].clone();
    let output =
        serving.place.stockade().args(["check", "--format", "bwrap", "true"]).output().unwrap();
    let without_name = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains("stockade-"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("bwrap"), "{printed}");
    assert_eq!(without_name(served["text"].as_str().unwrap()), without_name(&printed));
    let noted = String::from_utf8(output.stderr).unwrap();
    for gap in served["gaps"].as_array().unwrap() {
        assert!(noted.contains(gap.as_str().unwrap()), "{gap}: {noted}");
    }
    body["bwrap"] = json!(false);
    assert_eq!(serving.post("/v1/policy/check", &body).expect(200)["bwrap"], json!(null));
    for wrong in [json!("true"), json!(1), json!(null), json!([])] {
        body["bwrap"] = wrong;
        serving.post("/v1/policy/check", &body).refused(400, "bad_request");
    }
}

/// A cage that keeps `/scratch` is looked at without keeping anything.
#[test]
fn a_look_at_scratch_leaves_nothing() {
    let serving = Serving::new();
    serving.place.default_cage("state = \"scratch\"");
    let body = json!({ "project": serving.place.project });
    serving.post("/v1/policy/check", &body).expect(200);
    let body = json!({ "project": serving.place.project, "path": "/scratch" });
    assert_eq!(serving.post("/v1/policy/why", &body).expect(200)["yes"], true);
    assert_eq!(serving.get("/v1/sessions")["sessions"], json!([]));
}

#[test]
fn a_question_has_to_be_one() {
    let serving = Serving::new();
    let project = &serving.place.project;
    for body in [
        json!({ "project": project }),
        json!({ "project": project, "path": ".", "host": "a.b" }),
        json!({ "project": project, "syscall": "no_such_call" }),
        json!({ "path": "." }),
    ] {
        serving.post("/v1/policy/why", &body).refused(400, "bad_request");
    }
}

#[test]
fn the_schema_and_the_layers_are_told() {
    let serving = Serving::new();
    let schema = serving.get("/v1/policy/schema");
    assert!(schema["properties"]["cage"].is_object(), "{schema}");
    assert_ne!(serving.get("/v1/policy/schema?user=true"), schema);
    let doctor = serving.get("/v1/doctor");
    assert_eq!(doctor["can_build_cages"], true, "{doctor:#}");
    let last = doctor["layers"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["state"], "present", "{last:#}");
}
