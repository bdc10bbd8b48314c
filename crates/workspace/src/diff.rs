//! Changes as a person reads them: unified text in the form of Git, a summary by file, or JSON. Binary files are
//! summarised. Text for a terminal has nothing in it that acts on one. Reads only.

mod hunks;
mod json;
mod names;
mod notes;
mod shown;
mod stat;

use std::io::Write;
use std::os::fd::AsFd as _;

use rustix::io::Errno;

use crate::beneath::{self, Root};
use crate::change::{Change, Changes, What};
use crate::content::{self, MOST_TEXT};
use crate::error::{Layer, WorkspaceError};
use crate::object::{Kind, Object};
use crate::path::TreePath;
use crate::{Workspace, merge};

pub(crate) use hunks::put_together;
pub use hunks::{FileHunks, Hunk, Line};
pub use json::{Report, Text, report, write_json};
pub use names::{quoted_name, write_names};
pub use notes::write_notes;
pub use stat::write_stat;

/// How text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// For a file or another program: contents as they are, so that `git apply` takes them.
    Plain,
    /// For a terminal: control characters are made visible.
    Terminal,
    /// For a terminal that has colours.
    Coloured,
}

/// What one side of a change holds.
enum Side {
    Missing,
    Text(Vec<u8>),
    Binary,
}

/// Writes the changes as a unified diff in the form of Git.
pub fn write_diff(
    workspace: &Workspace,
    changes: &Changes,
    style: Style,
    output: &mut dyn Write,
) -> Result<(), WorkspaceError> {
    let upper = workspace.upper()?;
    for change in &changes.list {
        let writer = Writer { workspace, upper: &upper, style };
        writer.change(change, &mut *output)?;
    }
    Ok(())
}

/// Writes one change, with its hunks.
pub fn write_change(
    workspace: &Workspace,
    change: &Change,
    style: Style,
    output: &mut dyn Write,
) -> Result<(), WorkspaceError> {
    let upper = workspace.upper()?;
    Writer { workspace, upper: &upper, style }.change(change, output)
}

/// Writes one hunk.
pub fn write_hunk(hunk: &Hunk, style: Style, output: &mut dyn Write) -> Result<(), WorkspaceError> {
    let mut text = Vec::new();
    style.hunk(&mut text, hunk);
    output.write_all(&text).map_err(WorkspaceError::Output)
}

struct Writer<'workspace> {
    workspace: &'workspace Workspace,
    upper: &'workspace Root,
    style: Style,
}

impl Writer<'_> {
    fn change(&self, change: &Change, output: &mut dyn Write) -> Result<(), WorkspaceError> {
        let (old, new) = sides(self.workspace, self.upper, change)?;
        let write = |text: Vec<u8>, output: &mut dyn Write| {
            output.write_all(&text).map_err(WorkspaceError::Output)
        };
        if change.what == What::TypeChanged {
            // As Git shows it: one object goes and another comes.
            let gone = Change { what: What::Deleted, after: None, ..change.clone() };
            let come = Change { what: What::Added, before: None, ..change.clone() };
            write(self.section(&gone, &old, &Side::Missing), output)?;
            return write(self.section(&come, &Side::Missing, &new), output);
        }
        write(self.section(change, &old, &new), output)
    }

    /// Header and hunks of one file.
    fn section(&self, change: &Change, old: &Side, new: &Side) -> Vec<u8> {
        let mut text = Vec::new();
        let from = change.former().unwrap_or(&change.path);
        let (a, b) = (shown::quoted(b"a/", from), shown::quoted(b"b/", &change.path));
        let style = self.style;
        if is_of_directory(change) {
            style.directory(&mut text, change);
            return text;
        }
        style.header(&mut text, &format!("diff --git {a} {b}"));
        style.modes(&mut text, change);
        if let Some(from) = change.former() {
            style.header(&mut text, &format!("rename from {}", shown::quoted(b"", from)));
            style.header(&mut text, &format!("rename to {}", shown::quoted(b"", &change.path)));
        }
        let null = "/dev/null".to_owned();
        let a = if matches!(old, Side::Missing) { null.clone() } else { a };
        let b = if matches!(new, Side::Missing) { null } else { b };
        let (old, new) = match (old, new) {
            (Side::Missing, Side::Missing) => return text,
            (Side::Binary, _) | (_, Side::Binary) => {
                if change.what != What::AttributesChanged {
                    let line = format!("Binary files {a} and {b} differ{}", sizes(change));
                    text.extend_from_slice(line.as_bytes());
                    text.push(b'\n');
                }
                return text;
            }
            (old, new) => (old.bytes(), new.bytes()),
        };
        if old == new {
            return text;
        }
        style.header(&mut text, &format!("--- {a}"));
        style.header(&mut text, &format!("+++ {b}"));
        let (old, new) = (merge::lines(old), merge::lines(new));
        for hunk in hunks::hunks(&old, &new) {
            self.style.hunk(&mut text, &hunk);
        }
        text
    }
}

/// Whether a directory is all that comes, goes or has other permissions.
fn is_of_directory(change: &Change) -> bool {
    let mut sides = change.before.iter().chain(&change.after);
    sides.all(Object::is_directory)
}

