//! `stockade fs ls|cat|put|get|rm|mkdir|stat|tree`: from words to what is done, and to what is printed. Prints nothing by
//! itself but contents that were asked for and, at a terminal, how far a long copy is.

use std::io::IsTerminal as _;
use std::path::Path;

use plan::{ByteString, HostPath};
use serde::Serialize;
use serde_json::json;
use terminal::progress::ProgressLine;

use crate::address::Address;
use crate::copy::{Copied, Existing, Links, Local, Wishes, copy};
use crate::entry::Entry;
use crate::error::FilesError;
use crate::tree::{Purpose, Tree};

mod arguments;
mod progress;
mod shown;

pub use arguments::{
    AddressArgument, CopyArguments, FilesCommand, GetArguments, ListArguments, MkdirArguments,
    PutArguments, RmArguments, TreeArguments,
};

/// What a command came to.
#[derive(Debug, Default)]
pub struct Answer {
    /// What is to be printed.
    pub text: String,
    /// What a person should know beside it.
    pub notes: Vec<String>,
    /// Something was there that could not be shown or copied.
    pub is_partial: bool,
}

/// Does what was asked, with the state directory of a user.
///
/// # Errors
/// What stands in the way.
pub fn run(command: &FilesCommand, state: &HostPath) -> Result<Answer, FilesError> {
    match command {
        FilesCommand::Ls(arguments) => list(arguments, state),
        FilesCommand::Tree(arguments) => tree(arguments, state),
        FilesCommand::Stat(arguments) => stat(arguments, state),
        FilesCommand::Cat(arguments) => cat(arguments, state),
        FilesCommand::Put(arguments) => put(arguments, state),
        FilesCommand::Get(arguments) => get(arguments, state),
        FilesCommand::Rm(arguments) => remove(arguments, state),
        FilesCommand::Mkdir(arguments) => make_directory(arguments, state),
    }
}

fn open(
    address: &AddressArgument,
    state: &HostPath,
    purpose: Purpose,
) -> Result<(Tree, Vec<u8>), FilesError> {
    let address = Address::parse(&address.at)?;
    let tree = Tree::open(&address, state, purpose)?;
    Ok((tree, address.path))
}

fn list(arguments: &ListArguments, state: &HostPath) -> Result<Answer, FilesError> {
    let (tree, path) = open(&arguments.address, state, Purpose::Read)?;
    let entries = tree.list(&path, 1)?;
    let text = match arguments.json {
        true => in_json(&tree, &path, &entries)?,
        false => shown::lines(&entries),
    };
    Ok(answer(text, &tree))
}

fn tree(arguments: &TreeArguments, state: &HostPath) -> Result<Answer, FilesError> {
    let (tree, path) = open(&arguments.address, state, Purpose::Read)?;
    let entries = tree.list(&path, arguments.levels.unwrap_or(usize::MAX).max(1))?;
    let text = match arguments.json {
        true => in_json(&tree, &path, &entries)?,
        false => shown::drawn(&entries),
    };
    Ok(answer(text, &tree))
}

fn stat(arguments: &ListArguments, state: &HostPath) -> Result<Answer, FilesError> {
    let (tree, path) = open(&arguments.address, state, Purpose::Read)?;
    let entry = tree.stat(&path)?;
    let text = match arguments.json {
        true => as_json(&entry)?,
        false => shown::described(&entry),
    };
    Ok(answer(text, &tree))
}

