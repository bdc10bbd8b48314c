//! `stockade status`: what the daemon is and has to do.

use policy::shown::shown;
use serde_json::Value;

use crate::arguments::daemon::StatusArguments;
use crate::client::{client, socket};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::{print, print_json};

/// The command.
pub(crate) fn status(arguments: &StatusArguments, messages: Messages) -> Result<Exit, Failure> {
    if arguments.print_socket {
        let socket = socket(arguments.socket.socket.as_ref(), arguments.socket.system)?;
        print(&format!("{}\n", socket.display()))?;
        return Ok(Exit::Success);
    }
    let status = client(&arguments.socket)?.get("/v1/status")?;
    if arguments.json {
        print_json(&status)?;
        return Ok(Exit::Success);
    }
    let text = |pointer: &str| match status.pointer(pointer) {
        Some(Value::String(text)) => shown(text),
        Some(Value::Null) | None => "none".to_owned(),
        Some(other) => other.to_string(),
    };
    let mut lines = format!(
        "{} {} for the {}, process {}, since {}\nsocket       {}\nTCP          {}\nstate        {}\n\
         cages        {} running, {} ended, {} at most\nconnections  {}\n",
        text("/phase"),
        text("/version"),
        text("/mode"),
        text("/pid"),
        text("/started_at"),
        text("/socket"),
        text("/listen"),
        text("/state_directory"),
        text("/cages/running"),
        text("/cages/ended"),
        text("/cages/most"),
        text("/connections"),
    );
    let each = |name: &str| status.get(name).and_then(Value::as_array).into_iter().flatten();
    let field = |value: &Value, name: &str| match value.get(name) {
        Some(Value::String(text)) => shown(text),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    for swept in each("swept") {
        lines.push_str(&format!(
            "swept        {} {}\n",
            field(swept, "what"),
            field(swept, "subject")
        ));
    }
    print(&lines)?;
    if status.get("sandbox") == Some(&Value::Bool(false)) {
        messages.warning("--no-sandbox: every program runs WITHOUT a cage");
    }
    for run in each("untracked") {
        messages.warning(&format!(
            "process {} runs without a cage (`{}`, in `{}`), started by a supervisor that is gone",
            field(run, "pid"),
            field(run, "id"),
            field(run, "project")
        ));
    }
    Ok(Exit::Success)
}
