//! From a program's pipe or terminal into the buffer of its output, as far as there is room.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::output::{OutputBuffer, Resume};
use super::request::Keep;
use super::watch::{Key, Subject, Watch};

/// One output of a program on its way into memory.
#[derive(Debug)]
pub(super) struct Pump {
    pub(super) buffer: Arc<OutputBuffer>,
    source: Arc<Source>,
}

/// What a pump reads from; none once there is nothing more to come.
#[derive(Debug)]
struct Source {
    descriptor: Mutex<Option<OwnedFd>>,
    watch: Arc<Watch>,
    key: Key,
    subject: Subject,
}

impl Pump {
    /// Reads nothing before [`Self::begin`].
    pub(super) fn new(
        descriptor: OwnedFd,
        keep: Keep,
        watch: &Arc<Watch>,
        key: Key,
        subject: Subject,
    ) -> Self {
        let descriptor = Mutex::new(Some(descriptor));
        let source = Arc::new(Source { descriptor, watch: Arc::clone(watch), key, subject });
        let resume: Box<dyn Resume> = Box::new(Arc::clone(&source));
        Self { buffer: Arc::new(OutputBuffer::new(keep, resume)), source }
    }

    pub(super) fn begin(&self) -> Result<(), Errno> {
        self.source.resume_watching()
    }

    /// Whether there is nothing more to come.
    pub(super) fn is_done(&self) -> bool {
        self.source.lock().is_none()
    }

    /// Takes what is there, at most so much that others get their turn.
    pub(super) fn take(&self, scratch: &mut [u8]) {
        for _ in 0..MOST_READS {
            if !self.take_once(scratch) {
                return;
            }
        }
    }

    /// Takes all that is there.
    pub(super) fn take_all(&self, scratch: &mut [u8]) {
        while self.take_once(scratch) {}
    }

    /// Lets go of the source, whatever may still come.
    pub(super) fn stop(&self) {
        let source = self.source.lock();
        self.end(source);
    }

    /// Reads once; whether there may be more.
    fn take_once(&self, scratch: &mut [u8]) -> bool {
        let source = self.source.lock();
        let Some(descriptor) = source.as_ref() else { return false };
        let mut room = self.buffer.room();
        if room == 0 {
            self.source.watch.remove(descriptor.as_fd());
            // A reader may have made room between the two, and found nothing to resume yet.
            room = self.buffer.room();
            if room == 0 {
                return false;
            }
            let _watched = self.source.add(descriptor);
        }
        if !is_readable(descriptor) {
            return false;
        }
        let length = scratch.len().min(room);
        let Some(space) = scratch.get_mut(..length) else { return false };
        match rustix::io::read(descriptor, &mut *space) {
            Ok(count @ 1..) => {
                drop(source);
                self.buffer.append(space.get(..count).unwrap_or_default());
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            // A terminal whose other end is closed says EIO.
            Ok(0) | Err(_) => {
                self.end(source);
                false
            }
        }
    }

    fn end(&self, mut source: MutexGuard<'_, Option<OwnedFd>>) {
        if let Some(descriptor) = source.take() {
            self.source.watch.remove(descriptor.as_fd());
        }
        // Whoever is woken may come back here at once.
        drop(source);
        self.buffer.close();
    }
}

impl Source {
    fn lock(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.descriptor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, descriptor: &OwnedFd) -> Result<(), Errno> {
        self.watch.add(descriptor.as_fd(), self.key, self.subject)
    }

    fn resume_watching(&self) -> Result<(), Errno> {
        match self.lock().as_ref() {
            Some(descriptor) => self.add(descriptor),
            None => Ok(()),
        }
    }
}

impl Resume for Arc<Source> {
    fn resume(&self) {
        // A descriptor that cannot be watched again is read when the program has ended.
        let _watched = self.resume_watching();
    }
}

/// A terminal cannot be made to refuse waiting without the other users of this end, so every read
/// asks first.
fn is_readable(descriptor: &OwnedFd) -> bool {
    let mut waiting = [PollFd::new(descriptor, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut waiting, Some(&now)) == Ok(1)
}

const MOST_READS: usize = 8;

/// How much is read at once: as much as a pipe holds.
pub(super) const SCRATCH: usize = 64 * 1024;
