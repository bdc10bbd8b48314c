//! A conversation with a host, from its first byte to its last. What a program says to a host that
//! was asked for by name has to be for that name: the server name of TLS, and the host of every HTTP
//! request. Whatever the host says first is passed on without waiting for the program.

mod opening;
mod requests;

use std::io;
use std::pin::{Pin, pin};

use plan::destination::Name;
use tokio::net::TcpStream;

use super::farewell::farewell;
use crate::cage::Cage;
use crate::decision::{Denial, Target};
use crate::event::Route;
use crate::inspect::http;
use crate::relay::{Direction, Meter, pump_to_end, reset, send, until_idle};
pub(super) use opening::read_more;
use opening::{Opening, read_opening};
use requests::Answered;
pub(super) use requests::Speaker;

/// A program and the host that it was connected to.
pub(super) struct Conversation {
    pub(super) stream: TcpStream,
    pub(super) outside: TcpStream,
    pub(super) target: Target,
    pub(super) port: u16,
    pub(super) way: Route,
    /// What the program has said already.
    pub(super) early: Vec<u8>,
}

/// Why a conversation ended before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// One of the two broke off.
    Broken,
    /// The program said something that is not for this host.
    Denied(Denial),
    /// The same, in HTTP, where a program can be told.
    DeniedRequest(Denial),
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// Relays a conversation to its end.
pub(super) async fn converse(cage: &Cage, conversation: Conversation) {
    let Conversation { stream, outside, target, port, way, early } = conversation;
    let meter = cage.meter();
    let ends = Ends { inside: &stream, outside: &outside, meter: &meter };
    let ended = match &target {
        Target::Name(name) => until_idle(&meter, ends.speak_to_name(name, port, early)).await,
        Target::Address(_) => until_idle(&meter, ends.speak_freely(early)).await,
    };
    let was_answered = meter.was_answered();
    match ended {
        Ok(()) => {}
        Err(Stop::Broken) => {
            reset(stream);
            reset(outside);
        }
        Err(Stop::DeniedRequest(denial)) if !was_answered => {
            reset(outside);
            let words = http::refusal(&denial);
            cage.deny(&target, port, denial, way);
            farewell(stream, &words).await;
        }
        Err(Stop::Denied(denial) | Stop::DeniedRequest(denial)) => {
            cage.deny(&target, port, denial, way);
            reset(outside);
            reset(stream);
        }
    }
}

/// The two ends of a conversation.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    pub(super) inside: &'a TcpStream,
    pub(super) outside: &'a TcpStream,
    pub(super) meter: &'a Meter<'a>,
}

impl Ends<'_> {
    /// Passes everything on.
    async fn speak_freely(self, early: Vec<u8>) -> Result<(), Stop> {
        let inward = pump_to_end(self.outside, self.inside, Direction::Inward, self.meter);
        tokio::try_join!(self.rest(early), async { Ok(inward.await?) })?;
        Ok(())
    }

    /// Holds back what the program says until it is known to be for the host. All along, what the
    /// host says is passed on by `inward`.
    async fn speak_to_name(self, name: &Name, port: u16, early: Vec<u8>) -> Result<(), Stop> {
        let mut inward = Inward::Speaking(pin!(pump_to_end(
            self.outside,
            self.inside,
            Direction::Inward,
            self.meter,
        )));
        let opening = {
            let mut opening = pin!(Box::pin(read_opening(self, name, early)));
            loop {
                tokio::select! {
                    biased;
                    opening = &mut opening => break opening?,
                    ended = inward.next_end() => ended?,
                }
            }
        };
        let outward = match opening {
            Opening::Free(said) => Outward::Free(said),
            Opening::Http(speaker) => self.begin_http(*speaker, name, port).await?,
        };
        let outward = async {
            match outward {
                Outward::Free(said) => self.rest(said).await,
                Outward::Http(speaker) => self.speak_http(*speaker, name, port).await,
            }
        };
        tokio::try_join!(outward, async { Ok(inward.end().await?) })?;
        Ok(())
    }

    /// The first request. If it offers to leave HTTP behind, its answer is waited for: nothing else
    /// has been said by then, so the first answer is the one to it.
    async fn begin_http(
        self,
        mut speaker: Speaker,
        name: &Name,
        port: u16,
    ) -> Result<Outward, Stop> {
        if !speaker.offers_to_switch() {
            return Ok(Outward::Http(Box::new(speaker)));
        }
        if self.meter.was_answered() {
            return Err(Stop::DeniedRequest(requests::spoken_too_early()));
        }
        speaker.pass_one_request(self, name, port).await?;
        match requests::answer_to_offer(self).await? {
            Answered::Switched => Ok(Outward::Free(speaker.into_rest())),
            Answered::Otherwise => Ok(Outward::Http(Box::new(speaker))),
        }
    }

    async fn speak_http(self, mut speaker: Speaker, name: &Name, port: u16) -> Result<(), Stop> {
        while speaker.pass_some(self, name, port).await? {}
        let _gone = rustix::net::shutdown(self.outside, rustix::net::Shutdown::Write);
        Ok(())
    }

    async fn rest(self, said: Vec<u8>) -> Result<(), Stop> {
        send(self.outside, &said, Direction::Outward, self.meter).await?;
        drop(said);
        self.meter.hold_back(Direction::Outward, 0).map_err(Stop::Denied)?;
        Ok(pump_to_end(self.inside, self.outside, Direction::Outward, self.meter).await?)
    }
}

enum Outward {
    Free(Vec<u8>),
    Http(Box<Speaker>),
}

/// What the host says, which may end before the program has said anything.
enum Inward<'a, F> {
    Speaking(Pin<&'a mut F>),
    Ended,
}

impl<F: Future<Output = io::Result<()>>> Inward<'_, F> {
    /// Returns when it ends, and never if it has.
    async fn next_end(&mut self) -> io::Result<()> {
        if let Self::Speaking(speaking) = self {
            let ended = speaking.await;
            *self = Self::Ended;
            return ended;
        }
        std::future::pending().await
    }

    /// Returns when it has ended.
    async fn end(self) -> io::Result<()> {
        match self {
            Self::Speaking(speaking) => speaking.await,
            Self::Ended => Ok(()),
        }
    }
}
