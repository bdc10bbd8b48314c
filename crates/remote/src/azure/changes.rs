//! Changes of what is noted of a blob: in place, or of a copy that has another name. Metadata are set as a whole, so those
//! of others are said again, and only of the version that had them.

use super::{Azure, METADATA, Seen, What, refused_with};
use crate::backend::Meta;
use crate::failure::{Failure, Why};
use crate::http::{Answer, Headers};
use crate::objects::{Change, id};

impl Azure {
    /// Copies a blob as it is known, or notes something else of it where it is.
    pub(super) fn changed(
        &self,
        from: &str,
        meta: &Meta,
        to: &str,
        change: Change<'_>,
    ) -> Result<Meta, Failure> {
        let failed = |why| Failure { action: format!("copy `{from}`"), why };
        let mut tried = None;
        for _ in 0..ATTEMPTS {
            let Seen { meta: found, etag, others } = self.look_at_all(from)?;
            if found.version != meta.version && !meta.version.is_empty() {
                // Contents without a hash are another version by our own notes, of which the answer was lost.
                let is_ours = from == to && tried.is_some() && found.notes == tried;
                return if is_ours { Ok(found) } else { Err(failed(Why::Changed)) };
            }
            let others = others.ok_or_else(|| failed(Why::Unable))?;
            let notes = change(found.notes.clone());
            let mut headers = METADATA.written(to, notes.as_ref(), &others)?;
            headers.extend(others);
            let done = if from == to {
                self.set_metadata(to, &etag, headers)
            } else {
                self.copy_to(from, &etag, to, headers)
            };
            match done {
                // Somebody noted something meanwhile; or we did, and the answer that said so was lost.
                Err(Failure { why: Why::Changed, .. }) => tried = notes,
                Err(failure) => return Err(failure),
                Ok(now) => {
                    // The version of contents that have no hash is that of everything.
                    let version = if found.version == etag { now } else { found.version };
                    return Ok(Meta { version, id: id(notes.as_ref()), notes, ..found });
                }
            }
        }
        Err(failed(Why::Changed))
    }

    /// Returns the ETag from then on.
    fn set_metadata(&self, key: &str, etag: &str, headers: Headers) -> Result<String, Failure> {
        let mut headers = headers;
        headers.push(("if-match".into(), etag.to_owned()));
        let query = vec![("comp", "metadata")];
        let what = What { query, headers, ..What::new("note something of", "PUT", key) };
        self.send(&what, |answer| match answer.status {
            200 => tag(&answer),
            _ => Err(refused_with(&answer)),
        })
    }

    /// Returns the ETag of the copy.
    fn copy_to(
        &self,
        from: &str,
        etag: &str,
        to: &str,
        headers: Headers,
    ) -> Result<String, Failure> {
        let mut headers = headers;
        headers.push(("x-ms-copy-source".into(), self.address(from)));
        headers.push(("x-ms-source-if-match".into(), etag.to_owned()));
        let what = What { headers, ..What::new("copy to", "PUT", to) };
        let mut state = self.send(&what, |answer| match answer.status {
            201 | 202 => Copied::of(&answer),
            _ => Err(refused_with(&answer)),
        })?;
        for pause in PAUSES {
            match state {
                Copied::Whole(etag) => return Ok(etag),
                Copied::Not => break,
                Copied::NotYet => {
                    std::thread::sleep(pause);
                    state = self.copy_state(to)?;
                }
            }
        }
        match state {
            Copied::Whole(etag) => Ok(etag),
            _ => Err(Failure { action: format!("copy `{from}`"), why: Why::Server(202) }),
        }
    }

    /// How far a copy has come that was not done at once.
    fn copy_state(&self, key: &str) -> Result<Copied, Failure> {
        self.send(&What::new("look at", "HEAD", key), |answer| match answer.status {
            200 => Copied::of(&answer),
            _ => Err(refused_with(&answer)),
        })
    }
}

/// How far a copy has come.
enum Copied {
    /// It is there, with this ETag.
    Whole(String),
    NotYet,
    Not,
}

impl Copied {
    fn of(answer: &Answer) -> Result<Self, Why> {
        match answer.header("x-ms-copy-status") {
            Some("success") => tag(answer).map(Self::Whole),
            Some("pending") => Ok(Self::NotYet),
            Some(_) => Ok(Self::Not),
            None => Err(Why::Answer("no state of a copy")),
        }
    }
}

/// The ETag that an answer has.
pub(super) fn tag(answer: &Answer) -> Result<String, Why> {
    answer.header("etag").map(str::to_owned).ok_or(Why::Answer("no ETag"))
}

/// How often something is noted while others note something too.
const ATTEMPTS: u32 = 4;
/// Between looks at a copy, of which one within an account is done at once as a rule.
const PAUSES: [std::time::Duration; 6] = [
    std::time::Duration::from_millis(100),
    std::time::Duration::from_millis(300),
    std::time::Duration::from_secs(1),
    std::time::Duration::from_secs(3),
    std::time::Duration::from_secs(5),
    std::time::Duration::from_secs(10),
];
