//! TCP: only for who shows the token, and not beyond loopback unless somebody says so.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::serving::{Ended, Place};

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
fn other_machines_are_let_in_only_by_a_flag_of_its_own() {
    let place = Place::new();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = Ended::of(&place.serve(&["--listen", address]).output().unwrap());
        refused.expect_code(125);
        assert!(refused.stderr.contains("--allow-remote"), "{refused:#?}");
    }
}