impl Style {
    /// Git's patches have no directories, and what reads one skips such a line.
    fn directory(self, text: &mut Vec<u8>, change: &Change) {
        let path = shown::quoted(b"", &change.path);
        let from =
            change.former().map(|from| format!(", renamed from {}", shown::quoted(b"", from)));
        let from = from.unwrap_or_default();
        let line = match (&change.before, &change.after) {
            (None, Some(after)) => format!("new directory {path}, mode {}", mode(after)),
            (Some(_), None) => format!("deleted directory {path}"),
            (Some(before), Some(after)) if mode(before) != mode(after) => {
                format!(
                    "directory {path}, old mode {}, new mode {}{from}",
                    mode(before),
                    mode(after)
                )
            }
            (Some(_) | None, Some(_) | None) => format!("directory {path}{from}"),
        };
        self.header(text, &line);
    }

    fn modes(self, text: &mut Vec<u8>, change: &Change) {
        match (&change.before, &change.after) {
            (None, Some(after)) => {
                self.header(text, &format!("new file mode {}", mode(after)));
            }
            (Some(before), None) => {
                self.header(text, &format!("deleted file mode {}", mode(before)));
            }
            (Some(before), Some(after)) if mode(before) != mode(after) => {
                self.header(text, &format!("old mode {}", mode(before)));
                self.header(text, &format!("new mode {}", mode(after)));
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    fn header(self, text: &mut Vec<u8>, line: &str) {
        self.coloured(text, BOLD, |text| text.extend_from_slice(line.as_bytes()));
        text.push(b'\n');
    }

    fn hunk(self, text: &mut Vec<u8>, hunk: &Hunk) {
        self.coloured(text, CYAN, |text| text.extend_from_slice(hunk.header().as_bytes()));
        text.push(b'\n');
        for line in &hunk.lines {
            let (sign, colour) = match line {
                Line::Kept(_) => (b' ', ""),
                Line::Removed(_) => (b'-', RED),
                Line::Added(_) => (b'+', GREEN),
            };
            let bytes = line.bytes();
            let (content, has_end) = match bytes.strip_suffix(b"\n") {
                Some(content) => (content, true),
                None => (bytes, false),
            };
            self.coloured(text, colour, |text| {
                text.push(sign);
                match self {
                    Self::Plain => text.extend_from_slice(content),
                    Self::Terminal | Self::Coloured => shown::push_visible(text, content),
                }
            });
            text.push(b'\n');
            if !has_end {
                text.extend_from_slice(b"\\ No newline at end of file\n");
            }
        }
    }

    fn coloured(self, text: &mut Vec<u8>, colour: &str, write: impl FnOnce(&mut Vec<u8>)) {
        let has_colour = self == Self::Coloured && !colour.is_empty();
        if has_colour {
            text.extend_from_slice(colour.as_bytes());
        }
        write(text);
        if has_colour {
            text.extend_from_slice(PLAIN.as_bytes());
        }
    }
}

impl Side {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Missing | Self::Binary => b"",
        }
    }
}

/// Both sides of a change, as far as they are text.
fn sides(
    workspace: &Workspace,
    upper: &Root,
    change: &Change,
) -> Result<(Side, Side), WorkspaceError> {
    let from = change.former().unwrap_or(&change.path);
    let old = side(&workspace.host, from, change.before, Layer::Host)?;
    let new = side(upper, &change.path, change.after, Layer::Upper)?;
    Ok((old, new))
}

fn side(
    root: &Root,
    path: &TreePath,
    object: Option<Object>,
    layer: Layer,
) -> Result<Side, WorkspaceError> {
    let Some(object) = object else { return Ok(Side::Missing) };
    let read = || -> Result<Side, Errno> {
        let bytes = match object.kind {
            Kind::Directory => return Ok(Side::Missing),
            Kind::Other => return Ok(Side::Binary),
            Kind::File if object.size > MOST_TEXT => return Ok(Side::Binary),
            Kind::Link => {
                let (parent, name) = root.parent(path)?;
                Some(beneath::read_link(parent.as_fd(), name)?)
            }
            Kind::File => {
                let (parent, name) = root.parent(path)?;
                content::whole(parent.as_fd(), name, MOST_TEXT)?
            }
        };
        Ok(bytes.filter(|bytes| content::is_text(bytes)).map_or(Side::Binary, Side::Text))
    };
    match read() {
        // The host's own, which its user cannot read.
        Err(Errno::ACCESS | Errno::PERM) => Ok(Side::Binary),
        other => other.map_err(WorkspaceError::kernel("read", path, layer)),
    }
}

/// The mode with the kind of object, as Git writes it.
fn mode(object: &Object) -> String {
    match object.kind {
        Kind::File => format!("100{:03o}", object.permissions()),
        Kind::Directory => format!("40{:03o}", object.permissions()),
        Kind::Link => "120000".to_owned(),
        Kind::Other => format!("0{:03o}", object.permissions()),
    }
}

fn sizes(change: &Change) -> String {
    let size = |object: Option<Object>| object.map_or(0, |object| object.size);
    format!(" ({} -> {} bytes)", size(change.before), size(change.after))
}

const BOLD: &str = "\u{1b}[1m";
const CYAN: &str = "\u{1b}[36m";
const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const PLAIN: &str = "\u{1b}[m";
