//! What verification came to, as a program reads it: one vocabulary for the command and the daemon.

use serde_json::{Value, json};

use super::fault::Broken;
use super::{Recovered, Verified};
use crate::time::Timestamp;

impl Verified {
    /// The verdict on a log that is whole.
    pub fn to_json(&self) -> Value {
        let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
        json!({
            "whole": true,
            "records": self.records,
            "files": self.files,
            "checkpoints": self.checkpoints,
            "first": time(self.first),
            "last": time(self.last),
            "public_key": self.public_key,
            "covered": self.covered,
            "recovered": self.recovered.iter().map(Recovered::to_json).collect::<Vec<_>>(),
            "unfinished_bytes": self.unfinished,
        })
    }
}

impl Recovered {
    fn to_json(&self) -> Value {
        json!({ "sequence": self.sequence, "file": self.file, "bytes": self.bytes })
    }
}

impl Broken {
    /// The verdict on a log that is not what was written.
    pub fn to_json(&self) -> Value {
        json!({
            "whole": false,
            "fault": self.fault.code(),
            "file": self.file,
            "line": self.line,
            "sequence": self.sequence,
            "message": self.to_string(),
        })
    }
}
