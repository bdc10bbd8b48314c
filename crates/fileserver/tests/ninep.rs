//! 9P on a socket, with a client that others wrote: diod's programs.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use fileserver::NinepServer;
use vfs::{Caller, FileSystem, Limits, Memory};

/// V29: `diodls` lists a tree and `diodcat` reads a file of it.
#[test]
fn other_peoples_clients_are_served() {
    if !testing::has_all(&["diodls", "diodcat"]) {
        return;
    }
    let limits = Limits::default();
    let root = Caller::root();
    let files = FileSystem::new(Arc::new(Memory::new(&root, 0o755, limits)), &limits);
    files.make_directories(&root, b"/tree/sub").unwrap();
    let long = "line\n".repeat(200_000);
    files.write_file(&root, b"/tree/sub/f", long.as_bytes()).unwrap();
    for number in 0..300 {
        files.write_file(&root, format!("/tree/{number}").as_bytes(), b"x").unwrap();
    }
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = NinepServer::on_tcp(files, anywhere, root).unwrap();
    let address = server.tcp_address().unwrap().to_string();
    let (stop, stopper) = rustix::pipe::pipe().unwrap();
    let serving = std::thread::spawn(move || server.serve_until(&stop));
    let ask = |program: &str, path: &str| {
        let program = testing::find(program).unwrap();
        let mut command = Command::new(program);
        let output = command.args(["-s", &address, "-a", "/", path]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let listed = ask("diodls", "tree");
    assert_eq!(listed.split_whitespace().count(), 301, "{listed}");
    assert_eq!(ask("diodcat", "tree/sub/f"), long);
    drop(stopper);
    serving.join().unwrap().unwrap();
}
