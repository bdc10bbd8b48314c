//! Reviews over the API: workspaces, changes, apply, discard and undo, with the same outcome as the commands.

use std::fs;

use serde_json::json;

use crate::overlay::{begin, cage};
use crate::serving::{Serving, has};

/// K280, K282, K284, K285: the whole way over HTTP.
#[test]
fn a_session_is_reviewed_over_the_api() {
    if !has("unshare") {
        return;
    }
    let serving = Serving::new();
    let project = &serving.place.project;
    for (name, text) in [("a", "a\n"), ("b", "b\n"), ("c", "c\n")] {
        fs::write(project.join(name), text).unwrap();
    }
    let area = begin(&serving.place.state().join("stockade"), "work", project);
    let script = "for f in a b c; do echo new > $f; done; mkdir .vscode; echo 1 > .vscode/tasks.json; mkfifo fifo";
    cage(serving.place.root(), project, &area, script);
    let listed = serving.get("/v1/sessions/work/workspaces");
    let path = project.to_str().unwrap();
    assert_eq!(listed["workspaces"][0]["path"], path);
    assert_eq!(listed["workspaces"][0]["changes"], 6);
    let changes = serving.get("/v1/sessions/work/changes");
    let workspace = &changes["workspaces"][0];
    assert_eq!(
        (&workspace["in_use"], &workspace["refused"][0]["path"]),
        (&json!(false), &json!("fifo"))
    );
    assert!(workspace["changes"][0]["diff"].is_null());
    let one = serving.get("/v1/sessions/work/changes?path=a&diff=true");
    let changed = one["workspaces"][0]["changes"].as_array().unwrap();
    assert_eq!(changed.len(), 1);
    assert!(changed[0]["diff"].as_str().unwrap().contains("-a\n+new\n"));
    let dry = json!({ "dry_run": true });
    let dry = serving.post("/v1/sessions/work/apply", &dry).expect(200);
    assert_eq!(
        (&dry["dry_run"], fs::read_to_string(project.join("a")).unwrap()),
        (&json!(true), "a\n".into())
    );
    fs::write(project.join("b"), "host\n").unwrap();
    let applied = serving.post("/v1/sessions/work/apply", &json!({})).expect(200);
    let applied = &applied["workspaces"][0];
    assert_eq!(applied["applied"], json!(["a", "c"]));
    assert_eq!(applied["conflicts"][0]["path"], "b");
    assert_eq!(applied["held"].as_array().unwrap().last().unwrap()["path"], ".vscode/tasks.json");
    assert_eq!(fs::read_to_string(project.join("b")).unwrap(), "host\n");
    let undone = serving.post("/v1/sessions/work/undo", &json!({})).expect(200);
    assert_eq!(undone["workspaces"][0]["path"], path);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "a\n");
    serving.post("/v1/sessions/work/undo", &json!({})).refused(404, "not_found");
    let wishes = json!({ "workspace": path, "paths": ["b"], "overwrite": ["b"], "confirm": [], "merge": true });
    serving.post("/v1/sessions/work/apply", &wishes).expect(200);
    assert_eq!(fs::read_to_string(project.join("b")).unwrap(), "new\n");
    let confirmed = json!({ "paths": [".vscode"], "confirm": [".vscode/tasks.json"] });
    serving.post("/v1/sessions/work/apply", &confirmed).expect(200);
    assert!(project.join(".vscode/tasks.json").exists());
    // A program in it keeps it as it is.
    let locked = fs::File::open(&area).unwrap();
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(serving.get("/v1/sessions/work/changes")["workspaces"][0]["in_use"], true);
    serving.post("/v1/sessions/work/apply", &json!({})).refused(409, "conflict");
    serving.post("/v1/sessions/work/discard", &json!({ "all": true })).refused(409, "conflict");
    drop(locked);
    serving.post("/v1/sessions/work/discard", &json!({ "paths": ["a"] })).expect(200);
    serving.post("/v1/sessions/work/discard", &json!({ "all": true })).expect(200);
    let left = serving.get("/v1/sessions/work/changes");
    assert_eq!(left["workspaces"][0]["changes"], json!([]));
    assert_eq!(fs::read_to_string(project.join("c")).unwrap(), "c\n");
    let events = serving.get("/v1/audit?event=workspace");
    let events = events["records"].as_array().unwrap();
    let intents = events.iter().filter(|record| record["event"] == "workspace.intent").count();
    assert_eq!((intents, events.len()), (6, 12), "{events:#?}");
}

/// What makes no sense is refused, and nothing is guessed.
#[test]
fn wrong_requests_change_nothing() {
    if !has("unshare") {
        return;
    }
    let serving = Serving::new();
    let project = &serving.place.project;
    fs::write(project.join("a"), "a\n").unwrap();
    serving.ask("GET", "/v1/sessions/none/workspaces", None).refused(404, "not_found");
    serving.ask("GET", "/v1/sessions/none/changes", None).refused(404, "not_found");
    serving.post("/v1/sessions", &json!({ "id": "plain" })).expect(201);
    serving.ask("GET", "/v1/sessions/plain/changes", None).refused(404, "not_found");
    assert_eq!(serving.get("/v1/sessions/plain/workspaces")["workspaces"], json!([]));
    let state = serving.place.state().join("stockade");
    let area = begin(&state, "work", project);
    cage(serving.place.root(), project, &area, "echo new > a");
    let other = serving.place.home.join("other");
    fs::create_dir(&other).unwrap();
    begin(&state, "work", &other);
    for body in [
        json!({}),
        json!({ "workspace": project, "paths": ["../a"] }),
        json!({ "workspace": project, "paths": ["/etc/passwd"] }),
        json!({ "workspace": project, "path": "a" }),
    ] {
        serving.post("/v1/sessions/work/apply", &body).refused(400, "bad_request");
    }
    let elsewhere = json!({ "workspace": "/etc" });
    serving.post("/v1/sessions/work/apply", &elsewhere).refused(404, "not_found");
    serving
        .ask("GET", "/v1/sessions/work/changes?workspace=%2Fetc", None)
        .refused(404, "not_found");
    serving.ask("GET", "/v1/sessions/work/changes?path=..", None).refused(400, "bad_request");
    let nothing = json!({ "workspace": project, "paths": ["b"] });
    serving.post("/v1/sessions/work/apply", &nothing).refused(404, "not_found");
    for body in [json!({ "workspace": project }), json!({ "all": true, "paths": ["a"] })] {
        serving.post("/v1/sessions/work/discard", &body).refused(400, "bad_request");
    }
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "a\n");
    let applied = json!({ "workspace": project });
    serving.post("/v1/sessions/work/apply", &applied).expect(200);
}
