//! Faults between a program and the other side, switched on and off by a test.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::server::{Outcome, Reply, Request};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Status(u16),
    /// The connection ends before the answer.
    Reset,
    /// No answer for longer than is waited.
    Silence,
    /// The answer ends early.
    Short,
    /// The answer is shorter, and says so.
    Cut,
    /// A bit of the answer is another one.
    Flip,
    /// It is done, and the answer is lost.
    LostAnswer,
}

/// Which fault, for which requests, how often.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<Mutex<Next>>);

type Next = Option<(Fault, &'static str, u32)>;

impl Faults {
    /// The next so many requests of a method fail; of all methods if it is empty.
    pub(crate) fn set(&self, fault: Fault, method: &'static str, times: u32) {
        *self.0.lock().unwrap() = Some((fault, method, times));
    }

    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap() = None;
    }

    fn next(&self, request: &Request) -> Option<Fault> {
        let mut state = self.0.lock().unwrap();
        let (fault, method, times) = state.as_mut()?;
        if (!method.is_empty() && request.method != *method) || *times == 0 {
            return None;
        }
        *times -= 1;
        Some(*fault)
    }

    pub(crate) fn answer(&self, request: Request, real: &dyn Fn(&Request) -> Reply) -> Outcome {
        let Some(fault) = self.next(&request) else { return Outcome::Reply(real(&request)) };
        match fault {
            Fault::Status(status) => Outcome::Reply(Reply::new(status, "broken")),
            Fault::Reset => Outcome::Nothing,
            Fault::Silence => Outcome::Silence(SILENCE),
            Fault::LostAnswer => {
                let _done = real(&request);
                Outcome::Nothing
            }
            Fault::Short | Fault::Cut | Fault::Flip => {
                let mut reply = real(&request);
                let length = reply.body.len();
                match fault {
                    Fault::Flip if length > 0 => reply.body[length / 2] ^= 1,
                    Fault::Cut => reply.body.truncate(length.saturating_sub(1)),
                    Fault::Short => {
                        reply.body.truncate(length / 2);
                        reply.says = Some(length.max(1));
                    }
                    _ => {}
                }
                Outcome::Reply(reply)
            }
        }
    }
}

/// Longer than any test waits for an answer.
const SILENCE: Duration = Duration::from_secs(20);
