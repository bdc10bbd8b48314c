//! The model service, as programs in cages find it: the model answers, calls are on record, and the key is nowhere
//! inside.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testing::model_server::ModelServer;

use super::support::{Ended, Place, has_all, slowly};

const KEY: &str = "sk-of-the-operator-0123456789";

/// Asks the model, and looks for the key wherever a program can. The key is not in the program, or it would find that.
const SEARCH: &str = r#"
import json, os, sys, urllib.request
key = "9876543210-rotarepo-eht-fo-ks"[::-1].encode()
body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}).encode()
request = urllib.request.Request("http://127.0.0.1:3129/v1/messages", body,
    {"x-api-key": "dummy", "anthropic-version": "2023-06-01", "content-type": "application/json"})
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print("answer", opener.open(request, timeout=20).status)
seen = 0
def look(path):
    global seen
    try:
        with open(path, "rb", buffering=0) as file:
            text = file.read(4 << 20)
    except (OSError, ValueError, MemoryError):
        return
    seen += 1
    if key in text:
        print("FOUND", path)
for process in [name for name in os.listdir("/proc") if name.isdigit()]:
    for name in ["environ", "cmdline", "maps", "stat", "auxv"]:
        look(f"/proc/{process}/{name}")
    for directory in ["fd", "task"]:
        try:
            for name in os.listdir(f"/proc/{process}/{directory}"):
                if process != str(os.getpid()):
                    look(f"/proc/{process}/{directory}/{name}")
        except OSError:
            pass
    if process != str(os.getpid()):
        try:
            open(f"/proc/{process}/mem", "rb").close()
            print("FOUND memory of", process)
        except OSError:
            pass
for top in ["/tmp", "/run", "/etc", "/dev/shm", "/scratch", os.environ["HOME"], "/home", "/root", "/var"]:
    for where, _, names in os.walk(top):
        for name in names:
            look(os.path.join(where, name))
print("searched", seen > 20)
"#;

/// A place whose user has a model at a server of ours.
struct Served {
    place: Place,
    server: ModelServer,
}

impl Served {
    fn new() -> Self {
        Self { place: Place::new(), server: ModelServer::start(&[], "Hello.") }
    }

    fn configure(&self, text: &str) {
        let directory = self.place.home.join(".config/stockade");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("models.toml"), text).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.stockade();
        command.args(words);
        command
    }

    fn search(&self) -> Command {
        self.command(&["run", "--host-port", "model", "--", "python3", "-c", SEARCH])
    }
}

/// Every file below a directory.
fn all_files(directory: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => all_files(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}

#[track_caller]
fn expect_nowhere_in(directory: &Path, but: &str) {
    let mut files = Vec::new();
    all_files(directory, &mut files);
    for file in files.iter().filter(|file| !file.ends_with(but)) {
        let bytes = fs::read(file).unwrap();
        let found = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
        assert!(!found, "{}", file.display());
    }
}

/// V31, T45: whatever the key is read from.
#[test]
fn the_key_is_added_outside_and_nowhere_inside() {
    if !has_all(&["python3"]) {
        return;
    }
    let served = Served::new();
    let key_file = served.place.outside().join("key");
    fs::write(&key_file, format!("{KEY}\n")).unwrap();
    fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).unwrap();
    let url = served.server.url();
    let (file, command) = (key_file.display(), format!("command:cat {}", key_file.display()));
    for (configured, in_environment) in [
        (None, true),
        (Some(format!("[anthropic]\nurl = \"{url}\"\nkey = \"file:{file}\"\n")), false),
        (Some(format!("[anthropic]\nurl = \"{url}\"\nkey = \"{command}\"\n")), false),
    ] {
        let mut search = served.search();
        if in_environment {
            search.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", &url);
        }
        if let Some(text) = &configured {
            served.configure(text);
        }
        let ended = Ended::of(search.output().unwrap());
        ended.expect_code(0).prints("answer 200").prints("searched True");
        assert!(!ended.stdout.contains("FOUND"), "{configured:?} {}", ended.stdout);
        assert!(!ended.stderr.contains(KEY), "{}", ended.stderr);
    }
    let requests = served.server.requests();
    assert_eq!(requests.len(), 3, "{requests:?}");
    for request in &requests {
        assert_eq!(request["headers"]["x-api-key"], KEY, "{request}");
    }
    expect_nowhere_in(&served.place.home, "nothing");
    let records = served.place.records();
    let count = |event: &str| records.iter().filter(|record| record["event"] == event).count();
    assert_eq!((count("model.call"), count("model.answer")), (3, 3), "{records:?}");
    let call = records.iter().find(|record| record["event"] == "model.call").unwrap();
    let spawn = records.iter().find(|record| record["event"] == "subagent.spawn").unwrap();
    assert_eq!(call["invocation_id"], spawn["invocation_id"]);
    assert_eq!(call["model"], "m");
}

