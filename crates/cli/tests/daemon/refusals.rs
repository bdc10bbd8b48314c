//! Clients that mean no good, or no longer know what they mean: malformed, huge, slow, many, strange.
//! Each gets a clear refusal; everybody else is served meanwhile.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::serving::{
    Place, Serving, eventually, eventually_within, has, has_all, is_root, skip, slowly,
    stockade_binary,
};

/// Sends raw bytes and reads what comes back until the end.
fn raw(serving: &Serving, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(serving.place.socket()).unwrap();
    stream.set_read_timeout(Some(slowly(Duration::from_secs(30)))).unwrap();
    // A daemon that has read enough may close before everything is sent.
    let _cut = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _reset = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// T52
#[test]
fn malformed_requests_are_refused() {
    let serving = Serving::new();
    let huge_head = [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 200_000]].concat();
    let many_headers =
        [b"GET / HTTP/1.1\r\n".to_vec(), b"A: b\r\n".repeat(500), b"\r\n".to_vec()].concat();
    let long_path =
        [b"GET /".to_vec(), vec![b'y'; 200_000], b" HTTP/1.1\r\n\r\n".to_vec()].concat();
    let table: [(&[u8], &str); 10] = [
        (b"\x00\x01\x02\x03\r\n\r\n", "400"),
        (b"GET\r\n\r\n", "400"),
        (b"GET / HTTP/9.9\r\n\r\n", "400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"),
        (b"POST /v1/cages HTTP/1.1\r\nContent-Length: x\r\n\r\n", "400"),
        (b"POST /v1/cages HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400"),
        (b"POST /v1/cages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", "400"),
        (&huge_head, "431"),
        (&many_headers, "431"),
        (&long_path, "431"),
    ];
    for (bytes, status) in table {
        let answer = raw(&serving, bytes);
        let line = answer.lines().next().unwrap_or_default();
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert!(line.starts_with(&format!("HTTP/1.1 {status}")), "{shown:?}: {answer}");
    }
    serving.get("/v1/health");
}

/// T52: bodies that are no JSON, deep, with unknown names, or nothing.
#[test]
fn malformed_bodies_are_refused_in_words() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in ["{", "[]", "nonsense", "{\"argv\": 5}", &deep] {
        let mut curl = serving.curl();
        curl.args(["-o", "/dev/null", "-w", "%{http_code}", "--data-binary", "@-"]);
        curl.arg("http://stockade/v1/cages").stdin(std::process::Stdio::piped());
        let mut child = curl.stdout(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "400",
            "{}",
            &body[..body.len().min(50)]
        );
    }
    serving.ask("POST", "/v1/sessions", Some(&json!([]))).refused(400, "bad_request");
    serving.ask("GET", "/v1/cages?x=%zz", None).refused(400, "bad_request");
    serving.ask("PATCH", "/v1/cages", None).refused(405, "method_not_allowed");
    serving.ask("GET", "/v1/cages/..%2f..%2fetc", None).refused(404, "not_found");
}

