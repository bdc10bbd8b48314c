//! What a program has written, kept in memory up to a bound, for any number of readers at their own
//! pace. Memory is taken as output comes, so a cage that says nothing costs nothing.
//!
//! Never waits for a reader by itself: whoever fills a buffer asks how much room there is.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::request::{Keep, Overflow};

#[cfg(test)]
mod tests;

/// One output of a program. Positions are counted from its first byte.
#[derive(Debug)]
pub struct OutputBuffer {
    state: Mutex<State>,
    changed: Condvar,
    /// Called when a program that waited for readers can go on.
    resume: Box<dyn Resume>,
}

/// Lets a source of bytes that was paused go on.
pub(super) trait Resume: std::fmt::Debug + Send + Sync {
    /// Goes on.
    fn resume(&self);
}

#[derive(Debug)]
struct State {
    chunks: VecDeque<Vec<u8>>,
    /// The position of the first byte that is kept.
    start: u64,
    /// How many bytes of the first chunk come before it.
    skipped: usize,
    /// The position after the last byte.
    end: u64,
    keep: Keep,
    /// Where each reader is.
    readers: BTreeMap<u64, u64>,
    next_reader: u64,
    paused: bool,
    closed: bool,
    wakers: Vec<Waker>,
}

impl OutputBuffer {
    pub(super) fn new(keep: Keep, resume: Box<dyn Resume>) -> Self {
        let state = State {
            chunks: VecDeque::new(),
            start: 0,
            skipped: 0,
            end: 0,
            keep,
            readers: BTreeMap::new(),
            next_reader: 0,
            paused: false,
            closed: false,
            wakers: Vec::new(),
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), resume }
    }

    /// A reader that begins with the oldest byte that is kept.
    pub fn reader(self: &Arc<Self>) -> OutputReader {
        self.reader_at(0)
    }

    /// A reader that begins at a position; with the oldest byte that is kept where that one is
    /// gone, and with what comes next where it has not been written yet.
    pub fn reader_at(self: &Arc<Self>, position: u64) -> OutputReader {
        let mut state = self.lock();
        let position = position.clamp(state.start, state.end);
        let reader = state.next_reader;
        state.next_reader += 1;
        state.readers.insert(reader, position);
        drop(state);
        OutputReader { buffer: Arc::clone(self), place: Place { reader, position, missed: 0 } }
    }

    /// The positions of the bytes that are kept. The end is how much was written in all.
    pub fn kept(&self) -> Range<u64> {
        let state = self.lock();
        state.start..state.end
    }

    /// Whether nothing can be added any more.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// How many bytes can be taken in now. With none, the source is paused and told when there is
    /// room again.
    pub(super) fn room(&self) -> usize {
        let mut state = self.lock();
        let room = state.room();
        state.paused = room == 0;
        room
    }

    /// Takes in bytes, for which there must be room.
    pub(super) fn append(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.append(bytes);
        self.tell(state);
    }

    /// There is nothing more to come.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.tell(state);
    }

    /// Nobody will read any more: from now on nothing makes the program wait.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.keep.overflow = Overflow::Discard;
        self.resume_if_there_is_room(state);
    }

    fn resume_if_there_is_room(&self, mut state: MutexGuard<'_, State>) {
        let resume = state.paused && state.room() > 0;
        if resume {
            state.paused = false;
        }
        drop(state);
        if resume {
            self.resume.resume();
        }
    }

    fn tell(&self, mut state: MutexGuard<'_, State>) {
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked while it held the lock has left the state as it was.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn room(&self) -> usize {
        match self.keep.overflow {
            Overflow::Discard => usize::MAX,
            Overflow::Backpressure => {
                // With no reader nothing may be dropped at all.
                let needed = self.readers.values().min().copied().unwrap_or(self.start);
                let waiting = usize::try_from(self.end - needed).unwrap_or(usize::MAX);
                self.keep.bytes.saturating_sub(waiting)
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.end = self.end.saturating_add(length);
        let mut rest = bytes;
        while !rest.is_empty() {
            let last = self.chunks.back_mut().filter(|chunk| chunk.len() < CHUNK);
            let chunk = match last {
                Some(chunk) => chunk,
                None => {
                    // A short line does not take a whole chunk, a flood does not grow one by one.
                    self.chunks.push_back(Vec::with_capacity(rest.len().clamp(64, CHUNK)));
                    continue;
                }
            };
            let (now, later) = rest.split_at(rest.len().min(CHUNK - chunk.len()));
            chunk.extend_from_slice(now);
            rest = later;
        }
        let keep = u64::try_from(self.keep.bytes).unwrap_or(u64::MAX);
        let dropped = self.end.saturating_sub(keep).saturating_sub(self.start);
        self.drop_oldest(dropped);
    }

    fn drop_oldest(&mut self, count: u64) {
        self.start += count;
        self.skipped = self.skipped.saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
        while let Some(first) = self.chunks.front()
            && self.skipped >= first.len()
        {
            self.skipped -= first.len();
            self.chunks.pop_front();
        }
    }

    /// Copies what is kept from a position on.
    fn copy(&self, position: u64, buffer: &mut [u8]) -> usize {
        let from = usize::try_from(position - self.start).unwrap_or(usize::MAX);
        let mut skip = self.skipped.saturating_add(from);
        let mut filled = 0;
        for chunk in &self.chunks {
            let Some(bytes) = chunk.get(skip..) else {
                skip -= chunk.len();
                continue;
            };
            skip = 0;
            let Some(free) = buffer.get_mut(filled..) else { break };
            let count = bytes.len().min(free.len());
            if let (Some(to), Some(from)) = (free.get_mut(..count), bytes.get(..count)) {
                to.copy_from_slice(from);
            }
            filled += count;
            if filled == buffer.len() {
                break;
            }
        }
        filled
    }
}

/// One reader of an output. Reads everything that is kept and then what comes, until the program
/// and whatever it started can write no more.
#[derive(Debug)]
pub struct OutputReader {
    buffer: Arc<OutputBuffer>,
    place: Place,
}

/// Where a reader is.
#[derive(Debug)]
struct Place {
    reader: u64,
    position: u64,
    missed: u64,
}

impl OutputReader {
    /// The position of the next byte that it reads.
    pub fn position(&self) -> u64 {
        self.place.position
    }

    /// How many bytes were dropped before it could read them.
    pub fn missed(&self) -> u64 {
        self.place.missed
    }

    /// Reads what is there: zero at the end, none where nothing is there yet.
    pub fn read_now(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let mut state = self.buffer.lock();
        let count = self.place.read(&mut state, buffer);
        self.buffer.resume_if_there_is_room(state);
        count
    }

    /// As [`Self::read_now`] for a task: it is woken when there is something to read.
    pub fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<usize> {
        let mut state = self.buffer.lock();
        if let Some(count) = self.place.read(&mut state, buffer) {
            self.buffer.resume_if_there_is_room(state);
            return Poll::Ready(count);
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Reads as soon as there is something, in a task of any runtime; zero at the end.
    pub fn read_async<'a>(&'a mut self, buffer: &'a mut [u8]) -> ReadOutput<'a> {
        ReadOutput { reader: self, buffer }
    }
}

impl Place {
    fn read(&mut self, state: &mut State, buffer: &mut [u8]) -> Option<usize> {
        if self.position < state.start {
            self.missed += state.start - self.position;
            self.position = state.start;
        }
        let count = match state.copy(self.position, buffer) {
            0 if !buffer.is_empty() && !state.closed => None,
            count => Some(count),
        };
        self.position += count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
        if let Some(position) = state.readers.get_mut(&self.reader) {
            *position = self.position;
        }
        count
    }
}

impl io::Read for OutputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.buffer.lock();
        loop {
            if let Some(count) = self.place.read(&mut state, buffer) {
                self.buffer.resume_if_there_is_room(state);
                return Ok(count);
            }
            state = self.buffer.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for OutputReader {
    fn drop(&mut self) {
        let mut state = self.buffer.lock();
        state.readers.remove(&self.place.reader);
        self.buffer.resume_if_there_is_room(state);
    }
}

/// The future of [`OutputReader::read_async`].
#[derive(Debug)]
pub struct ReadOutput<'a> {
    reader: &'a mut OutputReader,
    buffer: &'a mut [u8],
}

impl Future for ReadOutput<'_> {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        let Self { reader, buffer } = &mut *self;
        reader.poll_read(context, buffer)
    }
}

/// How much memory is taken at once at most.
const CHUNK: usize = 32 * 1024;
