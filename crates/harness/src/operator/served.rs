//! The services of one cage, for its model service to answer at `/services/NAME`: those that its policy names, each call
//! counted and on record before it is made.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Cancel;
use model::service::Others;

use super::Services;
use super::starter::{MOST_QUESTION, Starter};
use crate::record::Record;

/// Services with what starts their commands.
pub(crate) struct Served {
    services: Services,
    starter: Option<Starter>,
    record: Record,
    counted: BTreeMap<String, AtomicU64>,
    calls: AtomicU64,
}

impl fmt::Debug for Served {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Served").field(&self.services).finish()
    }
}

impl Served {
    pub(crate) fn new(services: Services, starter: Option<Starter>, record: Record) -> Self {
        let counted = services.iter().map(|(name, _)| (name.clone(), AtomicU64::new(0))).collect();
        Self { services, starter, record, counted, calls: AtomicU64::new(0) }
    }

    fn answer(&self, name: &str, question: &[u8], stop: &Cancel) -> Result<Vec<u8>, String> {
        let service = self.services.get(name).ok_or("there is no such service")?;
        let gone = || "the service is gone".to_owned();
        service.ask(question, stop, &|_| {
            self.starter.as_ref().ok_or_else(gone)?.ask(name, question, service.time, stop)
        })
    }
}

impl Others for Served {
    fn doc(&self, name: &str) -> Option<String> {
        self.services.get(name).map(|service| format!("{}\n", service.doc))
    }

    fn ask(&self, name: &str, question: &[u8], stop: &Cancel) -> Result<Vec<u8>, String> {
        if question.len() > MOST_QUESTION {
            return Err(format!("the question has more than {MOST_QUESTION} bytes"));
        }
        let most = self.services.get(name).map_or(0, |service| service.calls);
        let counted = self.counted.get(name);
        if counted.is_none_or(|counted| counted.fetch_add(1, Ordering::Relaxed) >= most) {
            return Err(format!("this cage has asked {most} times, which is the most"));
        }
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        self.record
            .calls(agent::CallId::outermost(call), &format!("/n/{name}"), question)
            .map_err(|error| {
                format!("the service is not asked, because that cannot be recorded: {error}")
            })?;
        let answer = self.answer(name, question, stop);
        let bytes = match &answer {
            Ok(bytes) => bytes.as_slice(),
            Err(why) => why.as_bytes(),
        };
        self.record.called(call, bytes, answer.is_err());
        answer
    }
}