/// T52: a rule must not vanish behind another of its name, at whatever depth.
#[test]
fn a_name_that_is_given_twice_is_refused() {
    let serving = Serving::new();
    let project = serving.place.project.display().to_string();
    for rest in [
        r#""rules":{"hide":["secrets"],"hide":["x"]}"#,
        r#""rules":{"hide":["secrets"]},"rules":{}"#,
        r#""rules":{"\u0068ide":["secrets"],"hide":[]}"#,
        r#""environment":{"A":"1","A":"2"}"#,
    ] {
        let body = format!(r#"{{"project":"{project}","argv":["true"],{rest}}}"#);
        let answer = raw(
            &serving,
            format!(
                "POST /v1/cages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .as_bytes(),
        );
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("given twice"), "{answer}");
    }
}

/// V11: a list of programs that turns out to be empty names none, as it does in a policy.
#[test]
fn an_empty_list_of_programs_shows_none() {
    let serving = Serving::new();
    let place = serving.place.project.display().to_string();
    let ask = |rules: serde_json::Value| {
        let body = json!({ "project": place, "argv": ["/usr/bin/env"], "rules": rules });
        serving.ask("POST", "/v1/policy/check", Some(&body))
    };
    let empty = ask(json!({ "commands": [] })).expect(200);
    let none = ask(json!({ "commands": ["none"] })).expect(200);
    let all = ask(json!({})).expect(200);
    assert_eq!(empty["hash"], none["hash"], "{empty}");
    assert_ne!(empty["hash"], all["hash"], "{all}");
}

/// What a client did not mean to leave out is not left out, and a list is no object.
#[test]
fn nulls_and_lists_in_place_of_objects_are_refused() {
    let serving = Serving::new();
    let project = serving.place.project.display().to_string();
    let ask = |name: &str, value: serde_json::Value| {
        let mut body = json!({ "project": project, "argv": ["true"] });
        body[name] = value;
        serving.ask("POST", "/v1/cages", Some(&body))
    };
    for (name, value) in [
        ("rules", json!([])),
        ("rules", json!([["/etc/hostname"], ["."]])),
        ("rules", json!(null)),
        ("rules", json!({ "memory": null })),
        ("rules", json!({ "time": null, "pids": 5 })),
        ("rules", json!({ "ro": [null] })),
        ("terminal", json!([33, 44])),
        ("terminal", json!(null)),
        ("output", json!([4096, "discard"])),
        ("output", json!([])),
        ("policy", json!(null)),
        ("cage", json!(null)),
        ("environment", json!(null)),
        ("session", json!(null)),
    ] {
        let problem = ask(name, value.clone()).expect(400);
        assert_eq!(problem["code"], "bad_request", "{name} {value}: {problem}");
    }
    ask("rules", json!({})).expect(201);
}

/// A body that nobody reads is not taken for one that was.
#[test]
fn a_body_where_none_belongs_is_refused() {
    let serving = Serving::new();
    for (method, path) in
        [("GET", "/v1/audit/verify"), ("GET", "/v1/audit/export"), ("DELETE", "/v1/cages/x")]
    {
        let problem = serving.ask(method, path, Some(&json!({ "anchor": {} }))).expect(400);
        assert_eq!(problem["code"], "bad_request", "{method} {path}: {problem}");
    }
    serving.ask("GET", "/v1/audit/verify", None).expect(200);
}

/// An output that nothing fits into would never be read, and its program never go on.
#[test]
fn backpressure_needs_room() {
    let serving = Serving::new();
    let output = json!({ "bytes": 0, "overflow": "backpressure" });
    let project = serving.place.project.display().to_string();
    let body = json!({ "project": project, "argv": ["true"], "output": output });
    serving.ask("POST", "/v1/cages", Some(&body)).refused(400, "bad_request");
}

/// T52: too large a body is refused before it is read, and while it is.
#[test]
fn huge_bodies_are_refused() {
    let serving = Serving::new();
    let declared = raw(
        &serving,
        b"POST /v1/cages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9999999999\r\n\r\n{",
    );
    assert!(declared.starts_with("HTTP/1.1 413") && declared.contains("too_large"), "{declared}");
    let mut chunked = b"POST /v1/cages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..40 {
        chunked.extend(b"10000\r\n");
        chunked.extend(vec![b' '; 0x10000]);
        chunked.extend(b"\r\n");
    }
    let chunked = raw(&serving, &chunked);
    assert!(chunked.starts_with("HTTP/1.1 413"), "{chunked}");
    serving.get("/v1/health");
}

/// T52: whoever sends slowly is cut off, and nobody waits for them.
#[test]
fn slow_clients_are_cut_off_while_others_are_served() {
    let serving = Serving::new();
    let slow: Vec<UnixStream> = (0..50)
        .map(|_| {
            let mut stream = UnixStream::connect(serving.place.socket()).unwrap();
            stream.write_all(b"GET /v1/health HT").unwrap();
            stream
        })
        .collect();
    let mut body = UnixStream::connect(serving.place.socket()).unwrap();
    body.write_all(b"POST /v1/cages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{").unwrap();
    serving.wait(&serving.spawn(&serving.shell("true")));
    // Not even until these were cut off.
    assert!(!slow.iter().chain([&body]).any(has_news), "others have waited for slow clients");
    for stream in slow {
        let answer = until_cut_off(stream);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    let answer = until_cut_off(body);
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("too_slow"), "{answer}");
}

