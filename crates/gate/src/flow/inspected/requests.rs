//! HTTP requests to a host by name, one after the other: each head is read and has to name the host
//! before a byte of it is passed on; bodies go by unread where their length is known.

use plan::destination::Name;
use tokio::net::TcpStream;
use walls::Wall;

use super::{Ends, Stop, read_more};
use crate::decision::{Denial, DenialCode};
use crate::inspect::check_request;
use crate::inspect::http::{Answer, HttpError, RequestHead, Requests, ResponseReader, Step};
use crate::relay::{Direction, Meter, pump, send};

/// A program that speaks HTTP.
#[derive(Debug)]
pub(in crate::flow) struct Speaker {
    requests: Requests,
    /// A head that is read and not passed on.
    head: Option<Box<RequestHead>>,
    /// How much of that head has been passed on all the same.
    passed_on: usize,
    /// What was said behind it.
    said: Vec<u8>,
}

/// What came of an offer to leave HTTP behind.
pub(super) enum Answered {
    Switched,
    Otherwise,
}

impl From<HttpError> for Stop {
    fn from(error: HttpError) -> Self {
        Self::DeniedRequest(error.into())
    }
}

impl Speaker {
    /// Reads the first head, from what was said already and what is said next.
    pub(in crate::flow) async fn read_first_head(
        inside: &TcpStream,
        said: Vec<u8>,
        meter: &Meter<'_>,
    ) -> Result<Self, Stop> {
        let mut speaker = Self { requests: Requests::new(), head: None, passed_on: 0, said };
        loop {
            match speaker.requests.next(&speaker.said)? {
                Step::Head { consumed, head } => {
                    speaker.took(consumed);
                    speaker.head = Some(head);
                    return Ok(speaker);
                }
                Step::NeedMore | Step::Body { .. } => speaker.said.clear(),
            }
            if read_more(inside, &mut speaker.said).await? == 0 {
                return Err(Stop::Broken);
            }
            speaker.hold_back(meter)?;
        }
    }

    /// Tells how much of the first line was passed on before it was known for one.
    pub(super) fn has_passed_on(&mut self, length: usize) {
        self.passed_on = length;
    }

    /// The head that was read.
    pub(in crate::flow) fn take_head(&mut self) -> Option<Box<RequestHead>> {
        self.head.take()
    }

