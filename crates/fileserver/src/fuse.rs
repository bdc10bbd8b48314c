//! Any engine as a file system of the kernel: requests are read from a descriptor of `/dev/fuse`, given to the engine and
//! answered, by several threads at once. The protocol is spoken here, without a library: the one there is shows the
//! number of a node as that of its file, ends the process at some times before 1970, and cannot be interrupted.
//!
//! Permissions are the kernel's business (`default_permissions`): it asks for modes and owners, and decides as it does
//! for its own file systems. What an engine refuses, it refuses here too. Mounts nothing.

use std::collections::HashMap;
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use vfs::{Caller, Engine, Handle, Inode};

mod begin;
mod files;
mod held;
mod listing;
mod locking;
mod names;
mod reply;
mod trim;
mod waiting;
mod wire;
mod xattrs;

use held::Held;
use reply::{Reply, Valid};
use trim::Told;
use wire::{Request, operation};

/// Who else changes what is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody: the kernel keeps what it was told for good, and its own locks are all there are.
    Alone,
    /// Others do: the kernel asks every time, drops contents that have changed, and leaves locks to the engine.
    Shared,
}

/// How an engine is served.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Who else changes it.
    pub sharing: Sharing,
    /// The kernel gathers writes and hands them over later; only where nobody else changes anything. A write for which
    /// there is no room is then told by `close` or `fsync`.
    pub gather_writes: bool,
    /// How many requests are served at once.
    pub threads: usize,
    /// How many files the kernel may remember, where each takes a descriptor here: beyond that it is told to forget some.
    pub most_remembered: Option<usize>,
    /// Everything belongs to one user, whoever it belongs to in the engine; none where owners are as they are.
    pub one_owner: Option<OneOwner>,
}

/// How everything comes to belong to one user.
#[derive(Clone, Copy, Debug)]
pub struct OneOwner {
    /// The user and the group that the kernel is told.
    pub shown: (u32, u32),
    /// Those that the engine is told of who asks.
    pub kept: (u32, u32),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sharing: Sharing::Shared,
            gather_writes: false,
            threads: 4,
            most_remembered: None,
            one_owner: None,
        }
    }
}

/// One connection of the kernel with an engine.
#[derive(Debug)]
pub struct Fuse {
    engine: Arc<dyn Engine>,
    settings: Settings,
    device: OwnedFd,
    held: Held,
    told: Told,
    /// Closing a file must reach the engine.
    flushes: bool,
    waiting: Mutex<Waiting>,
}

/// Requests that wait for something, by their number; true when they are no longer wanted.
type Waiting = HashMap<u64, Arc<AtomicBool>>;

/// What is told to the kernel unasked, where somebody has changed what it keeps.
#[derive(Clone, Debug)]
pub struct Kernel(Arc<Fuse>);

/// How a request is answered.
enum Done {
    /// With what was written, and with what the kernel gets by it: given back if the answer does not arrive.
    Reply(Gained),
    /// With so many bytes of the buffer.
    Data(usize),
    /// Not at all, or by somebody else.
    Silent,
}

/// What an answer hands to the kernel.
#[derive(Clone, Copy, Default)]
struct Gained {
    inode: Option<Inode>,
    handle: Option<Handle>,
}

impl Fuse {
    /// Agrees with the kernel on how to speak; the file system must be mounted.
    pub fn begin(
        engine: Arc<dyn Engine>,
        device: OwnedFd,
        settings: Settings,
    ) -> std::io::Result<Arc<Self>> {
        // Where others lock too, a process loses its locks when it closes the file.
        let flushes = engine.flushes() || settings.sharing == Sharing::Shared;
        let (held, told, waiting) = (Held::new(), Told::default(), Mutex::default());
        let fuse = Self { engine, settings, device, held, told, flushes, waiting };
        fuse.agree()?;
        Ok(Arc::new(fuse))
    }

