//! `stockade allow` and `stockade deny`: the user's approval of one text of one project's file, and
//! taking it back. What is approved is the text that was shown, byte for byte.

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use cage::prepare::project::PROJECT_FILE_NAME;
use plan::HostPath;
use policy::shown::shown;

use crate::arguments::{AllowArguments, DenyArguments};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::print;
use crate::selection::policy_files;

/// `stockade allow`.
pub(crate) fn allow(arguments: &AllowArguments, messages: Messages) -> Result<Exit, Failure> {
    let directory = match &arguments.file {
        Some(file) => Some(directory_of(file)?),
        None => None,
    };
    let files = policy_files(directory.as_deref())?;
    let Some(file) = &files.project.file else {
        let root = shown(&files.project.root);
        return Err(Failure::new(
            Exit::BadPolicy,
            format!("there is no `{PROJECT_FILE_NAME}` in `{root}` or above"),
        )
        .help("name the file: `stockade allow PATH`"));
    };
    let path = shown(&file.path);
    let asked = files.asked_beyond_ceiling()?;
    if asked.is_empty() {
        messages
            .note(&format!("`{path}` asks for nothing beyond your ceiling; it needs no approval"));
        return Ok(Exit::Success);
    }
    if files.is_approved()? {
        messages.note(&format!("`{path}` is approved already, as it is"));
        return Ok(Exit::Success);
    }
    let Some(trust) = files.trust() else {
        return Err(Failure::new(Exit::CannotBuild, "there is no place to keep approvals")
            .help("set HOME or XDG_STATE_HOME"));
    };
    print(&describe(&path, &asked))?;
    if !arguments.yes && !is_confirmed()? {
        messages.note("nothing was approved");
        return Ok(Exit::No);
    }
    trust.allow(&file.path, file.text.as_bytes())?;
    messages.note(&format!("approved; any change to `{path}` needs a new approval"));
    Ok(Exit::Success)
}

/// `stockade deny`.
pub(crate) fn deny(arguments: &DenyArguments, messages: Messages) -> Result<Exit, Failure> {
    let file = match &arguments.file {
        // The file itself may be gone.
        Some(file) => project_file(&directory_of(file)?)?,
        None => {
            let files = policy_files(None)?;
            match &files.project.file {
                Some(file) => file.path.clone(),
                None => project_file(files.project.root.as_path())?,
            }
        }
    };
    let locations = cage::state::Locations::of_this_process();
    let removed = match &locations.state {
        Some(state) => cage::prepare::trust::Trust::open(state).deny(&file)?,
        None => false,
    };
    let path = shown(&file);
    messages.note(&if removed {
        format!("`{path}` is no longer approved")
    } else {
        format!("`{path}` was not approved")
    });
    Ok(Exit::Success)
}

fn describe(path: &str, asked: &BTreeMap<String, Vec<String>>) -> String {
    let mut text = format!("`{path}` asks for more than your ceiling:\n");
    for (name, lines) in asked {
        // No cage has a dot in its name.
        let (what, name) = match name.strip_prefix("agent.") {
            Some(agent) => ("agent", agent),
            None => ("cage", name.as_str()),
        };
        text.push_str(&format!("  {what} {}\n", shown(name)));
        for line in lines {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text
}

/// Only a person at a terminal can say yes without `--yes`.
fn is_confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::new(
            Exit::Usage,
            "nobody is there to be asked: standard input is not a terminal",
        )
        .help("read the list above, then pass `--yes`"));
    }
    let failed = |error: std::io::Error| Failure::new(Exit::No, error.to_string());
    let mut prompt = std::io::stderr().lock();
    prompt.write_all(b"Approve this very text? [y/N] ").map_err(failed)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The project's directory, from its own path or its file's.
fn directory_of(file: &Path) -> Result<PathBuf, Failure> {
    if file.is_dir() {
        return Ok(file.to_owned());
    }
    if file.file_name().is_some_and(|name| name == PROJECT_FILE_NAME) {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        return Ok(parent.unwrap_or(Path::new(".")).to_owned());
    }
    Err(Failure::new(
        Exit::Usage,
        format!("`{}` is not a project's `{PROJECT_FILE_NAME}`", shown(file.display())),
    )
    .help("name the file or the directory that holds it"))
}

/// Where a project's file is or was.
fn project_file(directory: &Path) -> Result<HostPath, Failure> {
    let failed = |why: String| {
        let directory = shown(directory.display());
        Failure::new(Exit::BadPolicy, format!("`{directory}`: {why}"))
    };
    let real = std::fs::canonicalize(directory).map_err(|error| failed(error.to_string()))?;
    HostPath::new(real.into_os_string())
        .and_then(|real| real.join(PROJECT_FILE_NAME))
        .map_err(|error| failed(error.to_string()))
}
