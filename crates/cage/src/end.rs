//! The end of a program, whoever supervises it: why it ended, what it has used, what is on record
//! about it, and what it left on the host. Waits for nothing.

use std::time::Duration;

use aftermath::Note;
use jail::End;
use policy::with_causes;

use crate::gatekeeper::Registration;
use crate::mounts::FileServers;
use crate::observations::Observations;
use crate::outcome::{EndReason, Ended};
use crate::program::{Program, ProgramEnd};

impl Program {
    /// Judges how the program ended and records it. None as long as it has not. K173, K174, K175, K176,
    /// K177, K178
    pub(crate) fn end(&self) -> Option<Ended> {
        let life = self.life();
        let ProgramEnd { end, denials, asked, at } = life.end.clone()?;
        let (started, layers, why) = (life.started, life.layers, life.why);
        let noted = life.noted.clone();
        drop(life);
        let body = self.body();
        let is_orphan = body.as_ref().is_some_and(|body| body.has_lost_its_launcher());
        let usage = self.usage();
        let ran_out = usage.is_some_and(|usage| usage.is_out_of_memory());
        let reason = why.unwrap_or_else(|| match end {
            _ if ran_out => EndReason::Oom,
            End::Signalled(libc::SIGKILL) if is_orphan => EndReason::SupervisorLost,
            end => EndReason::of(end, &denials),
        });
        let network =
            body.as_ref().and_then(|body| body.network()).map(Registration::outcome).or(asked);
        let duration = started.map_or(Duration::ZERO, |started| at - started);
        let observations = Observations::of(noted, self.grounds.as_deref());
        let (findings, workspaces, unrecorded) = Default::default();
        let mut ended = Ended {
            end,
            reason,
            duration,
            layers,
            denials,
            observations,
            network,
            usage,
            workspaces,
            findings,
            unrecorded,
        };
        // The program has ended all the same; a log that fails refuses the next start.
        let recorded = self.recorder.ended(&ended, &self.limits);
        ended.unrecorded = recorded.err().map(|error| with_causes(&error));
        Some(ended)
    }

    /// Whether there is nothing to look at on the host when the program has ended.
    pub(crate) fn leaves_nothing(&self) -> bool {
        let has_layers =
            self.with_session(|session| !session.held().is_empty()).unwrap_or_default();
        !has_layers && self.aftermath.as_ref().is_none_or(|aftermath| aftermath.is_empty())
    }

    /// Looks at what the program has changed in its workspaces and left on the host, and records it. May take seconds in
    /// a large tree.
    pub(crate) fn look_after(&self, ended: &mut Ended) {
        ended.workspaces = self.look_at_workspaces();
        let mut recorded = self.recorder.changed(&ended.workspaces);
        if let Some(aftermath) = &self.aftermath {
            ended.findings = aftermath.look(self.recorder.state());
            recorded = recorded.and(self.recorder.found(&ended.findings));
        }
        if let Err(error) = recorded {
            ended.unrecorded.get_or_insert_with(|| with_causes(&error));
        }
    }

    /// Waits until what the program wrote to mounts that are served is where it belongs, and tells and records what is not.
    /// For when its cage is gone.
    pub(crate) fn wait_for_mounts(&self, files: &FileServers, ended: &mut Ended) {
        for lost in files.finish() {
            if let Err(error) = self.recorder.mount_lost(lost) {
                ended.unrecorded.get_or_insert_with(|| with_causes(&error));
            }
        }
        ended.findings.notes.extend(files.told().into_iter().map(Note::Warning));
    }

    /// Removes the control group of a program of which nothing is left. What cannot be removed is swept at
    /// the next start.
    pub(crate) fn remove_group(&self) -> Result<(), limits::LimitsError> {
        let group = self.group().take();
        group.map_or(Ok(()), |group| group.remove().map(drop))
    }
}