    /// Serves until the file system is unmounted, and gives everything back.
    pub fn serve(self: &Arc<Self>) -> std::io::Result<()> {
        let served = std::thread::scope(|scope| {
            let trimming = std::thread::Builder::new().spawn_scoped(scope, || self.trim());
            let mut others = Vec::new();
            for _ in 1..self.settings.threads {
                // Fewer serve as well.
                let thread = std::thread::Builder::new().spawn_scoped(scope, || self.answer_all());
                others.extend(thread);
            }
            let first = self.answer_all();
            let ended = others.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
            });
            let all = ended.fold(first, Result::and);
            self.stop_trimming();
            trimming.map_or_else(Err, |_| all)
        });
        self.stop_waiting();
        self.held.end(&*self.engine);
        served
    }

    /// What is told to the kernel unasked.
    pub fn kernel(self: &Arc<Self>) -> Kernel {
        Kernel(Arc::clone(self))
    }

    fn answer_all(self: &Arc<Self>) -> std::io::Result<()> {
        let mut request = vec![0; REQUEST_BYTES];
        let mut reply = Reply::showing(self.settings.one_owner.map(|owner| owner.shown));
        let mut data = vec![0; MOST_BYTES];
        loop {
            let count = match rustix::io::read(&self.device, &mut request[..]) {
                Ok(count) => count,
                // One that was interrupted before it was read.
                Err(Errno::NOENT | Errno::INTR | Errno::AGAIN) => continue,
                // The mount is gone; the second where that happened while a request was handed over.
                Err(Errno::NODEV | Errno::CONNABORTED) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            };
            let bytes = request.get(..count).unwrap_or_default();
            let Some(request) = Request::read(bytes) else {
                return Err(std::io::Error::from(std::io::ErrorKind::InvalidData));
            };
            if request.operation == operation::END {
                self.send(reply.done(request.unique, 0), &[])?;
                return Ok(());
            }
            self.answer(&request, &mut reply, &mut data)?;
        }
    }

    fn answer(
        self: &Arc<Self>,
        request: &Request<'_>,
        reply: &mut Reply,
        data: &mut [u8],
    ) -> std::io::Result<()> {
        reply.clear();
        match self.perform(request, reply, data) {
            Ok(Done::Silent) => Ok(()),
            Ok(Done::Reply(gained)) => {
                let arrived = self.send(reply.done(request.unique, 0), &[])?;
                if !arrived {
                    self.give_back(gained);
                }
                Ok(())
            }
            Ok(Done::Data(count)) => {
                let data = data.get(..count).unwrap_or_default();
                self.send(reply.done(request.unique, count), data).map(drop)
            }
            Err(errno) => self.send(reply.error(request.unique, errno), &[]).map(drop),
        }
    }

    fn perform(
        self: &Arc<Self>,
        request: &Request<'_>,
        reply: &mut Reply,
        data: &mut [u8],
    ) -> Result<Done, Errno> {
        match request.operation {
            operation::LOOKUP => self.lookup(request, reply),
            operation::FORGET | operation::FORGET_MANY => {
                // It is never answered, whatever is in it.
                let _unreadable = self.forget(request);
                Ok(Done::Silent)
            }
            operation::ATTRIBUTES => self.attributes(request, reply),
            operation::CHANGE => self.change(request, reply),
            operation::READ_LINK => self.read_link(request, reply),
            operation::MAKE_LINK => self.make_link(request, reply),
            operation::MAKE_NODE => self.make_node(request, reply),
            operation::MAKE_DIRECTORY => self.make_directory(request, reply),
            operation::CREATE => self.create(request, reply),
            operation::UNLINK | operation::REMOVE_DIRECTORY => self.remove(request),
            operation::RENAME | operation::RENAME_WITH_FLAGS => self.rename(request),
            operation::LINK => self.link(request, reply),
            operation::OPEN => self.open(request, reply),
            operation::READ => self.read(request, data),
            operation::WRITE => self.write(request, reply),
            operation::RELEASE | operation::RELEASE_DIRECTORY => self.release(request),
            operation::FLUSH => self.flush(request),
            operation::SYNC | operation::SYNC_DIRECTORY => self.sync(request),
            operation::ALLOCATE => self.allocate(request),
            operation::SEEK => self.seek(request, reply),
            operation::SPACE => self.space(request, reply),
            operation::OPEN_DIRECTORY => self.open_directory(request, reply),
            operation::LIST => self.list(request, reply),
            operation::LIST_AND_LOOKUP => self.list_and_look_up(request, reply),
            operation::XATTR => self.xattr(request, reply),
            operation::XATTRS => self.xattrs(request, reply),
            operation::SET_XATTR => self.set_xattr(request),
            operation::REMOVE_XATTR => self.remove_xattr(request),
            operation::TEST_LOCK => self.test_lock(request, reply),
            operation::LOCK | operation::LOCK_AND_WAIT => self.lock(request),
            operation::INTERRUPT => self.interrupt(request),
            _ => Err(Errno::NOSYS),
        }
    }

    /// Sends an answer; false if nobody waits for it any more.
    fn send(&self, head: &[u8], data: &[u8]) -> std::io::Result<bool> {
        loop {
            let slices = [IoSlice::new(head), IoSlice::new(data)];
            match rustix::io::writev(&self.device, &slices) {
                Ok(_) => return Ok(true),
                Err(Errno::INTR | Errno::AGAIN) => {}
                // Interrupted, or unmounted meanwhile.
                Err(Errno::NOENT | Errno::NODEV) => return Ok(false),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn give_back(&self, gained: Gained) {
        if let Some(handle) = gained.handle {
            self.held.close(&*self.engine, handle);
        }
        if let Some(inode) = gained.inode {
            self.held.forget(&*self.engine, inode, 1);
        }
    }

    /// The engine's inode of a node. The root is 1 to the kernel, whatever the engine calls it.
    fn inode(&self, node: u64) -> Inode {
        let root = self.engine.root().0;
        Inode(if node == wire::ROOT {
            root
        } else if node == root {
            wire::ROOT
        } else {
            node
        })
    }

    /// The same the other way round.
    fn node(&self, inode: Inode) -> u64 {
        self.inode(inode.0).0
    }

    /// Who asks.
    fn caller(&self, request: &Request<'_>) -> Caller {
        if let Some(OneOwner { kept: (uid, gid), .. }) = self.settings.one_owner {
            return Caller { umask: 0, pid: request.pid, ..Caller::of(uid, gid) };
        }
        let groups: Arc<[u32]> = request.group.into_iter().collect();
        // The mode that the kernel sends has no bits of the umask any more.
        Caller { uid: request.uid, gid: request.gid, groups, umask: 0, pid: request.pid }
    }

    fn is_alone(&self) -> bool {
        self.settings.sharing == Sharing::Alone
    }

    /// For how long the kernel keeps what it is told.
    fn valid(&self) -> Valid {
        let seconds = if self.is_alone() { FOR_GOOD } else { 0 };
        Valid { name: seconds, attributes: seconds }
    }
}

impl Kernel {
    /// A name in a directory leads elsewhere now, or nowhere.
    pub fn name_changed(&self, directory: Inode, name: &[u8]) -> std::io::Result<()> {
        let mut message = Reply::new();
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        message.u64(self.0.node(directory)).u32(length).u32(0).bytes(name).bytes(&[0]);
        self.0.send(message.message(NAME_CHANGED), &[]).map(drop)
    }

    /// A file is another than the kernel was told, in its contents too.
    pub fn file_changed(&self, file: Inode) -> std::io::Result<()> {
        let mut message = Reply::new();
        message.u64(self.0.node(file)).u64(0).u64(0);
        self.0.send(message.message(FILE_CHANGED), &[]).map(drop)
    }
}

/// The most that is read or written at once.
const MOST_BYTES: usize = 1 << 20;
/// With what comes before the data of a write.
const REQUEST_BYTES: usize = MOST_BYTES + 4096;
/// A year: the kernel has no word for it.
const FOR_GOOD: u64 = 365 * 24 * 3600;
const FILE_CHANGED: i32 = 2;
const NAME_CHANGED: i32 = 3;