    /// Whether the head that was read offers to leave HTTP behind.
    pub(super) fn offers_to_switch(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.may_switch)
    }

    /// What was said and not passed on.
    pub(in crate::flow) fn into_rest(self) -> Vec<u8> {
        self.said
    }

    /// Passes on the head that was read and the body behind it.
    pub(super) async fn pass_one_request(
        &mut self,
        ends: Ends<'_>,
        name: &Name,
        port: u16,
    ) -> Result<(), Stop> {
        self.pass_head(ends, name, port).await?;
        self.pass_body(ends).await
    }

    /// Passes on the head that was read, if it is for the host.
    async fn pass_head(&mut self, ends: Ends<'_>, name: &Name, port: u16) -> Result<(), Stop> {
        let Some(head) = self.head.take() else { return Ok(()) };
        if walls::stands(Wall::HttpHosts) {
            check_request(name, port, &head).map_err(Stop::DeniedRequest)?;
        }
        let words = head.bytes.get(std::mem::take(&mut self.passed_on)..).unwrap_or_default();
        send(ends.outside, words, Direction::Outward, ends.meter).await?;
        self.hold_back(ends.meter)
    }

    /// Passes on what is left of a body.
    pub(in crate::flow) async fn pass_body(&mut self, ends: Ends<'_>) -> Result<(), Stop> {
        while !self.requests.is_between() {
            if self.said.is_empty() && !self.pass_unread(ends).await? {
                return Err(Stop::Broken);
            }
            if let Step::Body { consumed } = self.requests.next(&self.said)? {
                self.pass_said(ends, consumed).await?;
            }
            self.hold_back(ends.meter)?;
        }
        Ok(())
    }

    /// Passes on the next head or piece of a body; false at the end of what the program says.
    pub(super) async fn pass_some(
        &mut self,
        ends: Ends<'_>,
        name: &Name,
        port: u16,
    ) -> Result<bool, Stop> {
        self.pass_head(ends, name, port).await?;
        if self.said.is_empty() && !self.pass_unread(ends).await? {
            return Ok(false);
        }
        match self.requests.next(&self.said)? {
            Step::NeedMore => self.said = Vec::new(),
            Step::Body { consumed } => self.pass_said(ends, consumed).await?,
            Step::Head { consumed, head } => {
                self.took(consumed);
                self.head = Some(head);
            }
        }
        self.hold_back(ends.meter)?;
        Ok(true)
    }

    /// Moves what is sure to belong to a body, and reads what has to be looked at; false at the end.
    async fn pass_unread(&mut self, ends: Ends<'_>) -> Result<bool, Stop> {
        let unseen = self.requests.unseen();
        if unseen > 0 {
            let direction = Direction::Outward;
            let moved = pump(ends.inside, ends.outside, unseen, direction, ends.meter).await?;
            self.requests.passed_unseen(moved);
            if moved < unseen {
                return Ok(false);
            }
            if self.requests.is_between() {
                return Ok(true);
            }
        }
        Ok(read_more(ends.inside, &mut self.said).await? > 0)
    }

    async fn pass_said(&mut self, ends: Ends<'_>, length: usize) -> Result<(), Stop> {
        let words = self.said.get(..length).unwrap_or_default();
        send(ends.outside, words, Direction::Outward, ends.meter).await?;
        self.took(length);
        Ok(())
    }

    /// Says how much is kept of what the program said.
    fn hold_back(&self, meter: &Meter<'_>) -> Result<(), Stop> {
        let head = self.head.as_ref().map_or(0, |head| head.bytes.len());
        let kept = self.said.len() + self.requests.kept() + head;
        meter.hold_back(Direction::Outward, kept).map_err(Stop::DeniedRequest)
    }

    fn took(&mut self, length: usize) {
        if length >= self.said.len() {
            self.said = Vec::new();
        } else {
            self.said.drain(..length);
        }
    }
}

/// Passes on the host's answer to an offer to leave HTTP behind.
pub(super) async fn answer_to_offer(ends: Ends<'_>) -> Result<Answered, Stop> {
    let mut reader = ResponseReader::new();
    loop {
        let mut said = Vec::new();
        if read_more(ends.outside, &mut said).await? == 0 {
            return Ok(Answered::Otherwise);
        }
        let answered = read_answer(&mut reader, &said);
        // Whatever it is, it is for the program.
        send(ends.inside, &said, Direction::Inward, ends.meter).await?;
        if let Some(answered) = answered {
            return Ok(answered);
        }
        let kept = reader.kept().len();
        ends.meter.hold_back(Direction::Inward, kept).map_err(Stop::DeniedRequest)?;
    }
}

/// What the host has answered, if it has by now. Something that is no answer is no change either.
fn read_answer(reader: &mut ResponseReader, said: &[u8]) -> Option<Answered> {
    let mut rest = said;
    while !rest.is_empty() {
        match reader.next(rest) {
            Ok(Answer::NeedMore) => return None,
            Ok(Answer::Head { head, .. }) if head.switches() => return Some(Answered::Switched),
            Ok(Answer::Head { consumed, head }) if head.is_interim() => {
                rest = rest.get(consumed..).unwrap_or_default();
            }
            Ok(Answer::Head { .. }) | Err(_) => return Some(Answered::Otherwise),
        }
    }
    None
}

/// An offer cannot be followed on a connection whose host spoke first.
pub(super) fn spoken_too_early() -> Denial {
    let reason = "the host spoke before the HTTP request that offers to leave HTTP behind";
    Denial::new(DenialCode::HttpRefused, reason)
}
