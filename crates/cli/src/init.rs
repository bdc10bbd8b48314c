//! `stockade init`: writes a policy for a project, for a person to read and to change. Overwrites nothing.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use cage::prepare::project::PROJECT_FILE_NAME;
use cage::prepare::{Caller, PolicyFiles};
use plan::render::for_shell;
use policy::shown::shown;

use crate::arguments::profiles::InitArguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::print;

/// The command.
pub(crate) fn init(arguments: &InitArguments, messages: Messages) -> Result<Exit, Failure> {
    let caller = Caller::of_this_process()?;
    let here = caller.working_directory.as_path().to_owned();
    let directory = match &arguments.project {
        Some(directory) => &here.join(directory),
        None => &here,
    };
    if arguments.print {
        // One that is there may be wrong; that is no reason not to print another.
        let files = PolicyFiles::read(&caller, Some(directory))?;
        print(&files.begun(&caller)?)?;
        return Ok(Exit::Success);
    }
    let file = directory.join(PROJECT_FILE_NAME);
    if file.symlink_metadata().is_ok() {
        return Err(exists(&file));
    }
    let text = PolicyFiles::read(&caller, Some(directory))?.begun(&caller)?;
    let mut new = OpenOptions::new();
    let written = new
        .write(true)
        .create_new(true)
        .open(&file)
        .and_then(|mut opened| opened.write_all(text.as_bytes()));
    if let Err(error) = written {
        return Err(match error.kind() {
            std::io::ErrorKind::AlreadyExists => exists(&file),
            _ => {
                Failure::new(Exit::No, format!("cannot write `{}`: {error}", shown(file.display())))
            }
        });
    }
    print(&format!("wrote {}\n", shown(file.display())))?;
    let files = PolicyFiles::read(&caller, Some(directory))?;
    let asked = files.asked_beyond_ceiling()?;
    for asked in asked.values().flatten() {
        messages.note(&format!("it asks for more than a project gets by itself: {asked}"));
    }
    if !asked.is_empty() {
        let file = for_shell(&file.into_os_string().into());
        messages.note(&format!("read it, then approve it: `stockade allow {file}`"));
    }
    Ok(Exit::Success)
}

fn exists(file: &Path) -> Failure {
    Failure::new(Exit::No, format!("there is a policy already: `{}`", shown(file.display())))
        .help("`stockade init --print` shows what would be written")
}
