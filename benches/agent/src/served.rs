//! The same call where others serve it: over the Model Context Protocol on standard streams, and over 9P on a unix socket. Both
//! clients here know just enough to ask.

use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{QUESTION, repeat, told};

/// Measures both.
pub(crate) fn measure(stockade: &Path, place: &Path, rounds: usize) -> io::Result<()> {
    told("over MCP", over_mcp(stockade, place, rounds)?)?;
    told("over 9P", over_9p(stockade, place, rounds)?)
}

/// Ends with the value.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn over_mcp(stockade: &Path, place: &Path, rounds: usize) -> io::Result<Vec<Duration>> {
    let mut command = Command::new(stockade);
    command.args(["mcp", "serve", "--tools", "read"]).current_dir(place);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Server(command.spawn()?);
    let pipes = server.0.stdin.take().zip(server.0.stdout.take());
    let (mut to, from) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
    let (mut from, mut id) = (BufReader::new(from), 0);
    let mut ask = |method: &str, params: Value| {
        id += 1;
        let question = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(to, "{question}")?;
        let mut line = String::new();
        from.read_line(&mut line)?;
        match line.contains("\"result\"") {
            true => Ok(()),
            false => Err(io::Error::other(line)),
        }
    };
    ask("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {} }))?;
    let arguments: Value = serde_json::from_str(QUESTION)?;
    repeat(rounds, || ask("tools/call", json!({ "name": "read", "arguments": arguments })))
}

fn over_9p(stockade: &Path, place: &Path, rounds: usize) -> io::Result<Vec<Duration>> {
    let socket = place.join("tools.sock");
    let mut command = Command::new(stockade);
    command.args(["fs", "serve", "--9p"]).arg(&socket).arg("tools:read").current_dir(place);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _server = Server(command.spawn()?);
    let mut client = NineP(connected(&socket)?);
    client.call(100, &[&65536_u32.to_le_bytes(), &text("9P2000.L")])?;
    let (none, own) = (u32::MAX.to_le_bytes(), 0_u32.to_le_bytes());
    client.call(104, &[&own, &none, &text(""), &text(""), &own])?;
    repeat(rounds, || client.read_through())
}

fn connected(socket: &Path) -> io::Result<UnixStream> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() >= until => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// A connection, on which one message follows another.
struct NineP(UnixStream);

impl NineP {
    /// Walks to the tool, opens it, asks, reads the answer to its end, and closes.
    fn read_through(&mut self) -> io::Result<()> {
        let (root, file) = (0_u32.to_le_bytes(), 1_u32.to_le_bytes());
        self.call(110, &[&root, &file, &2_u16.to_le_bytes(), &text("read"), &text("run")])?;
        self.call(12, &[&file, &2_u32.to_le_bytes()])?;
        let length = u32::try_from(QUESTION.len()).unwrap_or_default().to_le_bytes();
        self.call(118, &[&file, &0_u64.to_le_bytes(), &length, QUESTION.as_bytes()])?;
        let mut offset = 0_u64;
        loop {
            let part = [&file[..], &offset.to_le_bytes(), &8192_u32.to_le_bytes()];
            let read = self.call(116, &part)?.len().saturating_sub(4);
            if read == 0 {
                break;
            }
            offset += read as u64;
        }
        self.call(120, &[&file]).map(drop)
    }

    fn call(&mut self, kind: u8, parts: &[&[u8]]) -> io::Result<Vec<u8>> {
        let body = parts.concat();
        let size = u32::try_from(7 + body.len()).unwrap_or_default();
        let head = [&size.to_le_bytes()[..], &[kind, 1, 0]].concat();
        self.0.write_all(&[head, body].concat())?;
        let mut size = [0; 4];
        self.0.read_exact(&mut size)?;
        let mut answer = vec![0; (u32::from_le_bytes(size) as usize).saturating_sub(4)];
        self.0.read_exact(&mut answer)?;
        match answer.split_first() {
            Some((first, rest)) if *first == kind + 1 => {
                Ok(rest.get(2..).unwrap_or_default().to_vec())
            }
            _ => Err(io::Error::other(format!("9P: {answer:?}"))),
        }
    }
}

fn text(word: &str) -> Vec<u8> {
    let length = u16::try_from(word.len()).unwrap_or_default().to_le_bytes();
    [&length[..], word.as_bytes()].concat()
}
