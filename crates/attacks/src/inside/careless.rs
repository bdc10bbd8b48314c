//! A daemon as somebody writes it who trusts everybody: it serves whoever connects, starts programs
//! without a cage, takes names for paths, and ends at what it does not understand. The twins of
//! attacks on the daemon meet it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::fail;

/// Serves a socket until something is not understood.
pub(super) fn serve(socket: &str) -> ExitCode {
    let served = make_room(Path::new(socket)).and_then(|()| {
        let listener = UnixListener::bind(socket)?;
        loop {
            serve_one(&listener.accept()?.0)?;
        }
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

fn make_room(socket: &Path) -> io::Result<()> {
    std::fs::create_dir_all(socket.parent().unwrap_or(Path::new("/")))?;
    std::fs::create_dir_all(sessions())
}

fn serve_one(client: &UnixStream) -> io::Result<()> {
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    // Whoever only looks whether anybody is there says nothing.
    if reader.read_line(&mut line)? == 0 {
        return Ok(());
    }
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let [method, path, _version] = words.as_slice() else {
        return Err(io::Error::other("what is this?"));
    };
    let mut length = 0;
    loop {
        let mut field = String::new();
        reader.read_line(&mut field)?;
        if let Some(digits) = field.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = digits.trim().parse::<usize>().map_err(io::Error::other)?;
        }
        if field.trim().is_empty() {
            break;
        }
    }
    let mut body = Vec::new();
    reader.by_ref().take(length as u64).read_to_end(&mut body)?;
    obey(method, path, &body)?;
    let mut answer = client;
    answer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
}

fn obey(method: &str, path: &str, body: &[u8]) -> io::Result<()> {
    let words = || serde_json::from_slice::<serde_json::Value>(body).map_err(io::Error::other);
    match (method, path.strip_prefix("/v1/sessions/")) {
        ("POST", None) if path == "/v1/sessions" => {
            let words = words()?;
            let id = words.get("id").and_then(|id| id.as_str()).unwrap_or_default();
            std::fs::create_dir(sessions().join(id))
        }
        ("DELETE", Some(id)) => {
            std::fs::remove_file(sessions().join(id.replace("%2f", "/").replace("%2e", ".")))
        }
        ("POST", None) if path.starts_with("/v1/cages") => {
            let words = words()?;
            let program = words.get("argv").and_then(|argv| argv.as_array());
            let mut program = program.into_iter().flatten().filter_map(|word| word.as_str());
            let mut command = Command::new(program.next().unwrap_or_default());
            command.args(program).stdin(Stdio::null()).spawn().map(drop)
        }
        _ => Ok(()),
    }
}

fn sessions() -> PathBuf {
    let state = std::env::var_os("XDG_STATE_HOME").unwrap_or_default();
    PathBuf::from(state).join("stockade/sessions")
}
