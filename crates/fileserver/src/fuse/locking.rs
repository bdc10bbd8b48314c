//! Requests about locks, where others lock the same files too. Whoever waits for one waits in a thread of its own, so
//! that nobody else waits with it, and is woken when its process is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use vfs::{HeldLock, Inode, LockKind, Patience, Range};

use super::names::errno;
use super::reply::Reply;
use super::wire::{LOCK_WHOLE, Request, operation};
use super::{Done, Fuse, Gained};

/// A lock that is asked for.
#[derive(Clone, Copy)]
struct Wanted {
    inode: Inode,
    lock: HeldLock,
    is_whole: bool,
}

impl Fuse {
    pub(super) fn test_lock(
        &self,
        request: &Request<'_>,
        reply: &mut Reply,
    ) -> Result<Done, Errno> {
        let wanted = self.wanted_lock(request)?;
        let (locks, file) = self.engine.locks(wanted.inode).map_err(errno)?;
        match locks.test(file, &wanted.lock) {
            Some(held) => {
                let kind = if held.kind == LockKind::Shared { SHARED } else { EXCLUSIVE };
                reply
                    .u64(held.range.first)
                    .u64(held.range.last.min(LAST_BYTE))
                    .u32(kind)
                    .u32(held.pid);
            }
            None => {
                reply.u64(wanted.lock.range.first).u64(LAST_BYTE).u32(NONE).u32(0);
            }
        }
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn lock(self: &Arc<Self>, request: &Request<'_>) -> Result<Done, Errno> {
        let wanted = self.wanted_lock(request)?;
        match self.try_lock(&wanted, Patience::None) {
            Err(Errno::AGAIN) if request.operation == operation::LOCK_AND_WAIT => {}
            done => return done.map(|()| Done::Reply(Gained::default())),
        }
        let unique = request.unique;
        let is_unwanted = self.begin_waiting(unique).ok_or(Errno::NOLCK)?;
        let fuse = Arc::clone(self);
        let waits = move || {
            let done = fuse.wait(&wanted, &is_unwanted);
            fuse.end_waiting(unique);
            let mut reply = Reply::new();
            let answer = match done {
                Ok(()) => reply.done(unique, 0),
                Err(errno) => reply.error(unique, errno),
            };
            // A lock that nobody was told of would stay.
            if !fuse.send(answer, &[]).unwrap_or(false) && done.is_ok() {
                let lock = HeldLock { kind: LockKind::Unlock, ..wanted.lock };
                let _held = fuse.try_lock(&Wanted { lock, ..wanted }, Patience::None);
            }
        };
        let started = std::thread::Builder::new().spawn(waits);
        if started.is_err() {
            self.end_waiting(unique);
            return Err(Errno::NOLCK);
        }
        Ok(Done::Silent)
    }

    fn wait(&self, wanted: &Wanted, is_unwanted: &AtomicBool) -> Result<(), Errno> {
        loop {
            let until = Patience::Until(Instant::now() + GLANCE);
            match self.try_lock(wanted, until) {
                Err(Errno::INTR) if !is_unwanted.load(Ordering::SeqCst) => {}
                done => return done,
            }
        }
    }

    fn try_lock(&self, wanted: &Wanted, patience: Patience) -> Result<(), Errno> {
        let (locks, file) = self.engine.locks(wanted.inode).map_err(errno)?;
        let HeldLock { owner, kind, .. } = wanted.lock;
        if wanted.is_whole {
            return locks.lock_whole(file, owner, kind, patience).map_err(errno);
        }
        locks.lock(file, &wanted.lock, patience).map_err(errno)
    }

    fn wanted_lock(&self, request: &Request<'_>) -> Result<Wanted, Errno> {
        let mut body = request.body;
        let (_handle, owner) = (body.u64()?, body.u64()?);
        let range = Range { first: body.u64()?, last: body.u64()? };
        // To the kernel a file ends where an offset has its sign.
        let last = if range.last >= LAST_BYTE { u64::MAX } else { range.last };
        let kind = match body.u32()? {
            SHARED => LockKind::Shared,
            EXCLUSIVE => LockKind::Exclusive,
            NONE => LockKind::Unlock,
            _ => return Err(Errno::INVAL),
        };
        let (pid, flags) = (body.u32()?, body.u32()?);
        let lock = HeldLock { owner, pid, range: Range { last, ..range }, kind };
        let (inode, is_whole) = (self.inode(request.node), flags & LOCK_WHOLE != 0);
        Ok(Wanted { inode, lock, is_whole })
    }
}

const SHARED: u32 = 0;
const EXCLUSIVE: u32 = 1;
const NONE: u32 = 2;
const LAST_BYTE: u64 = i64::MAX.unsigned_abs();
/// How often a waiting one looks whether it is still wanted.
const GLANCE: Duration = Duration::from_millis(50);