/// V31, T45: the service reaches the configured address alone, by no other road of the cage, and no further than its
/// budget.
#[test]
fn nothing_but_the_configured_model_is_behind_it() {
    if !has_all(&["python3", "curl"]) {
        return;
    }
    let served = Served::new();
    served.configure(&format!(
        "calls = 2\n[anthropic]\nurl = \"{}\"\nkey = \"none\"\n",
        served.server.url()
    ));
    let port = served.server.port();
    let line = format!(
        "ask() {{ curl -s -m 10 -o /dev/null -w '%{{http_code}} ' \"$@\"; }}
         to='--noproxy * -d {{}} http://127.0.0.1:3129'
         ask $to/v1/messages; ask $to/v1/chat/completions; ask $to/v1/files; ask $to/
         ask --noproxy '*' -H 'host: evil.example' -d '{{}}' http://127.0.0.1:3129/v1/messages
         ask $to/v1/messages
         echo; curl -s -m 5 --noproxy '*' http://127.0.0.1:{port}/ || echo direct refused
         curl -s -m 5 --noproxy '' --proxy http://127.0.0.1:3128 --proxytunnel http://127.0.0.1:3129/ || echo proxy refused"
    );
    let mut run = served.command(&["run", "--host-port", "model", "--", "sh", "-c", &line]);
    let ended = Ended::of(run.output().unwrap());
    ended.expect_code(0).prints("200 404 404 404 200 429").prints("direct refused");
    ended.prints("proxy refused");
    let requests = served.server.requests();
    let own = format!("127.0.0.1:{port}");
    assert!(requests.iter().all(|request| request["headers"]["host"] == own), "{requests:?}");
}

/// V31: a cage that could not ask does not start, and says what to write.
#[test]
fn a_model_that_is_not_configured_is_said_before_anything_runs() {
    let served = Served::new();
    let run = ["run", "--host-port", "model", "--", "echo", "ran"];
    let ended = Ended::of(served.command(&run).output().unwrap());
    ended.says("no model is configured").says("models.toml").says("ANTHROPIC_API_KEY");
    assert!(ended.code != 0 && !ended.stdout.contains("ran"), "{}", ended.stdout);
    served.configure("[anthropic]\nkey = \"file:/does/not/exist\"\n");
    let ended = Ended::of(served.command(&run).output().unwrap());
    ended.says("/does/not/exist");
    assert!(!ended.stdout.contains("ran"), "{}", ended.stdout);
    served.configure("[anthropic]\nkye = \"none\"\n");
    let ended = Ended::of(served.command(&run).output().unwrap());
    ended.says("kye").says("models.toml");
    // The number is no way around the name, and nothing of the host is offered by it.
    let ended =
        Ended::of(served.command(&["run", "--host-port", "3129", "--", "true"]).output().unwrap());
    ended.says("model");
    let ended =
        Ended::of(served.command(&["run", "--publish", "model", "--", "true"]).output().unwrap());
    assert_ne!(ended.code, 0);
    let check = Ended::of(served.command(&["check", "--host-port", "model"]).output().unwrap());
    check.expect_code(0).prints("leads to the model service");
}

/// Processes that serve models for a supervisor.
fn services_of(parent: u32) -> Vec<u32> {
    let of_process = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let is_service = words.windows(7).any(|part| part == b"__model");
        let above = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()?;
        (above == parent && is_service).then_some(pid)
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(of_process)
        .collect()
}

/// K185: the process that serves a cage ends with it, also when its supervisor is killed.
#[test]
fn the_service_ends_with_its_cage() {
    if !has_all(&["python3"]) {
        return;
    }
    let served = Served::new();
    served.configure(&format!("[anthropic]\nurl = \"{}\"\nkey = \"none\"\n", served.server.url()));
    let mut run = served.command(&["run", "--host-port", "model", "--", "sleep", "1000"]);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + slowly(Duration::from_secs(10));
    let service = loop {
        let records = served.place.records();
        let runs = records.iter().any(|record| record["event"] == "subagent.spawn");
        if let ([service], true) = (&*services_of(child.id()), runs) {
            break *service;
        }
        assert!(Instant::now() < until, "no service came");
        std::thread::sleep(Duration::from_millis(10));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    while Path::new(&format!("/proc/{service}/cmdline")).exists()
        && fs::read(format!("/proc/{service}/cmdline")).is_ok_and(|words| !words.is_empty())
    {
        assert!(Instant::now() < until, "the service outlives its cage");
        std::thread::sleep(Duration::from_millis(10));
    }
}
