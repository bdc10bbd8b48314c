//! `stockade ps`: the cages of `stockade run` and, where there is one, of the daemon.

use cage::state::Locations;
use daemon::client::ClientError;
use policy::shown::shown;
use serde_json::{Value, json};

use crate::arguments::daemon::PsArguments;
use crate::client::client;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::runs;

/// The command.
pub(crate) fn ps(arguments: &PsArguments) -> Result<Exit, Failure> {
    let path = if arguments.all { "/v1/cages" } else { "/v1/cages?state=running" };
    let is_named = arguments.socket.socket.is_some() || arguments.socket.system;
    let mut answer = match client(&arguments.socket)?.get(path) {
        Err(ClientError::NotServed { .. }) if !is_named => json!({ "cages": [] }),
        answer => answer?,
    };
    if let (false, Some(cages)) = (is_named, answer.get_mut("cages").and_then(Value::as_array_mut))
    {
        let own = runs::list(&Locations::of_this_process());
        cages.extend(own.into_iter().map(|run| run.shown));
    }
    if arguments.json {
        print_json(&answer)?;
        return Ok(Exit::Success);
    }
    let empty = Vec::new();
    let cages = answer.get("cages").and_then(Value::as_array).unwrap_or(&empty);
    let mut rows = vec![HEADS.map(str::to_owned)];
    rows.extend(cages.iter().map(row));
    print(&table(&rows))?;
    Ok(Exit::Success)
}

fn row(cage: &Value) -> [String; COLUMNS] {
    let text = |name: &str| match cage.get(name) {
        Some(Value::String(text)) => shown(text),
        Some(Value::Null) | None => "-".to_owned(),
        Some(other) => other.to_string(),
    };
    let words = cage.get("argv").and_then(Value::as_array).into_iter().flatten();
    let argv: Vec<&str> = words.filter_map(Value::as_str).collect();
    let cage_name = match cage.get("caged").and_then(Value::as_bool) {
        Some(false) => "UNCAGED".to_owned(),
        _ => text("cage"),
    };
    let state = match cage.pointer("/end/exit_code") {
        Some(code) => format!("ended {code}"),
        None => text("state"),
    };
    let started: String = text("started_at").chars().take(SECONDS).collect();
    let command = shortened(shown(argv.join(" ")));
    [text("id"), state, cage_name, text("pid"), started, text("project"), command, text("summary")]
}

/// A command of many words would push what follows it off the screen.
fn shortened(command: String) -> String {
    match command.char_indices().nth(LONGEST_COMMAND) {
        Some((end, _)) => format!("{}…", command.get(..end).unwrap_or_default()),
        None => command,
    }
}

/// Columns as wide as what is in them; the last one as it comes.
fn table(rows: &[[String; COLUMNS]]) -> String {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

const COLUMNS: usize = 8;
const HEADS: [&str; COLUMNS] =
    ["ID", "STATE", "CAGE", "PID", "STARTED", "PROJECT", "COMMAND", "SUMMARY"];

/// Characters of a command; `--json` has all of it.
const LONGEST_COMMAND: usize = 40;

/// `2026-01-31T12:00:00` of a moment.
const SECONDS: usize = 19;