fn has_news(stream: &UnixStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let heard = (&mut &*stream).read(&mut [0; 1]);
    stream.set_nonblocking(false).unwrap();
    heard.is_ok()
}

/// What the daemon says to a client before it cuts it off, which it does within a minute.
fn until_cut_off(mut stream: UnixStream) -> String {
    stream.set_read_timeout(Some(slowly(Duration::from_secs(60)))).unwrap();
    let mut answer = Vec::new();
    let kept = stream.read_to_end(&mut answer).is_err_and(|error| {
        matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
    });
    assert!(!kept, "a slow client was not cut off");
    String::from_utf8_lossy(&answer).into_owned()
}

/// T52: one user cannot take every connection.
#[test]
fn too_many_connections_are_told_so() {
    let serving = Serving::new();
    let mut held = Vec::new();
    let refused = loop {
        let mut stream = UnixStream::connect(serving.place.socket()).unwrap();
        stream.write_all(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = [0; 512];
        let count = stream.read(&mut answer).unwrap();
        let text = String::from_utf8_lossy(&answer[..count]).into_owned();
        if !text.starts_with("HTTP/1.1 200") {
            break text;
        }
        held.push(stream);
        assert!(held.len() < 2000);
    };
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("too_many"), "{refused}");
    drop(held);
    eventually_within(Duration::from_secs(20), "there is room again", || {
        serving.ask("GET", "/v1/health", None).status == 200
    });
}

/// T52: another user is refused by the kernel's word, and named ones are served.
#[test]
fn other_users_are_refused() {
    if !is_root() {
        return skip("only root can be another user");
    }
    if !has_all(&["setpriv", "curl"]) {
        return;
    }
    let serving = Place::new().serving(&["--allow-user", "54321"]);
    for path in [serving.place.root(), serving.place.home.as_path()] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let ask_as = |user: &str| {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
        command.args(["curl", "-sS", "-w", "%{http_code}", "--unix-socket"]);
        command.arg(serving.place.socket()).arg("http://stockade/v1/health");
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    let refused = ask_as("54322");
    assert!(refused.contains("wrong_peer") && refused.ends_with("403"), "{refused}");
    let served = ask_as("54321");
    assert!(served.ends_with("200"), "{served}");
    assert_eq!(serving.get("/v1/health"), json!({ "status": "ok" }));
}

/// T52: a daemon that is not root cannot look at the namespaces of others, and serves root and the users
/// that are named all the same.
#[test]
fn a_daemon_of_a_user_serves_root_and_named_users() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    if !is_root() {
        return skip("only root can be another user");
    }
    if !has_all(&["setpriv", "curl"]) {
        return;
    }
    let place = Place::new();
    let binary = place.root().join("stockade");
    std::fs::copy(stockade_binary(), &binary).unwrap();
    let as_user = |user: &str, program: &Path| {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
        command.arg(program);
        command
    };
    for path in [place.root(), place.home.as_path(), place.project.as_path()] {
        chown(path, Some(54321), Some(54321)).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let runtime = place.root().join("of-user");
    std::fs::create_dir(&runtime).unwrap();
    chown(&runtime, Some(54321), Some(54321)).unwrap();
    std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(0o711)).unwrap();
    let socket = runtime.join("socket");
    let mut serve = as_user("54321", &binary);
    serve.args(["serve", "--allow-user", "54322", "--socket"]).arg(&socket);
    serve.env_clear().env("HOME", &place.home).env("PATH", "/usr/bin:/bin");
    serve.env("XDG_STATE_HOME", runtime.join("state")).current_dir(&runtime);
    let mut daemon = serve.stderr(std::process::Stdio::null()).spawn().unwrap();
    eventually("the daemon listens", || socket.exists());
    let ask_as = |user: &str| {
        let mut command = as_user(user, Path::new("curl"));
        command.args(["-sS", "-w", "%{http_code}", "--unix-socket"]);
        command.arg(&socket).arg("http://stockade/v1/health");
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    eventually("its own user is served", || ask_as("54321").ends_with("200"));
    let answers = ["0", "54322", "54323"].map(ask_as);
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&daemon),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    daemon.wait().unwrap();
    let [root, named, other] = answers;
    assert!(root.ends_with("200") && named.ends_with("200"), "{root}\n{named}");
    assert!(other.contains("this daemon serves user 54321") && other.ends_with("403"), "{other}");
}

