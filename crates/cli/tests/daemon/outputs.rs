//! What programs write and read: by position, as it comes, with bounds.

use std::process::Stdio;

use serde_json::json;

use crate::serving::{Serving, eventually, has, read_until, rest_of};

/// K16, K238
#[test]
fn output_is_read_by_position() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("printf 0123456789"));
    serving.wait(&id);
    let read = |query: &str| {
        let path = format!("/v1/cages/{id}/logs/stdout?{query}");
        serving.ask("GET", &path, None)
    };
    for (query, text) in [
        ("", "0123456789"),
        ("offset=3", "3456789"),
        ("offset=3&limit=2", "34"),
        ("tail=4", "6789"),
        ("offset=10", ""),
        ("offset=99", ""),
        ("limit=0", ""),
        ("follow=true", "0123456789"),
    ] {
        assert_eq!(read(query).text(200), text, "{query}");
    }
    assert!(read("offset=3").headers.contains("stockade-offset: 3"));
    assert!(read("").headers.contains("stockade-total: 10"));
    read("offset=1&tail=1").refused(400, "bad_request");
    read("offset=x").refused(400, "bad_request");
    read("ofset=1").refused(400, "bad_request");
    let path = format!("/v1/cages/{id}/logs/stdin");
    serving.ask("GET", &path, None).refused(404, "not_found");
}

/// A follower hears what is written when it is written, and the end.
#[test]
fn output_is_followed() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let mut request = serving.shell("echo one; read word; echo \"two $word\"");
    request["stdin"] = json!("pipe");
    let id = serving.spawn(&request);
    let url = format!("http://stockade/v1/cages/{id}/logs/stdout?follow=true");
    let mut curl = serving.curl().args(["-N", &url]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = curl.stdout.take().unwrap();
    read_until(&mut output, "one\n");
    let sent =
        serving.curl().args(["--data-binary", "word\n"]).arg(stdin_of(&id)).output().unwrap();
    assert_eq!(sent.stdout, b"{\"written\":5}");
    assert_eq!(rest_of(&mut output), "two word\n");
    assert!(curl.wait().unwrap().success());
}

fn stdin_of(id: &str) -> String {
    format!("http://stockade/v1/cages/{id}/stdin")
}

/// A large input goes through while it is read, and ends.
#[test]
fn input_of_any_size_is_written_and_closed() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let mut request = serving.shell("wc -c");
    request["stdin"] = json!("pipe");
    let id = serving.spawn(&request);
    let large = serving.place.root().join("large");
    std::fs::write(&large, vec![b'x'; 5_000_000]).unwrap();
    let data = format!("@{}", large.display());
    let url = format!("{}?close=true", stdin_of(&id));
    let sent = serving.curl().args(["--data-binary", &data, &url]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&sent.stdout), "{\"written\":5000000}");
    serving.wait(&id);
    assert_eq!(serving.output(&id, "stdout").trim(), "5000000");
    let path = format!("/v1/cages/{id}/stdin");
    serving.post(&path, &json!("more")).refused(409, "conflict");
    // Without a pipe there is nothing to write to.
    let id = serving.spawn(&serving.shell("cat; sleep 5"));
    serving.post(&format!("/v1/cages/{id}/stdin"), &json!("x")).refused(409, "conflict");
}

/// K238: what is kept is bounded, and what is gone is told.
#[test]
fn a_flood_keeps_its_end() {
    let serving = Serving::new();
    let mut request = serving.shell("head -c 3000000 /dev/zero | tr '\\0' x; printf END");
    request["output"] = json!({ "bytes": 1000 });
    let id = serving.spawn(&request);
    let cage = serving.wait(&id);
    assert_eq!(cage["stdout"]["end"], 3_000_003, "{cage:#}");
    let answer = serving.ask("GET", &format!("/v1/cages/{id}/logs/stdout"), None);
    assert!(answer.text(200).ends_with("xEND"), "{}", answer.body.len());
    assert!(answer.body.len() <= 1000, "{}", answer.body.len());
    let dropped = format!("stockade-dropped: {}", 3_000_003 - answer.body.len());
    assert!(answer.headers.contains(&dropped), "{}", answer.headers);
}

/// K238: with back-pressure nothing is lost; the program waits for its reader, and others do not.
#[test]
fn a_slow_reader_holds_up_only_what_was_to_wait_for_it() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let flood = "head -c 3000000 /dev/zero; echo done >&2";
    let mut request = serving.shell(flood);
    request["output"] = json!({ "bytes": 4096, "overflow": "backpressure" });
    let waits = serving.spawn(&request);
    request["output"] = json!({ "bytes": 4096, "overflow": "discard" });
    let goes_on = serving.spawn(&request);
    let url = |id: &str| format!("http://stockade/v1/cages/{id}/logs/stdout?follow=true");
    // A client that connects and reads nothing.
    let mut idle =
        serving.curl().args(["-N", &url(&goes_on)]).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(serving.wait(&goes_on)["end"]["exit_code"], 0);
    let cage = serving.get(&format!("/v1/cages/{waits}/wait?timeout_ms=300"));
    assert_eq!(cage["state"], "running");
    // The test's own reader takes everything, from the first byte to the last.
    let read = serving.curl().args(["-N", &url(&waits)]).output().unwrap();
    assert_eq!(read.stdout.len(), 3_000_000);
    assert_eq!(serving.wait(&waits)["end"]["exit_code"], 0);
    let _ended = idle.kill();
    let _reaped = idle.wait();
}

/// A reader who falls behind what is kept is cut off and not lied to.
#[test]
fn a_follower_who_fell_behind_is_cut_off() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let mut request =
        serving.shell("echo first; read go; head -c 20000000 /dev/zero; echo last; sleep 0.2");
    request["stdin"] = json!("pipe");
    request["output"] = json!({ "bytes": 65536 });
    let id = serving.spawn(&request);
    let url = format!("http://stockade/v1/cages/{id}/logs/stdout?follow=true");
    let mut curl = serving.curl().args(["-N", &url]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = curl.stdout.take().unwrap();
    read_until(&mut output, "first\n");
    serving.post(&format!("/v1/cages/{id}/stdin"), &json!("go\n"));
    serving.post(&format!("/v1/cages/{id}/stdin?close=true"), &json!("\n"));
    eventually("the flood is over", || {
        serving.get(&format!("/v1/cages/{id}"))["stdout"]["end"].as_u64().unwrap() > 20_000_000
    });
    // The pipe between curl and this test holds less than the flood, so curl was held up.
    let rest = rest_of(&mut output);
    assert!(rest.len() < 20_000_000 && !rest.contains("last"), "{}", rest.len());
    curl.wait().unwrap();
}
