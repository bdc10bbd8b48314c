//! A daemon that serves, and how to ask it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::document::Document;

pub(crate) use testing::{has, has_all, is_root, skip, slowly};

/// A fresh home with a project in it.
pub(crate) struct Place {
    root: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

/// A daemon. Killed when dropped.
pub(crate) struct Serving {
    pub(crate) place: Place,
    child: Child,
    said: Arc<Mutex<String>>,
    document: Document,
}

/// What the daemon answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: String,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(root.path()).unwrap();
        let home = real.join("home");
        let project = home.join("project");
        fs::create_dir_all(&project).unwrap();
        Self { root, home, project }
    }

    /// Writes the project's policy, with these words in its default cage.
    pub(crate) fn default_cage(&self, words: &str) {
        self.policy(&format!("version = 1\n[cage.default]\n{words}\n"));
    }

    pub(crate) fn policy(&self, text: &str) {
        fs::write(self.project.join("stockade.toml"), text).unwrap();
    }

    /// Writes the user's own configuration.
    pub(crate) fn configuration(&self, text: &str) {
        let directory = self.home.join(".config/stockade");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("config.toml"), text).unwrap();
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.join(".local/state")
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.home.join("run/daemon.sock")
    }

    /// `stockade`, started by a user with this home and nothing else, and with no signal ignored, whatever this test's
    /// own caller has it ignore.
    pub(crate) fn stockade(&self) -> Command {
        self.command(&stockade_binary())
    }

    /// Another program, started in the same way.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        sys::signal::restore_all_defaults_in(&mut command);
        command
            .current_dir(&self.project)
            .env_clear()
            .env("HOME", &self.home)
            .env("XDG_STATE_HOME", self.state())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(walls::handed_on())
            .stdin(Stdio::null());
        command
    }

    /// `stockade serve` on this place's socket.
    pub(crate) fn serve(&self, flags: &[&str]) -> Command {
        let mut command = self.stockade();
        command.arg("serve").arg("--socket").arg(self.socket()).args(flags);
        command
    }

    /// Starts a daemon here and waits until it serves.
    pub(crate) fn serving(self, flags: &[&str]) -> Serving {
        let mut child = self.serve(flags).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut heard = heard.lock().unwrap();
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        let socket = self.socket();
        let answers = || UnixStream::connect(&socket).is_ok();
        eventually("the daemon serves", || answers() || child.try_wait().unwrap().is_some());
        assert!(answers(), "{}", said.lock().unwrap());
        let document = Document::parse(daemon::DOCUMENT);
        Serving { place: self, child, said, document }
    }
}

