//! What the engine serves: directories, texts, and streams whose contents are made while they are open. Knows nothing of
//! inodes in use, handles or owners; the engine does.

use std::fmt;
use std::sync::Arc;

use rustix::io::Errno;

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// It has names in it.
    Directory,
    /// A text that does not change while it is open, of so many bytes.
    Text(u64),
    /// What is read is made while it is open, and it may be written to.
    Stream,
}

/// What is open.
pub enum Opened {
    /// All of a text.
    Text(Arc<[u8]>),
    /// One conversation, of this open file alone.
    Stream(Box<dyn Stream>),
}

/// One open file.
pub trait Stream: Send + Sync {
    /// The next bytes, none at the end. Waits for them until `is_unwanted`, which is `EINTR`.
    ///
    /// # Errors
    /// As `read` has them.
    fn read(&self, into: &mut [u8], is_unwanted: &dyn Fn() -> bool) -> Result<usize, Errno>;

    /// Takes what is asked.
    ///
    /// # Errors
    /// As `write` has them.
    fn write(&self, bytes: &[u8]) -> Result<usize, Errno>;

    /// Nobody has it any more.
    fn close(&self);
}

/// Files by number. The root is 1; no other number is below 2, or above 2³⁸.
pub trait Tree: Send + Sync + fmt::Debug {
    /// What a number stands for; none if nothing does, or does any more.
    fn node(&self, number: u64) -> Option<Node>;

    /// What a name in a directory leads to.
    fn child(&self, directory: u64, name: &[u8]) -> Option<u64>;

    /// The directory that a directory is in; of the root itself.
    fn parent(&self, directory: u64) -> u64;

    /// The names in a directory that everybody may know.
    fn names(&self, directory: u64) -> Vec<(String, u64)>;

    /// Opens a file.
    ///
    /// # Errors
    /// As `open` has them.
    fn open(&self, number: u64) -> Result<Opened, Errno>;
}

/// Trees side by side, each in a directory of its own name.
#[derive(Debug)]
pub struct Joined(Vec<(String, Arc<dyn Tree>)>);

impl Joined {
    /// At most 30 of them.
    pub fn new(mut trees: Vec<(String, Arc<dyn Tree>)>) -> Self {
        trees.truncate(MOST_JOINED);
        Self(trees)
    }

    /// The tree that a number is of, and its number there.
    fn of(&self, number: u64) -> Option<(u64, &dyn Tree, u64)> {
        let place = number >> BITS;
        let index = usize::try_from(place.checked_sub(1)?).ok()?;
        let (_, tree) = self.0.get(index)?;
        Some((place, &**tree, number & ((1 << BITS) - 1)))
    }
}

impl Tree for Joined {
    fn node(&self, number: u64) -> Option<Node> {
        match number {
            ROOT => Some(Node::Directory),
            number => self.of(number).and_then(|(_, tree, inner)| tree.node(inner)),
        }
    }

    fn child(&self, directory: u64, name: &[u8]) -> Option<u64> {
        if directory == ROOT {
            let place = self.0.iter().position(|(known, _)| known.as_bytes() == name)?;
            return Some(((place as u64 + 1) << BITS) | ROOT);
        }
        let (place, tree, inner) = self.of(directory)?;
        tree.child(inner, name).map(|child| (place << BITS) | child)
    }

    fn parent(&self, directory: u64) -> u64 {
        match self.of(directory) {
            Some((place, tree, inner)) if inner != ROOT => (place << BITS) | tree.parent(inner),
            _ => ROOT,
        }
    }

    fn names(&self, directory: u64) -> Vec<(String, u64)> {
        if directory == ROOT {
            let named = |(place, (name, _)): (usize, &(String, _))| {
                (name.clone(), ((place as u64 + 1) << BITS) | ROOT)
            };
            return self.0.iter().enumerate().map(named).collect();
        }
        let Some((place, tree, inner)) = self.of(directory) else { return Vec::new() };
        let within = |(name, number)| (name, place << BITS | number);
        tree.names(inner).into_iter().map(within).collect()
    }

    fn open(&self, number: u64) -> Result<Opened, Errno> {
        self.of(number).ok_or(Errno::ISDIR).and_then(|(_, tree, inner)| tree.open(inner))
    }
}

/// The root of every tree.
pub(crate) const ROOT: u64 = 1;
/// What the numbers of a tree among others have.
const BITS: u32 = 33;
const MOST_JOINED: usize = 30;