fn cat(arguments: &AddressArgument, state: &HostPath) -> Result<Answer, FilesError> {
    let (tree, path) = open(arguments, state, Purpose::Read)?;
    let mut out = std::io::stdout().lock();
    match tree.read_to(&path, &mut out) {
        // Whoever reads has seen enough, as `head` has.
        Err(FilesError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        read => read?,
    }
    Ok(answer(String::new(), &tree))
}

fn put(arguments: &PutArguments, state: &HostPath) -> Result<Answer, FilesError> {
    let wishes = wishes(&arguments.copy);
    if arguments.local.as_os_str() == STANDARD {
        let (tree, path) = open(&arguments.address, state, Purpose::Write)?;
        let mut from = std::io::stdin().lock();
        let bytes = tree.write_from(&path, &mut from, wishes.existing)?;
        tree.finish()?;
        let copied = Copied { files: 1, bytes, ..Copied::default() };
        return copied_answer(&copied, &tree, arguments.copy.json);
    }
    let from = Local::source(&arguments.local)?;
    let (tree, path) = open(&arguments.address, state, Purpose::Write)?;
    let copied = with_bar((&from.tree, &from.path), (&tree, &path), &wishes)?;
    copied_answer(&copied, &tree, arguments.copy.json)
}

fn get(arguments: &GetArguments, state: &HostPath) -> Result<Answer, FilesError> {
    if arguments.local.as_deref().is_some_and(|local| local.as_os_str() == STANDARD) {
        return cat(&arguments.address, state);
    }
    let (tree, path) = open(&arguments.address, state, Purpose::Read)?;
    let local = arguments.local.as_deref().unwrap_or(Path::new("."));
    let to = Local::destination(local)?;
    let wishes = wishes(&arguments.copy);
    let copied = with_bar((&tree, &path), (&to.tree, &to.path), &wishes)?;
    let whole = copied_answer(&copied, &tree, arguments.copy.json)?;
    let Answer { notes, is_partial, .. } = answer(String::new(), &tree);
    Ok(Answer { notes: [whole.notes, notes].concat(), is_partial, ..whole })
}

fn remove(arguments: &RmArguments, state: &HostPath) -> Result<Answer, FilesError> {
    let (tree, path) = open(&arguments.address, state, Purpose::Write)?;
    tree.remove(&path, arguments.recursive)?;
    tree.finish()?;
    Ok(Answer::default())
}

fn make_directory(arguments: &MkdirArguments, state: &HostPath) -> Result<Answer, FilesError> {
    let (tree, path) = open(&arguments.address, state, Purpose::Write)?;
    tree.make_directory(&path, arguments.parents)?;
    tree.finish()?;
    Ok(Answer::default())
}

fn wishes(arguments: &CopyArguments) -> Wishes {
    Wishes {
        recursive: arguments.recursive,
        existing: if arguments.overwrite { Existing::Overwritten } else { Existing::Kept },
        links: if arguments.no_links { Links::LeftOut } else { Links::Refused },
    }
}

/// Copies, and says at a terminal how far that is. How much there is, is counted for that alone.
fn with_bar(
    from: (&Tree, &[u8]),
    to: (&Tree, &[u8]),
    wishes: &Wishes,
) -> Result<Copied, FilesError> {
    if !std::io::stderr().is_terminal() {
        return copy(from, to, wishes, &mut |_| {});
    }
    let total = total(from.0, from.1).ok();
    let bar = ProgressLine::new();
    let show = bar.listener(move |copied: Copied| progress::line(&copied, total));
    copy(from, to, wishes, &mut |copied| show(*copied))
}

fn total(tree: &Tree, path: &[u8]) -> Result<u64, FilesError> {
    let entries = tree.list(path, usize::MAX)?;
    Ok(entries.iter().filter(|entry| entry.kind == "file").map(|entry| entry.size).sum())
}

fn copied_answer(copied: &Copied, tree: &Tree, json: bool) -> Result<Answer, FilesError> {
    if json {
        return Ok(Answer { text: as_json(copied)?, ..Answer::default() });
    }
    let mut notes = Vec::new();
    if copied.left_out > 0 {
        notes.push(format!(
            "left out of {}: {} links that lead elsewhere, pipes and sockets",
            tree.title(),
            copied.left_out
        ));
    }
    Ok(Answer { notes, ..Answer::default() })
}

/// What was read of a tree, and what is to be known about that.
fn answer(text: String, tree: &Tree) -> Answer {
    let mut notes = Vec::new();
    if tree.is_in_use() {
        notes.push(format!("{} is in use: its files may be different in a moment", tree.title()));
    }
    let left_out = tree.left_out();
    if left_out > 0 {
        notes.push(format!(
            "left out of {}: {left_out} names with control characters, which no path has",
            tree.title()
        ));
    }
    Answer { text, notes, is_partial: left_out > 0 }
}

fn in_json(tree: &Tree, path: &[u8], entries: &[Entry]) -> Result<String, FilesError> {
    let path = ByteString::from(tree.whole(path)?);
    as_json(&json!({ "path": path, "entries": entries }))
}

fn as_json(value: &impl Serialize) -> Result<String, FilesError> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| FilesError::Output(error.into()))
}

/// Standard input, or output.
const STANDARD: &str = "-";
