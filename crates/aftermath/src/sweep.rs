//! What supervisors that are gone have left behind: control groups, and sessions of a single run.
//! Each says by itself whose it is, so nothing has to be remembered for it. Kills only what is in a
//! control group whose maker is dead.

use std::fmt;

use audit::{AuditError, Event, Log};
use limits::Limiter;

use session::{SessionError, Sessions};

/// Something that was left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// What kind of thing.
    pub what: SweptKind,
    /// Which one.
    pub subject: String,
    /// The start that it belonged to, if it tells.
    pub invocation: Option<String>,
    /// How many processes were still in it and were killed.
    pub killed: usize,
    /// Why it is still there; none if it is gone.
    pub left: Option<String>,
}

/// What can be left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweptKind {
    /// A control group.
    ControlGroup,
    /// A session.
    Session,
}

impl SweptKind {
    /// Its word in the record.
    pub fn word(self) -> &'static str {
        match self {
            Self::ControlGroup => "control_group",
            Self::Session => "session",
        }
    }
}

impl fmt::Display for Swept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, subject, killed, left, .. } = self;
        let what = match what {
            SweptKind::ControlGroup => "control group",
            SweptKind::Session => "session",
        };
        let subject = policy::shown::shown(subject);
        match left {
            None => write!(formatter, "removed {what} `{subject}` of a supervisor that is gone")?,
            Some(why) => write!(
                formatter,
                "{what} `{subject}` of a supervisor that is gone cannot be removed: {why}"
            )?,
        }
        match killed {
            0 => Ok(()),
            1 => formatter.write_str(", with one process in it"),
            more => write!(formatter, ", with {more} processes in it"),
        }
    }
}

/// Removes control groups that were left where this process makes its own.
pub fn sweep_groups() -> Vec<Swept> {
    let swept = Limiter::discover().sweep().into_iter().map(|group| Swept {
        what: SweptKind::ControlGroup,
        subject: group.path.display().to_string(),
        invocation: Some(group.invocation),
        killed: group.killed,
        left: group.left.map(|error| error.to_string()),
    });
    swept.collect()
}

/// Removes sessions that nobody needs any more.
pub fn sweep_sessions(sessions: &Sessions) -> Result<Vec<Swept>, SessionError> {
    let swept = sessions.sweep()?.into_iter().map(|id| Swept {
        what: SweptKind::Session,
        subject: id.as_str().to_owned(),
        invocation: None,
        killed: 0,
        left: None,
    });
    Ok(swept.collect())
}

/// Records what was swept. Not durable by itself: what follows in the record is.
pub fn record_swept(log: &Log, swept: &[Swept]) -> Result<(), AuditError> {
    for one in swept.iter().filter(|one| one.left.is_none()) {
        log.append(&Event::Sweep {
            what: one.what.word().into(),
            subject: one.subject.as_str().into(),
            invocation_id: one.invocation.as_deref().map(Into::into),
        })?;
    }
    Ok(())
}
