//! Everything that one guest has, and how it ended.

use std::sync::Arc;

use vfs::{At, OpenFlags};

use crate::limits::{GuestLimits, Limit};
use crate::streams::Streams;

/// Everything that one guest has.
#[derive(Debug)]
pub struct World {
    /// Its files.
    pub files: vfs::FileSystem,
    /// As whom it uses them.
    pub caller: vfs::Caller,
    /// Its arguments; the first is its own name.
    pub arguments: Vec<Vec<u8>>,
    /// Its variables.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Where relative paths begin: a path from the root on, which JavaScript uses and preopens are named after.
    pub working_directory: Vec<u8>,
    /// The directories that a module begins with.
    pub preopens: Vec<Preopen>,
    /// Its streams.
    pub streams: Streams,
    /// What it may use.
    pub limits: GuestLimits,
    /// What it has of what is around this process. JavaScript and components ask for it, modules never.
    pub around: Around,
}

/// What a guest has of what is around this process.
#[derive(Clone, Debug, Default)]
pub enum Around {
    /// No other program, and no network.
    #[default]
    Nothing,
    /// It starts programs and makes requests as this process would. Where that is in a cage, it has what the cage has.
    ThisProcess,
    /// Tools of somebody else's, as the global `tools`; no other program, and no network.
    Tools(Arc<dyn CallsTools>),
}

/// Calls tools for a guest, and decides which.
pub trait CallsTools: std::fmt::Debug + Send + Sync {
    /// What the tool says, or why it does not. The arguments are an object in JSON.
    ///
    /// # Errors
    ///
    /// In words for the program.
    fn call(&self, tool: &str, arguments: &str) -> Result<String, String>;
}

/// A directory that a module begins with.
#[derive(Clone, Debug)]
pub struct Preopen {
    /// What the module calls it.
    pub name: Vec<u8>,
    /// It, open to be listed.
    pub directory: Arc<vfs::OpenFile>,
}

impl Preopen {
    /// Opens the directory at a path from the root on.
    ///
    /// # Errors
    ///
    /// If it is no directory that may be listed.
    pub fn open(
        files: &vfs::FileSystem,
        caller: &vfs::Caller,
        path: &[u8],
        name: &[u8],
    ) -> Result<Self, vfs::Error> {
        let flags = OpenFlags { directory: true, ..OpenFlags::READ };
        let directory = files.open(caller, At::Root, path, flags, 0)?;
        Ok(Self { name: name.to_vec(), directory: Arc::new(directory) })
    }
}

impl World {
    /// Files, and nothing else: no arguments but a name, no variables, empty streams.
    pub fn new(files: vfs::FileSystem, caller: vfs::Caller, name: &[u8]) -> Self {
        Self {
            files,
            caller,
            arguments: vec![name.to_vec()],
            environment: Vec::new(),
            working_directory: b"/".to_vec(),
            preopens: Vec::new(),
            streams: Streams::default(),
            limits: GuestLimits::default(),
            around: Around::Nothing,
        }
    }
}

/// How a guest ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By a fault of its own. A limit that was refused to it before is likely why.
    Failed {
        /// What went wrong, for a person.
        message: String,
        /// The limit that it had run into, if there is one.
        after: Option<Limit>,
    },
    /// By a limit.
    Reached(Limit),
}