impl Serving {
    pub(crate) fn new() -> Self {
        Place::new().serving(&[])
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the daemon has said on standard error.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// `curl` on this daemon's socket.
    pub(crate) fn curl(&self) -> Command {
        let mut command = Command::new("curl");
        let longest = slowly(Duration::from_secs(60)).as_secs().to_string();
        command.args(["-sS", "--max-time", &longest, "--unix-socket"]).arg(self.place.socket());
        command
    }

    /// Asks, and holds the answer to the document.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: stockade\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = UnixStream::connect(self.place.socket()).unwrap();
        stream.set_read_timeout(Some(slowly(Duration::from_secs(60)))).unwrap();
        // Whoever is refused may be so before all is said.
        let _refused = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = Answer::of(&answer);
        self.document.check(method, path, answer.status, &answer.body);
        answer
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None).expect(200)
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, Some(body))
    }

    /// A request for a line of shell in the project.
    pub(crate) fn shell(&self, line: &str) -> Value {
        json!({ "project": self.place.project, "argv": ["sh", "-c", line] })
    }

    /// Starts a program and gives its id.
    #[track_caller]
    pub(crate) fn spawn(&self, request: &Value) -> String {
        let cage = self.post("/v1/cages", request).expect(201);
        cage["id"].as_str().unwrap().to_owned()
    }

    /// Waits for a cage's end and gives the cage.
    #[track_caller]
    pub(crate) fn wait(&self, id: &str) -> Value {
        let deadline = Instant::now() + slowly(Duration::from_secs(30));
        loop {
            let cage = self.get(&format!("/v1/cages/{id}/wait?timeout_ms=30000"));
            if cage["state"] == "ended" {
                return cage;
            }
            assert!(Instant::now() < deadline, "{cage:#}");
        }
    }

    /// What a program has written.
    #[track_caller]
    pub(crate) fn output(&self, id: &str, stream: &str) -> String {
        self.ask("GET", &format!("/v1/cages/{id}/logs/{stream}"), None).text(200)
    }

    /// Waits until a program has written something.
    #[track_caller]
    pub(crate) fn wait_for_output(&self, id: &str, text: &str) {
        eventually(text, || self.output(id, "stdout").contains(text));
    }

    /// `stockade` as a client of this daemon: the command, the socket, the rest.
    pub(crate) fn client(&self, command: &str, rest: &[&str]) -> Command {
        let mut stockade = self.place.stockade();
        stockade.arg(command).arg("--socket").arg(self.place.socket()).args(rest);
        stockade
    }

    /// Runs `stockade` as a client to its end.
    pub(crate) fn run_client(&self, command: &str, rest: &[&str]) -> Ended {
        Ended::of(&self.client(command, rest).output().unwrap())
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the daemon's end, and gives its status and its place.
    #[track_caller]
    pub(crate) fn end(mut self) -> (i32, String, Place) {
        use std::os::unix::process::ExitStatusExt as _;
        let deadline = Instant::now() + slowly(Duration::from_secs(30));
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the daemon does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        };
        let code = status.code().unwrap_or_else(|| 1000 + status.signal().unwrap());
        std::thread::sleep(Duration::from_millis(20));
        let said = self.said();
        let place = std::mem::replace(&mut self.place, Place::new());
        (code, said, place)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Answer {
    fn of(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(bytes)));
        let (headers, body) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 4..]);
        let (status, headers) = (headers.split(' ').nth(1).unwrap(), headers.to_lowercase());
        let is_chunked = headers.contains("\r\ntransfer-encoding: chunked");
        let body = if is_chunked { joined(body) } else { body.to_vec() };
        let body = String::from_utf8_lossy(&body).into_owned();
        Self { status: status.parse().unwrap(), headers, body }
    }

    /// The value of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        serde_json::from_str(&self.body).unwrap()
    }

    /// The text of an answer with this status.
    #[track_caller]
    pub(crate) fn text(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        self.body.clone()
    }

    /// A refusal with this status and code.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> String {
        let problem = self.expect(status);
        assert_eq!(problem["code"], code, "{problem:#}");
        problem["message"].as_str().unwrap().to_owned()
    }
}

impl Ended {
    pub(crate) fn of(output: &std::process::Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let killed = output.status.signal().map(|signal| 1000 + signal);
        Self {
            code: output.status.code().or(killed).unwrap(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn expect_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }
}

/// A body that came in chunks, up to where it breaks off.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = chunks.windows(2).position(|two| two == b"\r\n") {
        let length = str::from_utf8(&chunks[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        let rest = &chunks[end + 2..];
        body.extend(&rest[..length.min(rest.len())]);
        chunks = rest.get(length + 2..).unwrap_or_default();
    }
    body
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    eventually_within(Duration::from_secs(20), what, is_so);
}

#[track_caller]
pub(crate) fn eventually_within(longest: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + slowly(longest);
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(15));
    }
}

/// Whether a process exists and was not just left uncollected.
pub(crate) fn is_alive(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// The program under test.
pub(crate) fn stockade_binary() -> PathBuf {
    testing::program("STOCKADE_BIN", env!("CARGO_BIN_EXE_stockade"))
}

/// Reads a child's output until it has a text in it.
#[track_caller]
pub(crate) fn read_until(source: &mut impl std::io::Read, text: &str) -> String {
    let mut read = Vec::new();
    let mut chunk = [0; 1024];
    while !String::from_utf8_lossy(&read).contains(text) {
        let count = source.read(&mut chunk).unwrap();
        assert_ne!(count, 0, "no {text:?} in {}", String::from_utf8_lossy(&read));
        read.extend(&chunk[..count]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// Everything that is left of a stream.
pub(crate) fn rest_of(source: &mut impl std::io::Read) -> String {
    let mut text = Vec::new();
    source.read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}
