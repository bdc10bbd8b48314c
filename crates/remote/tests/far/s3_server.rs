//! A real S3 server, `moto_server` of PyPI, which `STOCKADE_S3_SERVER` can name.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::server;

pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// The one that is named, or that is installed; where everything is required one is installed for the tests alone.
fn program() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("STOCKADE_S3_SERVER") {
        return Some(program.into());
    }
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("s3-server");
    let program = own.join("bin/moto_server");
    if program.exists() {
        return Some(program);
    }
    if let Some(program) = testing::find("moto_server") {
        return Some(program);
    }
    if !testing::requires_everything() || !testing::has_python_module("ensurepip") {
        testing::skip("no S3 server: set STOCKADE_S3_SERVER to a `moto_server`");
        return None;
    }
    // Several tests want it at once: one installs it, and it is there when it has its name.
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    let one_at_a_time = std::fs::File::create(own.with_extension("lock")).unwrap();
    one_at_a_time.lock().unwrap();
    if program.exists() {
        return Some(program);
    }
    let unfinished = own.with_extension(std::process::id().to_string());
    let run = |program: &Path, words: &[&str]| {
        let status = Command::new(program).args(words).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "{words:?}");
    };
    run(Path::new("/usr/bin/python3"), &["-m", "venv", unfinished.to_str().unwrap()]);
    let python = unfinished.join("bin/python3");
    run(&python, &["-m", "pip", "install", "--quiet", "moto[s3,server] >=5, <6"]);
    let script = "import sys; from moto.server import main; main(sys.argv[1:])";
    let started = format!("#!/bin/sh\nexec \"${{0%/*}}/python3\" -c '{script}' \"$@\"\n");
    std::fs::write(unfinished.join("bin/moto_server"), started).unwrap();
    let _other_was_faster = std::fs::rename(&unfinished, &own);
    Some(program)
}

/// Starts one, if there is one.
pub(crate) fn start() -> Option<Server> {
    let program = program()?;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut command = Command::new(program);
    command.args(["-H", "127.0.0.1", "-p", &address.port().to_string()]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let server = Server { child, address: address.to_string() };
    let deadline = Instant::now() + testing::slowly(Duration::from_secs(60));
    while std::net::TcpStream::connect(address).is_err() {
        assert!(Instant::now() < deadline, "the server does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(server)
}

/// Makes a bucket in it.
pub(crate) fn make_bucket(server: &Server) {
    let made = server::Request {
        method: "PUT".into(),
        path: "/bucket".into(),
        headers: vec![("host".into(), "localhost".into())],
        body: Vec::new(),
    };
    assert_eq!(server::forward(&server.address, &made).unwrap().status, 200);
}
