//! `wasi:io/streams`: bytes from and to the three streams, files and connections. Reading and writing never wait for a
//! connection or an input; what says `blocking` does. Of a file and of an output, writing waits as a system call does.

use std::sync::Arc;

use rustix::event::PollFlags;
use rustix::io::Errno;
use wasmtime::component::Resource;

use super::bindings::wasi::io::streams;
use super::codes::{Failed, StreamFault};
use super::host::{File, Host};
use super::http::exchange::Exchange;
use super::http::outgoing::Written;
use super::network::Socket;
use super::pollables::Pollable;
use crate::streams::Stream;

/// Where a component reads from.
#[derive(Clone, Debug)]
pub enum InputStream {
    Standard,
    /// A file, from here on.
    File(File, u64),
    Socket(Arc<Socket>),
    /// The body of an answer over HTTP.
    Answer(Arc<Exchange>),
}

/// Where a component writes to.
#[derive(Clone, Debug)]
pub enum OutputStream {
    Standard(Stream),
    /// A file, from here on; at its end where there is no number.
    File(File, Option<u64>),
    Socket(Arc<Socket>),
    /// The body of a request over HTTP.
    Body(Arc<Written>),
}

type Outcome<T> = Result<T, StreamFault>;

impl InputStream {
    fn pollable(&self) -> Pollable {
        match self {
            Self::Standard => Pollable::Stream(Stream::Input),
            Self::File(..) => Pollable::Ready,
            Self::Socket(socket) => Pollable::Socket(Arc::clone(socket), PollFlags::IN),
            Self::Answer(exchange) => Pollable::Exchange(Arc::clone(exchange)),
        }
    }
}

impl OutputStream {
    fn pollable(&self) -> Pollable {
        match self {
            Self::Standard(stream) => Pollable::Stream(*stream),
            Self::File(..) | Self::Body(_) => Pollable::Ready,
            Self::Socket(socket) => Pollable::Socket(Arc::clone(socket), PollFlags::OUT),
        }
    }
}

impl Host {
    /// What there is of so many bytes; nothing if it is not there yet.
    fn read_some(&mut self, from: &Resource<InputStream>, most: u64) -> Outcome<Vec<u8>> {
        let pollable = self.table.get(from)?.pollable();
        if most == 0 || !self.is_ready(&pollable)? {
            return Ok(Vec::new());
        }
        let most = usize::try_from(most).unwrap_or(MOST_AT_ONCE).min(MOST_AT_ONCE);
        let mut bytes = vec![0; most];
        let read = match self.table.get_mut(from)? {
            InputStream::Standard => self.world.streams.read(&mut bytes),
            InputStream::File(file, at) => {
                let read = file.open.read_at(*at, &mut bytes).map_err(|error| error.errno);
                *at = at.saturating_add(read.unwrap_or_default() as u64);
                read
            }
            InputStream::Socket(socket) => socket.receive(&mut bytes),
            InputStream::Answer(exchange) => {
                match (exchange.receive(&mut bytes), exchange.failure()) {
                    (Ok(0), Some(code)) => return Err(StreamFault::Failed(Failed::Request(code))),
                    (read, _) => read,
                }
            }
        };
        match read {
            Ok(0) => Err(StreamFault::Closed),
            Ok(count) => {
                bytes.truncate(count);
                Ok(bytes)
            }
            Err(Errno::AGAIN) => Ok(Vec::new()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn read_waiting(&mut self, from: &Resource<InputStream>, most: u64) -> Outcome<Vec<u8>> {
        loop {
            let bytes = self.read_some(from, most)?;
            if !bytes.is_empty() || most == 0 {
                return Ok(bytes);
            }
            let pollable = self.table.get(from)?.pollable();
            self.block_on(&pollable)?;
        }
    }

    /// How much may be written now.
    fn room(&mut self, to: &Resource<OutputStream>) -> Outcome<u64> {
        let stream = self.table.get(to)?;
        if let OutputStream::Socket(socket) = stream {
            return Ok(if socket.flush()? { MOST_AT_ONCE as u64 } else { 0 });
        }
        let is_ready = self.is_ready(&stream.pollable())?;
        Ok(if is_ready { MOST_AT_ONCE as u64 } else { 0 })
    }

    fn write_all(&mut self, to: &Resource<OutputStream>, bytes: &[u8]) -> Outcome<()> {
        let caller = &self.world.caller;
        match self.table.get_mut(to)? {
            OutputStream::Standard(stream) => Ok(self.world.streams.write_all(*stream, bytes)?),
            OutputStream::Socket(socket) => Ok(socket.send(bytes)?),
            OutputStream::Body(written) => written.write(bytes),
            OutputStream::File(file, at) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let count = match at {
                        Some(at) => file.open.write_at(caller, *at, rest)?,
                        None => file.open.write(caller, rest)?,
                    };
                    if count == 0 {
                        return Err(Errno::IO.into());
                    }
                    *at = at.map(|at| at.saturating_add(count as u64));
                    rest = rest.get(count..).unwrap_or_default();
                }
                Ok(file.sync_if_asked()?)
            }
        }
    }

    /// Waits until everything that was written has gone.
    fn flush_waiting(&mut self, to: &Resource<OutputStream>) -> Outcome<()> {
        let OutputStream::Socket(socket) = self.table.get(to)? else { return Ok(()) };
        Ok(socket.flush_waiting()?)
    }

    /// Zeroes are made here, so that they are no more than what may be written.
    fn zeroes(length: u64) -> Outcome<Vec<u8>> {
        let length = usize::try_from(length).ok().filter(|length| *length <= MOST_AT_ONCE);
        let refused =
            || wasmtime::Error::msg("more zeroes were written than `check-write` permits");
        Ok(vec![0; length.ok_or_else(refused)?])
    }
}

impl streams::Host for Host {
    fn convert_stream_error(
        &mut self,
        fault: StreamFault,
    ) -> wasmtime::Result<streams::StreamError> {
        self.stream_error(fault)
    }
}

impl streams::HostInputStream for Host {
    fn read(&mut self, from: Resource<InputStream>, most: u64) -> Outcome<Vec<u8>> {
        self.read_some(&from, most)
    }

