//! `stockade audit export`: the log in one file, or its head alone, to be kept elsewhere.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use audit::{ExportError, Log};
use policy::shown::shown;

use super::arguments::ExportArguments;
use super::{place, unreadable};
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;

/// The command.
pub(super) fn export(arguments: &ExportArguments, messages: Messages) -> Result<Exit, Failure> {
    let directory = place(&arguments.place)?;
    if directory.is_dir() {
        bring_head_forward(&directory, messages);
    }
    let mut copy = |output: &mut dyn Write| {
        if arguments.head {
            let head = audit::anchor(&directory)?;
            let text = serde_json::to_string(&head).map_err(std::io::Error::from)?;
            writeln!(output, "{text}")?;
            output.flush()?;
            Ok(head)
        } else {
            audit::export(&directory, output)
        }
    };
    let exported = if arguments.file == Path::new("-") {
        copy(&mut BufWriter::new(std::io::stdout().lock()))
    } else {
        write_new(&arguments.file, &mut copy)?
    };
    let head = exported.map_err(|error: ExportError| unreadable(&error))?;
    messages.note(&format!(
        "exported {} up to record {}; it is signed by {}",
        if arguments.head { "the head" } else { "the log" },
        head.sequence(),
        shown(head.public_key()),
    ));
    Ok(Exit::Success)
}

/// States how far the log is durable now. What cannot be stated is exported as it was.
fn bring_head_forward(directory: &Path, messages: Messages) {
    if let Err(error) = Log::open(directory).and_then(|log| log.checkpoint()) {
        let why = with_causes(&error);
        messages.warning(&format!("the head cannot be brought forward: {why}"));
    }
}

/// Writes a file that did not exist; of one that could not be written nothing stays.
fn write_new<Copied>(
    path: &Path,
    copy: &mut dyn FnMut(&mut dyn Write) -> Result<Copied, ExportError>,
) -> Result<Result<Copied, ExportError>, Failure> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = file.map_err(|error| {
        let path = shown(path.display());
        Failure::new(Exit::No, format!("cannot create `{path}`: {error}"))
            .help("name a file that does not exist yet")
    })?;
    let mut output = BufWriter::new(file);
    let copied = copy(&mut output)
        .and_then(|copied| output.get_ref().sync_all().map(|()| copied).map_err(ExportError::from));
    if copied.is_err() {
        // What failed matters more.
        let _ = std::fs::remove_file(path);
    }
    Ok(copied)
}
