//! Approving the text of a project's file over the API.

use serde_json::json;

use crate::serving::Serving;

/// T50: what is approved is the text that was read, and nothing else.
#[test]
fn a_text_is_approved_by_its_hash() {
    let serving = Serving::new();
    let place = &serving.place;
    let path = format!("/v1/policy/approval?project={}", place.project.display());
    serving.ask("GET", &path, None).refused(404, "not_found");
    place.default_cage("net.allow = [\"example.com\"]");
    let approval = serving.get(&path);
    assert_eq!((&approval["needed"], &approval["approved"]), (&json!(true), &json!(false)));
    assert!(approval["asked_beyond_ceiling"]["default"][0].is_string(), "{approval:#}");
    serving.post("/v1/cages", &serving.shell("true")).refused(403, "not_approved");
    let put = |hash: &str| {
        let body = json!({ "project": place.project, "sha256": hash });
        serving.ask("PUT", "/v1/policy/approval", Some(&body))
    };
    put(&"0".repeat(64)).refused(409, "conflict");
    assert_eq!(put(approval["sha256"].as_str().unwrap()).expect(200)["approved"], true);
    serving.wait(&serving.spawn(&serving.shell("true")));
    // Another text is another matter.
    place.default_cage("net.allow = [\"example.org\"]");
    serving.post("/v1/cages", &serving.shell("true")).refused(403, "not_approved");
    assert_eq!(serving.ask("DELETE", &path, None).expect(200)["removed"], true);
    assert_eq!(serving.ask("DELETE", &path, None).expect(200)["removed"], false);
    serving.ask("GET", "/v1/policy/approval", None).refused(400, "bad_request");
    serving.ask("GET", "/v1/policy/approval?project=x", None).refused(400, "bad_request");
}
