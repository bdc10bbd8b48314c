//! What verification came to, as a program reads it: one vocabulary for the command and the daemon.

use serde_json::{Value, json};

use super::fault::Broken;
use super::{RecordedRemoval, Recovered, Verified};
use crate::removal::Removal;
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
            "removed": self.removed,
            "removals": self.removals.iter().map(RecordedRemoval::to_json).collect::<Vec<_>>(),
            "left_over": self.left_over,
        })
    }
}

impl RecordedRemoval {
    fn to_json(&self) -> Value {
        let Self { sequence, time, removal } = self;
        json!({ "sequence": sequence, "time": time.to_string(), "removal": removal.to_json() })
    }
}

impl Removal {
    /// What was removed.
    pub fn to_json(&self) -> Value {
        json!({
            "first_sequence": self.first_sequence,
            "last_sequence": self.last_sequence,
            "first_time": self.first_time.to_string(),
            "last_time": self.last_time.to_string(),
            "last_file": self.last_file(),
            "bytes": self.bytes,
            "rule": self.rule,
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
