//! A small HTTP server for tests: one thread for each connection, one request for each answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Request {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// How many bytes it says that it has, if not as many as it has.
    pub(crate) says: Option<usize>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), says: None }
    }
}

/// What comes of a request.
pub(crate) enum Outcome {
    Reply(Reply),
    /// The connection ends.
    Nothing,
    /// Nothing comes for so long.
    Silence(Duration),
}

/// Answers until this process ends. Returns where.
pub(crate) fn serve(answer: impl Fn(Request) -> Outcome + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || drop(one(&stream, &*answer)));
        }
    });
    address
}

fn one(stream: &TcpStream, answer: &dyn Fn(Request) -> Outcome) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader)? {
        let is_head = request.method == "HEAD";
        let is_last = request.header("connection") == Some("close");
        match answer(request) {
            Outcome::Nothing => return Ok(()),
            Outcome::Silence(length) => {
                std::thread::sleep(length);
                return Ok(());
            }
            Outcome::Reply(reply) => write(stream, &reply, is_head)?,
        }
        if is_last {
            return Ok(());
        }
    }
    Ok(())
}

fn read(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let headers = headers(reader)?;
    let mut request = Request { method, path, headers, body: Vec::new() };
    let length = request.header("content-length").map_or(0, |text| text.parse().unwrap());
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(Some(request))
}

fn headers(reader: &mut dyn std::io::BufRead) -> std::io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { return Ok(headers) };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn write(mut stream: &TcpStream, reply: &Reply, is_head: bool) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let has_length = reply.headers.iter().any(|(name, _)| name == "content-length");
    if !has_length {
        let length = reply.says.unwrap_or(reply.body.len());
        head.push_str(&format!("content-length: {length}\r\n"));
    }
    if reply.says.is_some() {
        head.push_str("connection: close\r\n");
    }
    head.push_str("\r\n");
    // At once: the second of two small writes waits until the first is acknowledged.
    let body = if is_head { &[][..] } else { &reply.body };
    stream.write_all(&[head.as_bytes(), body].concat())?;
    if reply.says.is_some() {
        stream.shutdown(std::net::Shutdown::Both)?;
    }
    stream.flush()
}

/// Asks another server the same.
pub(crate) fn forward(address: &str, request: &Request) -> std::io::Result<Reply> {
    let stream = TcpStream::connect(address)?;
    let Request { method, path, .. } = request;
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    for (name, value) in request.headers.iter().filter(|(name, _)| name != "connection") {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("connection: close\r\n\r\n");
    (&stream).write_all(head.as_bytes())?;
    (&stream).write_all(&request.body)?;
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(502);
    let mut headers = headers(&mut reader)?;
    let mut body = Vec::new();
    if method != "HEAD" {
        reader.read_to_end(&mut body)?;
        if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
            body = joined(&body);
        }
        let of_this_way = ["content-length", "connection", "transfer-encoding"];
        headers.retain(|(name, _)| !of_this_way.contains(&name.as_str()));
    }
    Ok(Reply { status, headers, body, says: None })
}

/// A body that came in pieces, each after a line with its length.
fn joined(mut pieces: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = pieces.windows(2).position(|two| two == b"\r\n") {
        let length = std::str::from_utf8(&pieces[..end]).unwrap();
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        whole.extend_from_slice(&pieces[end + 2..end + 2 + length]);
        pieces = &pieces[end + 2 + length + 2..];
        if length == 0 {
            break;
        }
    }
    whole
}
