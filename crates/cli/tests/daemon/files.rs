//! Files of sessions over the API, with the same answers as the command; and cages with mounts.

use std::fs;

use serde_json::json;

use crate::overlay::{begin, cage};
use crate::serving::{Place, Serving, has};

/// A9: list, look, read, write, make, remove and several at once, each refusal with a kind of its own.
#[test]
fn files_of_a_session_are_worked_with_over_the_api() {
    if !has("unshare") {
        return;
    }
    let serving = Serving::new();
    let project = &serving.place.project;
    fs::write(project.join("a"), "host\n").unwrap();
    let area = begin(&serving.place.state().join("stockade"), "work", project);
    cage(serving.place.root(), project, &area, "echo cage > a; mkdir d; ln -s /etc/passwd out");
    let at = |what: &str| format!("/v1/sessions/work/{what}");
    let listed = serving.get(&at(&format!("files?path={}", project.display())));
    let names: Vec<_> = listed["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!((names, &listed["in_use"]), (vec!["a", "d", "out"], &json!(false)));
    assert!(!serving.get(&at("files?levels=9"))["entries"].as_array().unwrap().is_empty());
    let found = serving.get(&at("stat?path=out"));
    assert_eq!((&found["kind"], &found["target"]), (&json!("link"), &json!("/etc/passwd")));
    assert_eq!(serving.ask("GET", &at("file?path=a"), None).text(200), "cage\n");
    assert_eq!(serving.ask("GET", &at("file?path=a&offset=1&limit=2"), None).text(200), "ag");
    serving.ask("GET", &at("file?path=out"), None).refused(404, "not_found");
    serving.ask("GET", &at("file?path=d"), None).refused(409, "conflict");
    serving.ask("GET", &at("file"), None).refused(400, "bad_request");
    serving.ask("GET", "/v1/sessions/none/files", None).refused(404, "not_found");
    let body = json!("written");
    serving.ask("PUT", &at("file?path=d/new"), Some(&body)).expect(200);
    serving.ask("PUT", &at("file?path=d/new"), Some(&body)).refused(409, "conflict");
    serving.ask("PUT", &at("file?path=d/new&overwrite=true"), Some(&body)).expect(200);
    serving.ask("PUT", &at("file?path=/etc/x"), Some(&body)).refused(404, "not_found");
    assert_eq!(serving.ask("GET", &at("file?path=d/new"), None).text(200), "\"written\"");
    serving.post(&at("directories"), &json!({ "path": "p/q" })).refused(404, "not_found");
    serving.post(&at("directories"), &json!({ "path": "p/q", "parents": true })).expect(200);
    serving.ask("DELETE", &at("file?path=d"), None).refused(409, "conflict");
    serving.ask("DELETE", &at("file?path=d&recursive=true"), None).expect(200);
    let operations = json!({ "operations": [
        { "write": { "path": "b", "contents": "b\\xff" } },
        { "read": { "path": "b" } },
        { "read": { "path": "none" } },
        { "make_directories": { "path": "m/n" } },
        { "list": { "path": "m" } },
        { "stat": { "path": "m/n" } },
        { "remove": { "path": "m" } },
    ] });
    let done = serving.post(&at("batch"), &operations).expect(200);
    let results = done["results"].as_array().unwrap();
    assert_eq!((&results[0]["bytes"], &results[1]["contents"]), (&json!(2), &json!("b\\xff")));
    assert_eq!(results[2]["problem"]["code"], "not_found");
    assert_eq!(results[4]["entries"][0]["name"], "n");
    assert_eq!((&results[5]["entry"]["kind"], &results[6]), (&json!("directory"), &json!({})));
    // A program has it: it is read, and not written.
    let locked = fs::File::open(&area).unwrap();
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(serving.ask("GET", &at("file?path=a"), None).text(200), "cage\n");
    serving.ask("PUT", &at("file?path=late"), Some(&body)).refused(409, "conflict");
    serving.ask("PUT", &at("file?path=/scratch/late"), Some(&body)).expect(200);
    drop(locked);
    let expected = "test ! -e d && test -d p/q && test ! -e m && test -e b";
    cage(serving.place.root(), project, &area, expected);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "host\n");
}

/// A7, A11, A15: a cage of the daemon has mounts, by a rule of the request and by its policy.
#[test]
fn a_cage_of_the_daemon_has_mounts() {
    if fs::File::options().read(true).write(true).open("/dev/fuse").is_err() {
        return testing::skip("`/dev/fuse` cannot be opened");
    }
    let place = Place::new();
    place.default_cage(
        "fs = [{ rw = \".\" }]\nmounts = [{ at = \"/mnt/s\", from = \"store:data.db\", rw = true }]",
    );
    let serving = place.serving(&[]);
    let mut request =
        serving.shell("echo kept > /mnt/s/a; echo m > /mnt/m/b; cat /mnt/s/a /mnt/m/b");
    request["rules"] = json!({ "mount": ["/mnt/m=memory:"] });
    let id = serving.spawn(&request);
    let ended = serving.wait(&id);
    assert_eq!(ended["end"]["exit_code"], 0, "{ended:#} {}", serving.output(&id, "stderr"));
    assert_eq!(serving.output(&id, "stdout"), "kept\nm\n");
    // The next one begins when the store is written.
    let id = serving.spawn(&serving.shell("cat /mnt/s/a; ls /mnt"));
    assert_eq!(serving.wait(&id)["end"]["exit_code"], 0);
    assert_eq!(serving.output(&id, "stdout"), "kept\ns\n");
    let mut refused = serving.shell("true");
    refused["rules"] = json!({ "mount": ["/mnt/x=s3://bucket-of-nobody/x"] });
    let answer = serving.post("/v1/cages", &refused);
    assert!(answer.body.contains("AWS_ACCESS_KEY_ID"), "{}", answer.body);
}
