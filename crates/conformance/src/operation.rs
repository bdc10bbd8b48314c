//! Operations on a file system, and what can come of one.

use vfs::{Allocate, Kind, Replace, Seek, SetXattr};

/// One operation of one user.
#[derive(Clone, Debug)]
pub struct Operation {
    /// 0 is root, 1 to 3 are users.
    pub who: usize,
    pub call: Call,
}

#[derive(Clone, Debug)]
pub enum Call {
    MakeDirectory(Vec<u8>, u32),
    MakeFifo(Vec<u8>, u32),
    Open { slot: usize, path: Vec<u8>, flags: Flags, mode: u32 },
    Close(usize),
    Read { slot: usize, offset: u64, count: usize },
    ReadOn { slot: usize, count: usize },
    Write { slot: usize, offset: u64, bytes: Vec<u8> },
    WriteOn { slot: usize, bytes: Vec<u8> },
    SetSize(Vec<u8>, u64),
    SetSizeOpen(usize, u64),
    Allocate { slot: usize, how: Allocate, offset: u64, length: u64 },
    Seek { slot: usize, what: Seek, offset: u64 },
    StatOpen(usize),
    Stat(Vec<u8>, bool),
    Unlink(Vec<u8>),
    RemoveDirectory(Vec<u8>),
    Rename(Vec<u8>, Vec<u8>, Replace),
    Link(Vec<u8>, Vec<u8>),
    Symlink(Vec<u8>, Vec<u8>),
    ReadLink(Vec<u8>),
    SetMode(Vec<u8>, u32),
    SetModeOpen(usize, u32),
    SetOwner(Vec<u8>, Option<u32>, Option<u32>, bool),
    SetTimes(Vec<u8>, Option<i64>, Option<i64>, bool),
    TouchNow(Vec<u8>),
    List(Vec<u8>),
    SetXattr(Vec<u8>, Vec<u8>, Vec<u8>, SetXattr),
    Xattr(Vec<u8>, Vec<u8>),
    Xattrs(Vec<u8>),
    RemoveXattr(Vec<u8>, Vec<u8>),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Flags {
    pub read: bool,
    pub write: bool,
    pub append: bool,
    pub create: bool,
    pub exclusive: bool,
    pub truncate: bool,
    pub directory: bool,
    pub no_follow: bool,
}

/// What came of an operation: an answer, or the number of an error.
pub type Outcome = Result<Answer, i32>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    Bytes(Vec<u8>),
    Number(u64),
    Names(Vec<Vec<u8>>),
    Stat(Stat),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: Kind,
    pub mode: u32,
    pub links: u32,
    pub uid: u32,
    pub gid: u32,
    /// Not of directories.
    pub size: u64,
    /// Of files.
    pub blocks: u64,
    /// Where a test has set it. When it was read is not noted by ours.
    pub modified: Option<i64>,
}

impl Stat {
    /// A time that a test has set; others depend on when it ran.
    pub fn known(seconds: i64) -> Option<i64> {
        (seconds < 1_000_000_000).then_some(seconds)
    }
}

/// Something that operations are done to.
pub trait System {
    fn run(&mut self, operation: &Operation) -> Outcome;
}

/// Everything that is there, as root sees it.
pub fn everything(system: &mut dyn System) -> Vec<(Vec<u8>, &'static str, Outcome)> {
    let mut found = Vec::new();
    let mut left = vec![b"/".to_vec()];
    while let Some(path) = left.pop() {
        let mut ask = |what: &'static str, call: Call| {
            let outcome = system.run(&Operation { who: 0, call });
            found.push((path.clone(), what, outcome.clone()));
            outcome
        };
        let Ok(Answer::Stat(stat)) = ask("stat", Call::Stat(path.clone(), false)) else { continue };
        match stat.kind {
            Kind::Directory => {
                let _xattrs = ask("xattrs", Call::Xattrs(path.clone()));
                if let Ok(Answer::Names(names)) = ask("list", Call::List(path.clone())) {
                    let others = |name: &Vec<u8>| !matches!(&name[..], b"." | b".." | b"proc");
                    for name in names.into_iter().filter(others) {
                        left.push(
                            [&path[..], if path == b"/" { b"" } else { b"/" }, &name].concat(),
                        );
                    }
                }
            }
            Kind::File => {
                let _xattrs = ask("xattrs", Call::Xattrs(path.clone()));
                let flags = Flags { read: true, ..Flags::default() };
                let _opened =
                    ask("open", Call::Open { slot: 0, path: path.clone(), flags, mode: 0 });
                for offset in [0, 1 << 12, 1 << 16, 1 << 20] {
                    let _read = ask("read", Call::Read { slot: 0, offset, count: 1 << 14 });
                }
            }
            Kind::Link => drop(ask("link", Call::ReadLink(path.clone()))),
            _ => {}
        }
    }
    found
}

/// How many files are open at most.
pub const SLOTS: usize = 6;
