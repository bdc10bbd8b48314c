//! Moving bytes between a connection inside a cage and one outside, both ways, until both have said
//! all they have to say. The bytes go from socket to socket through a pipe and are not copied; an
//! idle connection holds neither pipe nor buffer. Never looks at what it moves.

mod meter;
mod pipes;

use std::io;
use std::pin::pin;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::pipe::SpliceFlags;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::limits;
pub(crate) use meter::{Direction, HeldBack, Meter};
use pipes::Pipe;
pub(crate) use pipes::Pipes;

/// Moves everything both ways. An error means that one side broke off, or that both were silent for
/// too long; the caller resets the other.
pub(crate) async fn relay(
    inside: &TcpStream,
    outside: &TcpStream,
    meter: &Meter<'_>,
) -> io::Result<()> {
    let outward = pump_to_end(inside, outside, Direction::Outward, meter);
    let inward = pump_to_end(outside, inside, Direction::Inward, meter);
    until_idle(meter, async { tokio::try_join!(outward, inward).map(drop) }).await
}

/// Lets `work` go on until nothing has been moved for too long.
pub(crate) async fn until_idle<T, E: From<io::Error>>(
    meter: &Meter<'_>,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let work = pin!(work);
    tokio::select! {
        biased;
        result = work => result,
        () = meter.idle_for(limits::IDLE) => Err(io::Error::from(Errno::TIMEDOUT).into()),
    }
}

/// Moves everything one way and passes the end on.
pub(crate) async fn pump_to_end(
    from: &TcpStream,
    to: &TcpStream,
    direction: Direction,
    meter: &Meter<'_>,
) -> io::Result<()> {
    pump(from, to, u64::MAX, direction, meter).await?;
    // Whoever is gone by now has no use for the end either.
    let _gone = rustix::net::shutdown(to, rustix::net::Shutdown::Write);
    Ok(())
}

/// Sends bytes that were taken out of the stream to be looked at.
pub(crate) async fn send(
    to: &TcpStream,
    bytes: &[u8],
    direction: Direction,
    meter: &Meter<'_>,
) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        to.writable().await?;
        match to.try_write(rest) {
            Ok(length) => {
                meter.count(direction, length);
                rest = rest.get(length..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Moves at most so many bytes one way; returns how many came before the end.
pub(crate) async fn pump(
    from: &TcpStream,
    to: &TcpStream,
    most: u64,
    direction: Direction,
    meter: &Meter<'_>,
) -> io::Result<u64> {
    let mut left = most;
    while left > 0 {
        from.readable().await?;
        let burst = match meter.pipes.take() {
            Some(pipe) => splice_burst(pipe, from, to, left, direction, meter).await?,
            None => copy_burst(from, to, left, direction, meter).await?,
        };
        left = left.saturating_sub(burst.moved);
        if burst.ended {
            break;
        }
    }
    Ok(most - left)
}

struct Burst {
    moved: u64,
    ended: bool,
}

/// Moves what there is through a pipe, which goes back empty.
async fn splice_burst(
    mut pipe: Pipe<'_>,
    from: &TcpStream,
    to: &TcpStream,
    most: u64,
    direction: Direction,
    meter: &Meter<'_>,
) -> io::Result<Burst> {
    let mut burst = Burst { moved: 0, ended: false };
    for chunk in 1_usize.. {
        let room = chunk_size(most - burst.moved);
        if room == 0 {
            break;
        }
        let filled = from.try_io(Interest::READABLE, || {
            splice(from, pipe.write_end(), room).map_err(io::Error::from)
        });
        match filled {
            Ok(0) => {
                burst.ended = true;
                break;
            }
            Ok(length) => {
                pipe.filled(length);
                meter.took(direction);
                burst.moved += length as u64;
                drain(&mut pipe, to, direction, meter).await?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
        if chunk.is_multiple_of(limits::CHUNKS_PER_TURN) {
            tokio::task::yield_now().await;
        }
    }
    Ok(burst)
}

async fn drain(
    pipe: &mut Pipe<'_>,
    to: &TcpStream,
    direction: Direction,
    meter: &Meter<'_>,
) -> io::Result<()> {
    while pipe.held() > 0 {
        let moved = to.try_io(Interest::WRITABLE, || {
            splice(pipe.read_end(), to, pipe.held()).map_err(io::Error::from)
        });
        match moved {
            Ok(0) => return Err(Errno::PIPE.into()),
            Ok(length) => {
                pipe.emptied(length);
                meter.count(direction, length);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Moves one buffer's worth without holding anything across a wait: what the receiver does not take
/// stays in the sender's socket.
async fn copy_burst(
    from: &TcpStream,
    to: &TcpStream,
    most: u64,
    direction: Direction,
    meter: &Meter<'_>,
) -> io::Result<Burst> {
    to.writable().await?;
    let step = meter.pipes.with_scratch(|scratch| {
        let length = scratch.len().min(chunk_size(most));
        let Some(room) = scratch.get_mut(..length) else { return Ok(Step::Wait) };
        copy_once(from, to, room)
    })?;
    let (moved, ended) = match step {
        Step::Moved(length) => (length, false),
        Step::Ended => (0, true),
        Step::Wait => (0, false),
    };
    if moved > 0 {
        meter.count(direction, moved);
    }
    // Readiness that was not used up would bring this task back at once.
    tokio::task::yield_now().await;
    Ok(Burst { moved: moved as u64, ended })
}

enum Step {
    Moved(usize),
    Ended,
    Wait,
}

fn copy_once(from: &TcpStream, to: &TcpStream, room: &mut [u8]) -> io::Result<Step> {
    let looked = from.try_io(Interest::READABLE, || {
        let (_, length) = rustix::net::recv(from, &mut *room, RecvFlags::PEEK)?;
        Ok(length)
    });
    let length = match looked {
        Ok(0) => return Ok(Step::Ended),
        Ok(length) => length,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Step::Wait),
        Err(error) => return Err(error),
    };
    let bytes = room.get(..length).unwrap_or_default();
    let flags = SendFlags::NOSIGNAL;
    let sent = match to.try_io(Interest::WRITABLE, || Ok(rustix::net::send(to, bytes, flags)?)) {
        Ok(sent) => sent,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Step::Wait),
        Err(error) => return Err(error),
    };
    // Takes what was sent off the sender's socket; the kernel does not copy it again (tcp(7)).
    let taken = room.get_mut(..sent).unwrap_or_default();
    rustix::net::recv(from, taken, RecvFlags::TRUNC)?;
    Ok(Step::Moved(sent))
}

fn splice(
    from: impl std::os::fd::AsFd,
    to: impl std::os::fd::AsFd,
    length: usize,
) -> Result<usize, Errno> {
    let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
    loop {
        match rustix::pipe::splice(from.as_fd(), None, to.as_fd(), None, length, flags) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

fn chunk_size(left: u64) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(limits::CHUNK)
}

/// Makes the end of this connection a reset, which a client sees at once and cannot take for an
/// answer.
pub(crate) fn reset(stream: TcpStream) {
    let _gone = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    drop(stream);
}

#[cfg(test)]
mod tests;