    fn blocking_read(&mut self, from: Resource<InputStream>, most: u64) -> Outcome<Vec<u8>> {
        self.read_waiting(&from, most)
    }

    fn skip(&mut self, from: Resource<InputStream>, most: u64) -> Outcome<u64> {
        Ok(self.read_some(&from, most)?.len() as u64)
    }

    fn blocking_skip(&mut self, from: Resource<InputStream>, most: u64) -> Outcome<u64> {
        Ok(self.read_waiting(&from, most)?.len() as u64)
    }

    fn subscribe(&mut self, from: Resource<InputStream>) -> wasmtime::Result<Resource<Pollable>> {
        let pollable = self.table.get(&from)?.pollable();
        self.push(pollable)
    }

    fn drop(&mut self, from: Resource<InputStream>) -> wasmtime::Result<()> {
        self.table.delete(from)?;
        Ok(())
    }
}

impl streams::HostOutputStream for Host {
    fn check_write(&mut self, to: Resource<OutputStream>) -> Outcome<u64> {
        self.room(&to)
    }

    fn write(&mut self, to: Resource<OutputStream>, bytes: Vec<u8>) -> Outcome<()> {
        self.write_all(&to, &bytes)
    }

    fn blocking_write_and_flush(
        &mut self,
        to: Resource<OutputStream>,
        bytes: Vec<u8>,
    ) -> Outcome<()> {
        self.flush_waiting(&to)?;
        self.write_all(&to, &bytes)?;
        self.flush_waiting(&to)
    }

    fn flush(&mut self, to: Resource<OutputStream>) -> Outcome<()> {
        self.room(&to).map(drop)
    }

    fn blocking_flush(&mut self, to: Resource<OutputStream>) -> Outcome<()> {
        self.flush_waiting(&to)
    }

    fn subscribe(&mut self, to: Resource<OutputStream>) -> wasmtime::Result<Resource<Pollable>> {
        let pollable = self.table.get(&to)?.pollable();
        self.push(pollable)
    }

    fn write_zeroes(&mut self, to: Resource<OutputStream>, length: u64) -> Outcome<()> {
        self.write_all(&to, &Self::zeroes(length)?)
    }

    fn blocking_write_zeroes_and_flush(
        &mut self,
        to: Resource<OutputStream>,
        length: u64,
    ) -> Outcome<()> {
        self.blocking_write_and_flush(to, Self::zeroes(length)?)
    }

    fn splice(
        &mut self,
        to: Resource<OutputStream>,
        from: Resource<InputStream>,
        most: u64,
    ) -> Outcome<u64> {
        let most = self.room(&to)?.min(most);
        let bytes = self.read_some(&from, most)?;
        self.write_all(&to, &bytes)?;
        Ok(bytes.len() as u64)
    }

    fn blocking_splice(
        &mut self,
        to: Resource<OutputStream>,
        from: Resource<InputStream>,
        most: u64,
    ) -> Outcome<u64> {
        self.flush_waiting(&to)?;
        let bytes = self.read_waiting(&from, most)?;
        self.write_all(&to, &bytes)?;
        Ok(bytes.len() as u64)
    }

    fn drop(&mut self, to: Resource<OutputStream>) -> wasmtime::Result<()> {
        self.table.delete(to)?;
        Ok(())
    }
}

/// What one call reads or may write.
const MOST_AT_ONCE: usize = 64 << 10;
