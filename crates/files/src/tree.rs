//! An open tree: a file system, who asks, where its files are, and the words for what it refuses.

use std::path::PathBuf;
use std::sync::Arc;

use plan::{ByteString, HostPath};
use policy::shown::shown;
use remote::Remote;
use rustix::io::Errno;
use session::Area;
use store::Store;
use vfs::{Caller, Engine, FileSystem, Limits};

use crate::error::FilesError;

/// What a tree is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To look at it. Others may use it meanwhile.
    Read,
    /// To change it. Where somebody else uses a view, that part of the tree is only read.
    Write,
}

/// An open tree.
#[derive(Debug)]
pub struct Tree {
    pub(crate) files: FileSystem,
    pub(crate) title: String,
    pub(crate) parts: Vec<Part>,
    /// Where a path begins that has no slash in front; none where that cannot be said.
    pub(crate) start: Option<Vec<u8>>,
    /// A session's name, and the processes in it.
    pub(crate) session: Option<(String, Vec<i32>)>,
    pub(crate) kept: Kept,
}

/// A part of a tree that files are in.
#[derive(Debug)]
pub(crate) struct Part {
    /// Where it is in the tree.
    pub(crate) at: Vec<u8>,
    /// As whom it is changed: what is made belongs to whom everything there does.
    pub(crate) caller: Caller,
    pub(crate) state: State,
}

/// Whether a part can be changed.
#[derive(Debug)]
pub(crate) enum State {
    /// As the tree was opened.
    Free,
    /// A cage has it mounted.
    InUse(HostPath),
    /// It is not where it was on the host, and cannot even be read.
    Gone(PathBuf, Errno),
}

/// What lives as long as a tree.
#[derive(Debug)]
pub(crate) enum Kept {
    Nothing,
    /// Views that are held: nobody else has them as long as this lives.
    Areas {
        _held: Vec<Area>,
    },
    Store(Arc<Store>),
    Remote(Arc<Remote>),
}

impl Tree {
    /// A tree of one engine.
    pub(crate) fn of_engine(
        engine: Arc<dyn Engine>,
        title: String,
        caller: Caller,
        kept: Kept,
    ) -> Self {
        let part = Part { at: Vec::new(), caller, state: State::Free };
        Self {
            files: FileSystem::new(engine, &Limits::default()),
            title,
            parts: vec![part],
            start: Some(Vec::new()),
            session: None,
            kept,
        }
    }

    /// What a person calls it.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What it is made of.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        self.files.engine()
    }

    /// Whether others change its files too.
    pub fn is_asked_by_others(&self) -> bool {
        matches!(self.kept, Kept::Remote(_))
    }

    /// To whom everything in a store belongs, as the store counts.
    pub fn owner(&self) -> Option<(u32, u32)> {
        let part = self.parts.first().filter(|_| matches!(self.kept, Kept::Store(_)));
        part.map(|part| (part.caller.uid, part.caller.gid))
    }

    /// Whether somebody else is in the session whose tree it is, and may change what is read.
    pub fn is_in_use(&self) -> bool {
        self.session.as_ref().is_some_and(|(_, processes)| !processes.is_empty())
    }

    /// Everything that was written is where it belongs.
    ///
    /// # Errors
    /// What could not be brought there.
    pub fn finish(&self) -> Result<(), FilesError> {
        match &self.kept {
            Kept::Store(store) => store.sync_all().map_err(self.failed("write", b"/")),
            // Each file was there when it was closed.
            Kept::Remote(_) | Kept::Nothing | Kept::Areas { .. } => Ok(()),
        }
    }

    /// A path from the root of the tree on.
    pub(crate) fn whole(&self, path: &[u8]) -> Result<Vec<u8>, FilesError> {
        if path.starts_with(b"/") {
            return Ok(path.to_vec());
        }
        let Some(start) = &self.start else {
            let begins = self.begins().join("`, `");
            let message = format!(
                "{} has several views: begin the path with a slash, as in `{begins}`",
                self.title
            );
            return Err(FilesError::Usage(message));
        };
        Ok([start, &b"/"[..], path].concat())
    }

    /// As whom something is done at a path.
    pub(crate) fn caller(&self, path: &[u8]) -> Caller {
        self.part(path).map_or_else(own_caller, |part| part.caller.clone())
    }

    fn part(&self, path: &[u8]) -> Option<&Part> {
        let around = self.parts.iter().filter(|part| is_within(path, &part.at));
        around.max_by_key(|part| part.at.len())
    }

    /// Where its files are, as a person names it.
    fn begins(&self) -> Vec<String> {
        let free = self.parts.iter().filter(|part| !part.at.is_empty());
        free.map(|part| text(&part.at)).collect()
    }

    /// Where its files are, if a path leads to none of them.
    fn begins_elsewhere(&self, path: &[u8]) -> Vec<String> {
        if self.part(path).is_some() { Vec::new() } else { self.begins() }
    }

    /// What it means that an operation failed.
    pub(crate) fn failed<'a>(
        &'a self,
        action: &'static str,
        path: &'a [u8],
    ) -> impl Fn(vfs::Error) -> FilesError + 'a {
        move |source| {
            let (tree, shown_path) = (self.title.clone(), text(path));
            let part = self.part(path);
            if let Some(Part { state: State::Gone(path, errno), .. }) = part {
                return FilesError::Host { path: path.clone(), source: (*errno).into() };
            }
            match source.errno {
                Errno::NOENT => {
                    let begins = self.begins_elsewhere(path);
                    FilesError::Missing { tree, path: shown_path, begins }
                }
                Errno::EXIST => FilesError::Exists { tree, path: shown_path },
                Errno::ISDIR => FilesError::Directory { tree, path: shown_path },
                Errno::NOTDIR => FilesError::NotADirectory { tree, path: shown_path },
                Errno::ROFS => match part.map(|part| &part.state) {
                    Some(State::InUse(area)) => {
                        let (session, processes) = self.session.clone().unwrap_or_default();
                        FilesError::InUse { session, area: area.clone(), processes }
                    }
                    _ => {
                        let begins = self.begins_elsewhere(path);
                        FilesError::ReadOnly { tree, path: shown_path, begins }
                    }
                },
                _ => {
                    let fault = match &self.kept {
                        Kept::Remote(remote) => remote.faults().pop().map(|fault| fault.text),
                        Kept::Nothing | Kept::Areas { .. } | Kept::Store(_) => None,
                    };
                    FilesError::Failed { action, tree, path: shown_path, source, fault }
                }
            }
        }
    }
}

/// Whether a path is another one or below it, by their words.
pub(crate) fn is_within(path: &[u8], above: &[u8]) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || above.is_empty())
}

/// A path as messages show it.
pub(crate) fn text(path: &[u8]) -> String {
    shown(ByteString::from(path)).to_string()
}

/// Whoever has started this process.
pub(crate) fn own_caller() -> Caller {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let groups = rustix::process::getgroups().unwrap_or_default();
    let groups = groups.into_iter().map(|gid| gid.as_raw()).collect();
    Caller { groups, ..Caller::of(uid, gid) }
}
