//! The first words of a program to a host by name: enough of them to tell what is spoken, and in TLS
//! for which name. Before that is known, nothing is passed on that any server acts on: not a line and
//! not a TLS record, but the beginning of a word that may be all that the program has to say.

use std::io;

use plan::destination::Name;
use tokio::net::TcpStream;
use walls::Wall;

use super::requests::Speaker;
use super::{Ends, Stop};
use crate::inspect::client_hello::{ClientHelloReader, Hello};
use crate::inspect::{Classifier, FirstBytes, check_server_name};
use crate::relay::{Direction, send};

/// What is spoken, with all that was said so far and not passed on.
pub(super) enum Opening {
    /// TLS for the right name, or something that names no host: the rest is between the two.
    Free(Vec<u8>),
    /// HTTP, with the head of its first request.
    Http(Box<Speaker>),
}

/// Reads on from what was said `early` until it is known what is spoken.
pub(super) async fn read_opening(
    ends: Ends<'_>,
    name: &Name,
    early: Vec<u8>,
) -> Result<Opening, Stop> {
    let mut said = early;
    let (mut classifier, mut seen) = (Classifier::new(), 0);
    loop {
        let news = said.get(seen..).unwrap_or_default();
        match classifier.feed(news) {
            FirstBytes::Other => return Ok(Opening::Free(said.split_off(seen))),
            FirstBytes::Tls => return read_hello(ends, name, said, seen).await,
            FirstBytes::Http => {
                let mut speaker = Speaker::read_first_head(ends.inside, said, ends.meter).await?;
                speaker.has_passed_on(seen);
                return Ok(Opening::Http(Box::new(speaker)));
            }
            FirstBytes::NeedMore => {
                send(ends.outside, news, Direction::Outward, ends.meter).await?;
            }
        }
        seen = said.len();
        if read_more(ends.inside, &mut said).await? == 0 {
            return match classifier.at_end() {
                // What was passed on is half a line, and must not become a request by its end.
                FirstBytes::Http => Err(Stop::Broken),
                _ => Ok(Opening::Free(Vec::new())),
            };
        }
        ends.meter.hold_back(Direction::Outward, said.len()).map_err(Stop::Denied)?;
    }
}

/// Reads a ClientHello, of which the first bytes may have been passed on.
async fn read_hello(
    ends: Ends<'_>,
    name: &Name,
    said: Vec<u8>,
    passed_on: usize,
) -> Result<Opening, Stop> {
    let mut said = said;
    let (mut reader, mut seen) = (ClientHelloReader::new(), 0);
    loop {
        match reader.feed(said.get(seen..).unwrap_or_default()) {
            Hello::NeedMore => {}
            hello => {
                if walls::stands(Wall::ServerNames) {
                    check_server_name(name, &hello).map_err(Stop::Denied)?;
                }
                return Ok(Opening::Free(said.split_off(passed_on)));
            }
        }
        seen = said.len();
        // Whoever stops in the middle of what has to be looked at has said nothing.
        if read_more(ends.inside, &mut said).await? == 0 {
            return Err(Stop::Broken);
        }
        // The reader keeps it as well.
        ends.meter.hold_back(Direction::Outward, 2 * said.len()).map_err(Stop::Denied)?;
    }
}

/// Appends what one side says next; nothing at its end. Holds no room for it while it is silent.
pub(in crate::flow) async fn read_more(from: &TcpStream, said: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        from.readable().await?;
        said.reserve(ROOM);
        match from.try_read_buf(said) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => said.shrink_to_fit(),
            other => return other,
        }
    }
}

const ROOM: usize = 4096;