/// One that any user may execute.
const PYTHON: &str = "/usr/bin/python3";

/// T52: those who are not served take no place of those who are.
#[test]
fn refused_users_shut_nobody_out() {
    if !is_root() {
        return skip("only root can be another user");
    }
    if !has_all(&["setpriv", "python3"]) {
        return;
    }
    let serving = Place::new().serving(&["--allow-user", "54321"]);
    for path in [serving.place.root(), serving.place.home.as_path()] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let crowd = "import socket, sys\n\
        held = [socket.socket(socket.AF_UNIX) for _ in range(1000)]\n\
        for one in held:\n    one.connect(sys.argv[1])\n\
        print('here', flush=True)\nsys.stdin.read()\n";
    let crowds: Vec<_> = ["54322", "54323"]
        .map(|user| {
            let mut command = Command::new("setpriv");
            command.args([&format!("--reuid={user}"), &format!("--regid={user}")]);
            command.args(["--clear-groups", PYTHON, "-c", crowd]).arg(serving.place.socket());
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut line = String::new();
            let said = child.stdout.take().unwrap();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut line).unwrap();
            assert_eq!(line, "here\n");
            child
        })
        .into();
    for _ in 0..3 {
        assert_eq!(serving.get("/v1/health"), json!({ "status": "ok" }));
    }
    for mut child in crowds {
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}

/// T51: the right user in another user namespace is a stranger, as whatever runs in a cage would be.
#[test]
fn a_peer_in_another_user_namespace_is_refused() {
    if !has_all(&["unshare", "curl"]) {
        return;
    }
    let serving = Serving::new();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-current-user", "curl", "-sS", "-w", "%{http_code}"]);
    command.arg("--unix-socket").arg(serving.place.socket()).arg("http://stockade/v1/health");
    let output = command.output().unwrap();
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(answer.contains("user namespace") && answer.ends_with("403"), "{output:?}");
}

/// T51, T57: a cage cannot reach the socket, even where its directory is granted.
#[test]
fn a_cage_cannot_reach_the_daemon() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let socket = serving.place.socket();
    let directory = socket.parent().unwrap();
    let mut request = serving.shell(&format!(
        "ls -la {0}; curl -sS --max-time 5 --unix-socket {0}/daemon.sock http://x/v1/health || echo cannot",
        directory.display()
    ));
    request["rules"] = json!({ "rw": [directory] });
    let id = serving.spawn(&request);
    serving.wait(&id);
    let output = serving.output(&id, "stdout");
    assert!(output.contains("cannot") && !output.contains("status"), "{output}");
}

/// Whoever asks in the wrong way is told the right one, also by a header (RFC 9110, 15.5.6).
#[test]
fn methods_that_are_not_there_name_those_that_are() {
    let serving = Serving::new();
    let answer = serving.ask("DELETE", "/v1/health", None);
    answer.refused(405, "method_not_allowed");
    assert!(answer.headers.contains("\r\nallow: get\r\n"), "{}", answer.headers);
}

/// An input that was there and has ended is not one that was never asked for.
#[test]
fn closed_input_is_told_from_none() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let mut request = serving.shell("cat; sleep 1000");
    let none = serving.spawn(&request);
    request["stdin"] = serde_json::json!("pipe");
    let closed = serving.spawn(&request);
    let write = |id: &str, query: &str| {
        let mut curl = serving.curl();
        curl.args(["-X", "POST", "-d", "x"]);
        curl.arg(format!("http://stockade/v1/cages/{id}/stdin{query}"));
        String::from_utf8_lossy(&curl.output().unwrap().stdout).into_owned()
    };
    write(&closed, "?close=true");
    let (closed, none) = (write(&closed, ""), write(&none, ""));
    assert!(closed.contains("is closed") && !closed.contains("start the program"), "{closed}");
    assert!(none.contains("has no input") && none.contains("start the program"), "{none}");
}
