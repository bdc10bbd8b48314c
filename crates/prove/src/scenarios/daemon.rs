//! The daemon under those who may reach its socket and those who may not: other users, programs of
//! other user namespaces, nonsense, names that are paths, policies that ask for more; and its death.
//! T51, T52, T54

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use attacks::Arena;
use attacks::{Outcome, Refused, ask, say};
use serde_json::json;

use crate::scenario::{Scenario, ScenarioScene, finish, until};
use crate::scenarios::death;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("T52", "daemon-other-user", "asks the daemon as another user", |scene| {
        ask_as(scene, "as-another-user")
    }),
    Scenario::new(
        "T52",
        "daemon-other-namespace",
        "asks it as its user, from another user namespace, as from a cage",
        |scene| ask_as(scene, "as-from-a-cage"),
    ),
    Scenario::new(
        "T52",
        "daemon-nonsense",
        "sends what is no request, and far too much of it",
        nonsense,
    ),
    Scenario::new(
        "T51",
        "daemon-session-is-a-path",
        "begins a session whose name leads out",
        |scene| {
            let daemon = Daemon::start(scene)?;
            let made = scene.arena().outside.join("made-by-daemon");
            let body = json!({ "id": format!("{UP_TO_OUTSIDE}/made-by-daemon") });
            let answer = daemon.ask("POST", "/v1/sessions", &body.to_string())?;
            Ok(if made.exists() { Outcome::Succeeded("it is there".into()) } else { held(&answer) })
        },
    ),
    Scenario::new("T51", "daemon-ends-a-path", "ends a session whose name leads out", |scene| {
        let daemon = Daemon::start(scene)?;
        let name = format!("{UP_TO_OUTSIDE}/targets/{}", scene.name);
        let mut answers = String::new();
        for name in [name.clone(), name.replace('/', "%2f"), name.replace("..", "%2e%2e")] {
            // A careless one that is still there answers the second as it did the first.
            answers = daemon.ask("DELETE", &format!("/v1/sessions/{name}"), "").unwrap_or(answers);
        }
        let changed = scene.host.changed_target(scene.name);
        Ok(changed.map_or_else(|| held(&answers), Outcome::Succeeded))
    }),
    Scenario::new(
        "T51",
        "daemon-policy-asks-for-more",
        "starts a program with a policy that grants what nobody approved",
        |scene| {
            let outside = scene.arena().outside.display().to_string();
            let policy = format!(
                "version = 1\n[cage.default]\nfs = [{{ rw = \".\" }}, {{ ro = \"{outside}\" }}]\n"
            );
            steal(scene, &json!({ "policy": policy }))
        },
    ),
    Scenario::new(
        "T51",
        "daemon-cage-is-a-path",
        "starts a program in a cage whose name leads to another policy",
        |scene| steal(scene, &json!({ "cage": "../../outside" })),
    ),
    Scenario::new(
        "T54",
        "program-outlives-daemon",
        "works on after the daemon that started it was killed",
        outlive,
    ),
];

