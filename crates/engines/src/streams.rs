//! The three streams of a guest. It never learns what is behind them: a descriptor of this process, bytes, or nothing.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

/// Where a guest reads from.
#[derive(Debug, Default)]
pub enum Input {
    /// There is nothing to read.
    #[default]
    Empty,
    /// These bytes, and then the end.
    Bytes(Vec<u8>),
    /// What is behind a descriptor.
    Descriptor(OwnedFd),
}

/// Where a guest writes to.
#[derive(Debug, Default)]
pub enum Output {
    /// Nowhere.
    #[default]
    Nothing,
    /// Memory.
    Kept(Kept),
    /// What is behind a descriptor.
    Descriptor(OwnedFd),
}

/// What a guest has written, for whoever made its streams. What is beyond the bound is dropped.
#[derive(Clone, Debug)]
pub struct Kept {
    bytes: Arc<Mutex<Vec<u8>>>,
    most: usize,
}

impl Kept {
    /// Nothing yet, and so much at most.
    pub fn new(most: usize) -> Self {
        Self { bytes: Arc::default(), most }
    }

    /// What was written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, more: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.most.saturating_sub(bytes.len()).min(more.len());
        bytes.extend_from_slice(more.get(..room).unwrap_or_default());
    }
}

/// Standard input, output and error.
#[derive(Debug, Default)]
pub struct Streams {
    /// Where it reads from.
    pub input: Input,
    /// Where it writes to.
    pub output: Output,
    /// Where it complains.
    pub error: Output,
}

/// One of them, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Input,
    Output,
    Error,
}

impl Streams {
    /// Reads from the first.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<usize, Errno> {
        match &mut self.input {
            Input::Empty => Ok(0),
            Input::Bytes(bytes) => {
                let count = bytes.len().min(into.len());
                let rest = bytes.split_off(count);
                if let Some(into) = into.get_mut(..count) {
                    into.copy_from_slice(bytes);
                }
                *bytes = rest;
                Ok(count)
            }
            Input::Descriptor(descriptor) => again(|| rustix::io::read(&*descriptor, &mut *into)),
        }
    }

    /// Writes to one of the others.
    pub(crate) fn write(&mut self, to: Stream, bytes: &[u8]) -> Result<usize, Errno> {
        let output = match to {
            Stream::Input => return Err(Errno::BADF),
            Stream::Output => &self.output,
            Stream::Error => &self.error,
        };
        match output {
            Output::Nothing => Ok(bytes.len()),
            Output::Kept(kept) => {
                kept.add(bytes);
                Ok(bytes.len())
            }
            Output::Descriptor(descriptor) => again(|| rustix::io::write(descriptor, bytes)),
        }
    }

    /// Writes all of it. Nothing can be done for what is behind a closed pipe.
    pub(crate) fn write_all(&mut self, to: Stream, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let count = self.write(to, bytes)?;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Whether a person is at the other end.
    pub(crate) fn is_terminal(&self, stream: Stream) -> bool {
        self.descriptor(stream).is_some_and(rustix::termios::isatty)
    }

    /// What is behind one of them, if that is a descriptor: to wait for it.
    pub(crate) fn descriptor(&self, stream: Stream) -> Option<&OwnedFd> {
        let output = match (stream, &self.input) {
            (Stream::Input, Input::Descriptor(descriptor)) => return Some(descriptor),
            (Stream::Input, _) => return None,
            (Stream::Output, _) => &self.output,
            (Stream::Error, _) => &self.error,
        };
        match output {
            Output::Descriptor(descriptor) => Some(descriptor),
            Output::Nothing | Output::Kept(_) => None,
        }
    }
}

fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
