//! TCP: only for who shows the token, and not beyond loopback unless somebody says so.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use crate::serving::{Ended, Place, has, slowly};

fn status(port: u16, authorization: Option<&str>) -> String {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-o", "/dev/null", "-w", "%{http_code}"]);
    if let Some(value) = authorization {
        curl.args(["-H", &format!("Authorization: {value}")]);
    }
    curl.arg(format!("http://127.0.0.1:{port}/v1/status"));
    String::from_utf8_lossy(&curl.output().unwrap().stdout).into_owned()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// T45, T52
#[test]
fn every_request_has_to_show_the_token() {
    if !has("curl") {
        return;
    }
    let place = Place::new();
    let port = free_port();
    let serving = place.serving(&["--listen", &format!("127.0.0.1:{port}")]);
    let file = serving.place.state().join("stockade/token");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert_eq!(status(port, None), "401");
    for wrong in ["Bearer", "Bearer x", "Basic eDp5", &format!("Bearer {}", &token[1..])] {
        assert_eq!(status(port, Some(wrong)), "401", "{wrong}");
    }
    assert_eq!(status(port, Some(&format!("Bearer {token}"))), "200");
    assert_eq!(status(port, Some(&format!("bearer {token}"))), "200");
    assert!(!serving.said().contains(&token));
    let twice = format!(
        "GET /v1/status HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nauthorization: Bearer x\r\n\r\n"
    );
    assert_eq!(answer(&mut connect(port), &twice), Some(401));
    // The socket needs none.
    serving.get("/v1/status");
}

#[test]
fn a_token_file_that_others_can_read_is_refused() {
    let place = Place::new();
    let file = place.root().join("token");
    std::fs::write(&file, "x".repeat(40)).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let flags = ["--listen", "127.0.0.1:0", "--token-file", file.to_str().unwrap()];
    let refused = Ended::of(&place.serve(&flags).output().unwrap());
    refused.expect_code(122);
    assert!(refused.stderr.contains("can be read by others"), "{refused:#?}");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = Ended::of(&place.serve(&["--listen", &address]).output().unwrap());
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains(&format!("cannot listen on `{address}`")), "{refused:#?}");
}

#[test]
fn other_machines_are_let_in_only_by_a_flag_of_its_own() {
    let place = Place::new();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = Ended::of(&place.serve(&["--listen", address]).output().unwrap());
        refused.expect_code(125);
        assert!(refused.stderr.contains("--allow-remote"), "{refused:#?}");
    }
}

/// T52: whoever has no token cannot keep out those who have it, neither by silence nor by wrong
/// tokens, and nobody who has shown it is sent away for newcomers.
#[test]
fn connections_without_the_token_keep_nobody_out() {
    let place = Place::new();
    let port = free_port();
    let serving = place.serving(&["--listen", &format!("127.0.0.1:{port}")]);
    let file = serving.place.state().join("stockade/token");
    let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    let request = |token: &str| {
        format!("GET /v1/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n")
    };
    let mut early = connect(port);
    assert_eq!(answer(&mut early, &request(&token)), Some(200));
    let mut silent = Vec::new();
    for count in 0..CROWD {
        silent.push(connect(port));
        // One that asks nothing for long is ended, however slow this machine is.
        if count % 100 == 0 {
            assert_eq!(answer(&mut early, &request(&token)), Some(200));
        }
    }
    let mut wrong: Vec<TcpStream> = (0..CROWD / 8).map(|_| connect(port)).collect();
    for stream in &mut wrong {
        // Those that were sent away meanwhile do not answer.
        let refused = answer(stream, &request("x"));
        assert!(refused.is_none_or(|status| status == 401), "{refused:?}");
    }
    let mut late = connect(port);
    assert_eq!(answer(&mut late, &request(&token)), Some(200));
    assert_eq!(answer(&mut late, &request(&token)), Some(200));
    drop((silent, wrong));
    serving.get("/v1/status");
}

/// T45, T52: what a cage of the daemon is granted does not hand out the key to the daemon, wherever
/// the user keeps it.
#[test]
fn a_token_inside_a_grant_is_hidden() {
    if !has("curl") {
        return;
    }
    let place = Place::new();
    let file = place.project.join("deep/token");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    let port = free_port();
    let words = ["--listen", &format!("127.0.0.1:{port}"), "--token-file", file.to_str().unwrap()];
    let serving = place.serving(&words);
    let line = "cat deep/token; rm -f deep/token; mv deep elsewhere; ls deep";
    let mut start = serving.shell(line);
    start["rules"] = serde_json::json!({ "rw": ["."] });
    let id = serving.spawn(&start);
    serving.wait(&id);
    assert_eq!(serving.output(&id, "stdout"), "token\n", "{}", serving.output(&id, "stderr"));
    let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert_eq!(status(port, Some(&format!("Bearer {token}"))), "200");
    // Once it is gone a program could put its own there; nothing is made in its place.
    std::fs::remove_file(&file).unwrap();
    let refused = serving.post("/v1/cages", &start);
    let message = refused.refused(503, "cannot_build");
    assert!(message.contains("the daemon's token is gone"), "{message}");
    assert!(!file.exists());
    start["rules"] = serde_json::json!({ "ro": ["."] });
    serving.wait(&serving.spawn(&start));
    assert!(!file.exists());
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(slowly(Duration::from_secs(20)))).unwrap();
    stream
}

/// The status of the answer to a request; none from a connection that was ended.
fn answer(stream: &mut TcpStream, request: &str) -> Option<u16> {
    stream.write_all(request.as_bytes()).ok()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        match header.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(status)
}

/// More than the daemon has places for.
const CROWD: usize = 800;
