//! Questions about names in a cage without any network: pid 1 answers each at once that there is no such
//! name, and notes which one was asked about. Asks nobody, never waits, and holds a bounded number of
//! names whatever a program sends.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::listeners;
use crate::journal::Journal;
use crate::{Lookup, SetupFailure};

#[cfg(test)]
mod tests;

/// Where programs ask, since an empty `resolv.conf` stands for it.
pub(crate) struct Lookups {
    socket: OwnedFd,
    names: BTreeMap<String, u64>,
    unnamed: u64,
}

impl Lookups {
    /// Takes the port in the namespace of this process.
    pub(super) fn listen() -> Result<Self, SetupFailure> {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), listeners::DNS_PORT);
        let socket = listeners::datagrams(address)?;
        Ok(Self { socket, names: BTreeMap::new(), unnamed: 0 })
    }

    /// Answers what has come, and no more of it than leaves time for other things.
    pub(crate) fn serve(&mut self, journal: Option<&Journal>) {
        for _ in 0..MOST_AT_ONCE {
            let mut packet = [0_u8; LONGEST_QUESTION];
            let received = rustix::net::recvfrom(&self.socket, &mut packet, RecvFlags::DONTWAIT);
            let (length, from) = match received {
                Ok((length, _, Some(from))) => (length, from),
                Err(Errno::INTR) => continue,
                Ok((_, _, None)) | Err(_) => return,
            };
            let Some(asked) = packet.get(..length).and_then(Question::parse) else { continue };
            // Whoever does not take the answer waits for nothing else.
            let _taken =
                rustix::net::sendto(&self.socket, &asked.answer(), SendFlags::DONTWAIT, &from);
            self.note(asked.name(), journal);
        }
    }

    /// The names that were asked about, most frequent first. No rule could allow those that mean this very
    /// cage.
    pub(crate) fn told(&self) -> Vec<Lookup> {
        let own = rustix::system::uname();
        let is_elsewhere = |name: &str| !means_this_cage(name, own.nodename().to_bytes());
        let lookup =
            |(name, count): (&String, &u64)| Lookup { name: Some(name.clone()), count: *count };
        let names = self.names.iter().filter(|(name, _)| is_elsewhere(name));
        let mut told: Vec<Lookup> = names.map(lookup).collect();
        told.sort_by_key(|lookup| std::cmp::Reverse(lookup.count));
        if self.unnamed > 0 {
            told.push(Lookup { name: None, count: self.unnamed });
        }
        told
    }

    fn note(&mut self, name: Option<String>, journal: Option<&Journal>) {
        match name {
            Some(name) if self.names.len() < MOST_NAMES || self.names.contains_key(&name) => {
                if let Some(journal) = journal.filter(|_| !self.names.contains_key(&name)) {
                    journal.tell_host(&name);
                }
                *self.names.entry(name).or_default() += 1;
            }
            _ => self.unnamed += 1,
        }
    }
}

/// Whether a name is the cage's own, or the machine's to itself. RFC 6761, 6.3
fn means_this_cage(name: &str, own: &[u8]) -> bool {
    name.as_bytes().eq_ignore_ascii_case(own) || name.rsplit('.').next() == Some("localhost")
}

impl AsFd for Lookups {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A message with one question in it. RFC 1035, 4.1
struct Question<'a> {
    header: &'a [u8],
    /// The name as labels, each with its length before it.
    labels: &'a [u8],
    /// All of the question: the name, its type and class.
    question: &'a [u8],
}

impl<'a> Question<'a> {
    /// None for what is no question, such as an answer: answering those could go on for ever.
    fn parse(packet: &'a [u8]) -> Option<Self> {
        let (header, rest) = packet.split_at_checked(HEADER)?;
        let is_question = header.get(2)? & IS_ANSWER == 0;
        let is_one = header.get(4..6)? == [0, 1];
        if !is_question || !is_one {
            return None;
        }
        let mut end = 0;
        loop {
            let length = usize::from(*rest.get(end)?);
            // Nobody has anything to point back to in a question.
            if length > LONGEST_LABEL || end > LONGEST_NAME {
                return None;
            }
            end += length + 1;
            if length == 0 {
                break;
            }
        }
        let (labels, question) = (rest.get(..end)?, rest.get(..end + TYPE_AND_CLASS)?);
        Some(Self { header, labels, question })
    }

    /// That there is no such name: every resolver takes that for final, and asks no further.
    fn answer(&self) -> Vec<u8> {
        let mut answer = self.header.get(..2).unwrap_or_default().to_vec();
        let flags = self.header.get(2).copied().unwrap_or_default();
        answer.extend([flags & KEPT_FLAGS | IS_ANSWER, CAN_RECURSE | NO_SUCH_NAME]);
        answer.extend([0, 1, 0, 0, 0, 0, 0, 0]);
        answer.extend(self.question);
        answer
    }

    /// The name in small letters; none for one that no host can have.
    fn name(&self) -> Option<String> {
        let (mut rest, mut name) = (self.labels, String::new());
        while let Some((&length, behind)) = rest.split_first().filter(|(length, _)| **length > 0) {
            let (label, next) = behind.split_at_checked(usize::from(length))?;
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if !label.iter().all(is_plain) {
                return None;
            }
            if !name.is_empty() {
                name.push('.');
            }
            name.extend(label.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
            rest = next;
        }
        (!name.is_empty()).then_some(name)
    }
}

const MOST_AT_ONCE: usize = 16;

/// As many as fit into the report of the end with all else.
const MOST_NAMES: usize = 32;

/// Questions are short; with extensions they have some hundred bytes.
const LONGEST_QUESTION: usize = 512;
const HEADER: usize = 12;
const TYPE_AND_CLASS: usize = 4;
const LONGEST_LABEL: usize = 63;
const LONGEST_NAME: usize = 255;

const IS_ANSWER: u8 = 0x80;
/// The kind of question, and whether somebody else should be asked.
const KEPT_FLAGS: u8 = 0x79;
const CAN_RECURSE: u8 = 0x80;
const NO_SUCH_NAME: u8 = 3;
