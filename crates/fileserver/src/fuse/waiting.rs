//! Requests that wait for something else than us: a lock that somebody has, an answer that is not there yet. Each waits in
//! a thread of its own, so that nobody waits with it, and ends when the program that asks is woken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use rustix::io::Errno;
use vfs::Handle;

use super::names::errno;
use super::reply::Reply;
use super::wire::Request;
use super::{Done, Fuse};

impl Fuse {
    /// Counts a request among those that wait; none if too many do. True is set when it is no longer wanted.
    pub(super) fn begin_waiting(&self, unique: u64) -> Option<Arc<AtomicBool>> {
        let mut waiting = self.waiting();
        if waiting.len() >= MOST_WAITING {
            return None;
        }
        let is_unwanted = Arc::new(AtomicBool::new(false));
        waiting.insert(unique, Arc::clone(&is_unwanted));
        Some(is_unwanted)
    }

    /// It waits no more.
    pub(super) fn end_waiting(&self, unique: u64) {
        self.waiting().remove(&unique);
    }

    /// Reads what may not be there yet.
    pub(super) fn read_stream(
        self: &Arc<Self>,
        unique: u64,
        handle: Handle,
        size: usize,
    ) -> Result<Done, Errno> {
        let is_unwanted = self.begin_waiting(unique).ok_or(Errno::AGAIN)?;
        let fuse = Arc::clone(self);
        let reads = move || {
            let mut data = vec![0; size];
            let wanted = || is_unwanted.load(Ordering::SeqCst);
            let read = fuse.engine.read_stream(handle, &mut data, &wanted).map_err(errno);
            fuse.end_waiting(unique);
            let mut reply = Reply::new();
            let _gone = match read {
                Ok(count) => {
                    let data = data.get(..count).unwrap_or_default();
                    fuse.send(reply.done(unique, count), data)
                }
                Err(errno) => fuse.send(reply.error(unique, errno), &[]),
            };
        };
        if std::thread::Builder::new().spawn(reads).is_err() {
            self.end_waiting(unique);
            return Err(Errno::AGAIN);
        }
        Ok(Done::Silent)
    }

    /// The connection has ended: nobody waits any more.
    pub(super) fn stop_waiting(&self) {
        self.waiting().values().for_each(|is_unwanted| is_unwanted.store(true, Ordering::SeqCst));
    }

    /// A request that is named is no longer wanted. This is never answered.
    pub(super) fn interrupt(&self, request: &Request<'_>) -> Result<Done, Errno> {
        let mut body = request.body;
        if let Ok(unique) = body.u64()
            && let Some(is_unwanted) = self.waiting().get(&unique)
        {
            is_unwanted.store(true, Ordering::SeqCst);
        }
        Ok(Done::Silent)
    }

    fn waiting(&self) -> MutexGuard<'_, super::Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const MOST_WAITING: usize = 256;
