//! `stockade run --detach`: the same run as a request to the daemon of this user, which is started in the background
//! where there is none. Adds nothing to what the request may say.

use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cage::state::{Directory, Locations};
use daemon::client::{Client, ClientError};
use policy::shown::shown;
use policy::text::WrittenRules;
use rustix::fs::{Mode, OFlags};
use rustix::termios::isatty;
use serde_json::{Map, Value, json};

use crate::arguments::RunArguments;
use crate::client::socket;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::print;
use crate::selection::FlagArguments;

/// Starts the program and prints its id.
pub(crate) fn detach(arguments: &RunArguments, messages: Messages) -> Result<Exit, Failure> {
    let request = request(arguments)?;
    let socket = socket(None, false)?;
    let client = Client::at(&socket);
    if matches!(client.get(STATUS), Err(ClientError::NotServed { .. })) {
        serve(&client, messages)?;
    }
    let cage = client.ask("POST", "/v1/cages", Some(&request))?;
    let id = cage.get("id").and_then(Value::as_str).map(shown).unwrap_or_default();
    print(&format!("{id}\n"))?;
    messages.note(&format!(
        "it runs in the background: `stockade logs -f {id}`, `stockade attach {id}`, `stockade kill {id}`"
    ));
    Ok(Exit::Success)
}

/// The command line as the body of a request: with this process's own directory and environment, which are not those
/// of the daemon.
fn request(arguments: &RunArguments) -> Result<Value, Failure> {
    let flags = FlagArguments {
        files: Some(&arguments.files),
        program: Some(&arguments.program),
        network: Some(&arguments.network),
        ..FlagArguments::default()
    };
    let mut rules = rules(&flags.written()?)?;
    // K38: as without `--detach`.
    if arguments.session.is_some() && arguments.program.state.is_none() {
        rules.insert("state".to_owned(), json!("scratch"));
    }
    let directory = std::env::current_dir()
        .map_err(|error| Failure::new(Exit::Usage, format!("the working directory: {error}")))?;
    let environment: Map<String, Value> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .map(|(name, value)| (name, Value::from(value)))
        .collect();
    let argv = arguments.command.iter().map(|word| text(word.as_bytes()));
    let argv = argv.collect::<Result<Vec<_>, _>>()?;
    let mut request = json!({
        "working_directory": text(directory.as_os_str().as_bytes())?,
        "environment": environment,
        "rules": rules,
        "argv": argv,
        "degraded_limits": arguments.degraded_limits,
    });
    let choice = &arguments.choice;
    let project = choice.project.as_ref().map(|project| {
        std::path::absolute(project)
            .map_err(|error| Failure::new(Exit::Usage, format!("`--project`: {error}")))
            .and_then(|project| text(project.as_os_str().as_bytes()))
    });
    let mut put = |name: &str, value: Option<Value>| {
        if let (Some(value), Some(fields)) = (value, request.as_object_mut()) {
            fields.insert(name.to_owned(), value);
        }
    };
    put("project", project.transpose()?);
    put("cage", choice.cage.as_ref().map(|cage| json!(cage)));
    put("agent", choice.agent.as_ref().map(|agent| json!(agent)));
    put("profile", choice.profile.as_ref().map(|profile| json!(profile)));
    put(
        "capabilities",
        Some(&choice.capability).filter(|all| !all.is_empty()).map(|all| json!(all)),
    );
    put("session", arguments.session.as_ref().map(|session| json!(session)));
    put("terminal", terminal());
    Ok(request)
}

/// The rules under the names that a request has them by.
fn rules(rules: &WrittenRules) -> Result<Map<String, Value>, Failure> {
    let WrittenRules { ro, rw, cow, cache, hide, env, commands, seccomp, state, .. } = rules;
    let WrittenRules { memory, pids, cpus, time, tmp_size, home_size, workspace, home, .. } = rules;
    let WrittenRules { mount, net, no_net, host_ports, publish, .. } = rules;
    let mut fields = Map::new();
    let paths = [("ro", ro), ("rw", rw), ("cow", cow), ("cache", cache), ("hide", hide)];
    for (name, paths) in paths {
        let paths = paths.iter().map(|path| text(path.as_os_str().as_bytes()));
        fields.insert(name.to_owned(), paths.collect::<Result<Vec<_>, _>>()?.into());
    }
    let env = env.iter().map(|one| text(one.as_bytes())).collect::<Result<Vec<_>, _>>()?;
    fields.insert("env".to_owned(), env.into());
    for (name, texts) in
        [("mount", mount), ("net", net), ("host_ports", host_ports), ("publish", publish)]
    {
        fields.insert(name.to_owned(), json!(texts));
    }
    fields.insert("no_net".to_owned(), json!(no_net));
    if let Some(commands) = commands {
        fields.insert("commands".to_owned(), json!(commands));
    }
    let words = [
        ("seccomp", seccomp),
        ("state", state),
        ("memory", memory),
        ("pids", pids),
        ("cpus", cpus),
        ("time", time),
        ("tmp_size", tmp_size),
        ("home_size", home_size),
        ("workspace", workspace),
        ("home", home),
    ];
    for (name, word) in words {
        if let Some(word) = word {
            fields.insert(name.to_owned(), json!(word));
        }
    }
    Ok(fields)
}

/// A request is JSON, in which bytes that are no text cannot stand.
fn text(bytes: &[u8]) -> Result<Value, Failure> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(_) => {
            let word = shown(String::from_utf8_lossy(bytes));
            Err(Failure::new(Exit::Usage, format!("`{word}` is not UTF-8, and cannot be detached")))
        }
    }
}

/// A terminal of its own for the program, where the user sits at one.
fn terminal() -> Option<Value> {
    let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    if !isatty(stdin) || !isatty(stdout) {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stdin).ok()?;
    let kind = std::env::var("TERM").unwrap_or_else(|_| "xterm".to_owned());
    Some(json!({ "rows": size.ws_row.max(1), "columns": size.ws_col.max(1), "kind": kind }))
}

/// Starts a daemon of this user's own, which ends by itself when nothing has run in it for long.
fn serve(client: &Client, messages: Messages) -> Result<(), Failure> {
    let failed =
        |why: String| Failure::new(Exit::CannotBuild, format!("no daemon can be started: {why}"));
    let place = Locations::of_this_process().state.ok_or_else(|| {
        failed("there is no place for its state".to_owned()).help("set HOME or XDG_STATE_HOME")
    })?;
    let state = Directory::open(&place)?;
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let log = rustix::fs::openat(&state, LOG, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|errno| failed(std::io::Error::from(errno).to_string()))?;
    let mut daemon = Command::new("/proc/self/exe");
    let daemon = daemon.args(["serve", "--background"]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut daemon =
        daemon.stderr(File::from(log)).spawn().map_err(|error| failed(with_causes(&error)))?;
    let log = place.as_path().join(LOG);
    let until = Instant::now() + LONGEST_START;
    while Instant::now() < until {
        match client.get(STATUS) {
            Ok(_) => {
                messages.note(&format!("started a daemon, process {}", daemon.id()));
                return Ok(());
            }
            Err(ClientError::NotServed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        // Another one may have been started at the same time; it serves us too.
        if daemon.try_wait().is_ok_and(|ended| ended.is_some_and(|status| status.code() != Some(1)))
        {
            return Err(failed(last_line(&log)));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Err(failed(format!("it does not answer; see `{}`", shown(log.display()))))
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    shown(text.lines().last().unwrap_or("it ended at once"))
}

const STATUS: &str = "/v1/status";
const LOG: &str = "daemon.log";
const LONGEST_START: Duration = Duration::from_secs(20);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