/// A daemon of the arena's user. Killed when dropped.
struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Daemon {
    /// Starts one, Stockade's or the careless, and waits until it answers.
    fn start(scene: &ScenarioScene<'_>) -> Result<Self, Refused> {
        let socket = scene.arena().outside.join("run/daemon.sock");
        let mut command = match scene.cages {
            Some(cages) => cages.daemon(&socket),
            None => {
                let mut careless = Command::new(Arena::attacker(&scene.arena().project));
                careless.args(["__attack", "careless-daemon"]).arg(&socket);
                careless
            }
        };
        scene.host.dress(&mut command);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut daemon = Self { child: quiet.spawn()?, socket };
        let answers = until(|| daemon.answers() || daemon.has_ended());
        if answers && !daemon.has_ended() {
            return Ok(daemon);
        }
        Err(Refused("there is no daemon".to_owned()))
    }

    fn answers(&self) -> bool {
        self.ask("GET", "/v1/health", "").is_ok_and(|answer| answer.contains(" 200 "))
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The first line of the answer to a request.
    fn ask(&self, method: &str, path: &str, body: &str) -> Result<String, Refused> {
        ask(&self.socket, method, path, body)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already, and there is nobody left to tell.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn held(answer: &str) -> Outcome {
    Outcome::Failed(answer.to_owned())
}

/// Another process asks, with the doors of files open: who is there is for the daemon to see.
fn ask_as(scene: &mut ScenarioScene<'_>, who: &str) -> Result<Outcome, Refused> {
    let daemon = Daemon::start(scene)?;
    let directory = daemon.socket.parent().unwrap_or(Path::new("/")).to_owned();
    for path in directory.ancestors().take_while(|path| path.starts_with(base(scene))) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    fs::set_permissions(&daemon.socket, fs::Permissions::from_mode(0o666))?;
    let mut command = Command::new(Arena::attacker(&scene.arena().project));
    command.args(["__attack", "ask-daemon", who]).arg(&daemon.socket);
    let finished = finish(command)?;
    Ok(match finished.stdout.trim() {
        answer if answer.contains(" 200 ") => Outcome::Succeeded(answer.to_owned()),
        "" => Outcome::NotApplicable(finished.in_short()),
        answer => held(answer),
    })
}

fn base<'a>(scene: &'a ScenarioScene<'_>) -> &'a Path {
    scene.arena().outside.parent().unwrap_or(Path::new("/"))
}

/// Sends nonsense of every kind; whoever does not answer a plain request after it has fallen to it.
fn nonsense(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let daemon = Daemon::start(scene)?;
    let post = |body: &[u8]| {
        let head =
            format!("POST /v1/cages HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    let messages: [Vec<u8>; 10] = [
        b"\x00\x01\x02\x03\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"POST /v1/cages HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n".to_vec(),
        b"POST /v1/cages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n".to_vec(),
        [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 1 << 20]].concat(),
        post("[".repeat(1 << 17).as_bytes()),
        post(&vec![0xff; 1 << 16]),
        post(br#"{"argv":["true"],"project":"/\u0000","rules":{"memory":"99999999999999999999G"}}"#),
    ];
    for message in &messages {
        // What is answered does not matter, as long as somebody is there afterwards.
        let _answer = say(&daemon.socket, message);
    }
    Ok(match daemon.answers() {
        true => held("still serves"),
        false => Outcome::Succeeded("serves nobody any more".to_owned()),
    })
}

/// Has the daemon start a program that copies the secret into the project.
fn steal(scene: &mut ScenarioScene<'_>, more: &serde_json::Value) -> Result<Outcome, Refused> {
    let daemon = Daemon::start(scene)?;
    let place = scene.workplace()?;
    let [stolen, done] = ["stolen", "done"].map(|name| place.join(name));
    let script = format!(
        "cat '{}' > '{}'; echo x > '{}'",
        scene.arena().secret().display(),
        stolen.display(),
        done.display()
    );
    let mut body = request(scene, &script);
    for (name, value) in more.as_object().into_iter().flatten() {
        body.insert(name.clone(), value.clone());
    }
    let answer = daemon.ask("POST", "/v1/cages", &serde_json::Value::from(body).to_string())?;
    if answer.contains(" 20") {
        until(|| done.exists());
    }
    let found = scene.host.secret_in(&fs::read_to_string(stolen).unwrap_or_default());
    Ok(found.map_or_else(|| held(&answer), Outcome::Succeeded))
}

/// A program that the daemon is to start in the arena's project.
fn request(scene: &ScenarioScene<'_>, script: &str) -> serde_json::Map<String, serde_json::Value> {
    let words = json!({
        "project": scene.arena().project,
        "argv": ["/bin/sh", "-c", script],
    });
    words.as_object().cloned().unwrap_or_default()
}

/// A program that beats until its flag is gone; the daemon is killed meanwhile.
fn outlive(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let mut daemon = Daemon::start(scene)?;
    let place = scene.workplace()?;
    let [flag, beats] = ["flag", "beats"].map(|name| place.join(name));
    fs::write(&flag, "")?;
    let script = format!(
        "trap '' HUP TERM; while [ -e '{}' ]; do echo x >> '{}'; sleep 0.02; done",
        flag.display(),
        beats.display()
    );
    let mut body = request(scene, &script);
    body.insert("rules".to_owned(), json!({ "rw": ["."] }));
    let answer = daemon.ask("POST", "/v1/cages", &serde_json::Value::from(body).to_string())?;
    let survived = death::works_on(&beats, || {
        daemon.child.kill()?;
        daemon.child.wait().map(drop)
    })?;
    fs::remove_file(&flag)?;
    Ok(match survived {
        Some(true) => Outcome::Succeeded("went on without the daemon".to_owned()),
        Some(false) => held("ended with the daemon"),
        None => Outcome::Broken(format!("the program was not started: {answer}")),
    })
}

/// From the directory of sessions to the outside.
const UP_TO_OUTSIDE: &str = "../../../../../outside";
