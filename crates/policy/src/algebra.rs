//! How policies relate: [`Policy::narrow`] derives one from another and can only take authority
//! away, [`is_within`] says whether one gives no more than another. Pure; there is no function
//! here that adds authority.
//!
//! A request is refused as a whole when any part of it asks for more than is held, and the error
//! lists every such part. What the holder itself lacks *inside* something that is asked for (a
//! hidden directory below a granted one, a denied host below an allowed domain, a bound) is not a
//! request for more: it is carried over into the result.

mod commands;
mod environment;
mod files;
mod limits;
mod mounts;
mod network;
mod refusal;

pub use refusal::{Refusal, RefusalKind, Refusals};

use crate::{Home, Policy, Seccomp, State};

impl Policy {
    /// The policy that `request` describes, if this one holds all that it asks for.
    ///
    /// The result is within this policy and within the request.
    pub fn narrow(&self, request: &Self) -> Result<Self, Refusals> {
        let mut refused = Vec::new();
        let files = files::Pair::new(&self.fs, &request.fs);
        files::refuse_more(&files, &mut refused);
        mounts::refuse_more(self, request, &mut refused);
        network::refuse_more(&self.net, &request.net, &mut refused);
        self.refuse_more_of_the_rest(request, &mut refused);
        limits::refuse_more(&self.limits, &request.limits, &mut refused);
        Refusals::none_of(refused)?;
        Ok(Self {
            name: request.name.clone(),
            fs: files::meet(&files),
            mounts: request.mounts.clone(),
            commands: request.commands.clone(),
            env: request.env.clone(),
            net: network::meet(&self.net, &request.net),
            state: request.state,
            home: request.home,
            seccomp: request.seccomp,
            limits: limits::meet(&self.limits, &request.limits),
        })
    }

    fn refuse_more_of_the_rest(&self, request: &Self, refused: &mut Vec<Refusal>) {
        commands::refuse_more(&self.commands, &request.commands, refused);
        environment::refuse_more(&self.env, &request.env, refused);
        if request.state > self.state {
            refused.push(state_refused(self.state, request.state));
        }
        if request.home > self.home {
            refused.push(home_refused(self.home, request.home));
        }
        if request.seccomp > self.seccomp {
            refused.push(seccomp_refused(self.seccomp, request.seccomp));
        }
    }
}

/// Whether `child` gives nothing that `parent` does not give; if not, everything that it gives
/// beyond.
///
/// Stricter than what [`Policy::narrow`] asks of a request: what the parent hides, denies or
/// bounds must be hidden, denied and bounded in the child as well.
pub fn is_within(child: &Policy, parent: &Policy) -> Result<(), Refusals> {
    let mut refused = Vec::new();
    files::refuse_beyond(&parent.fs, &child.fs, &mut refused);
    mounts::refuse_more(parent, child, &mut refused);
    network::refuse_beyond(&parent.net, &child.net, &mut refused);
    parent.refuse_more_of_the_rest(child, &mut refused);
    limits::refuse_beyond(&parent.limits, &child.limits, &mut refused);
    Refusals::none_of(refused)
}

fn state_refused(held: State, asked: State) -> Refusal {
    one_word(RefusalKind::State, held.word(), asked.word())
}

fn home_refused(held: Home, asked: Home) -> Refusal {
    one_word(RefusalKind::Home, held.word(), asked.word())
}

fn seccomp_refused(held: Seccomp, asked: Seccomp) -> Refusal {
    one_word(RefusalKind::Seccomp, held.word(), asked.word())
}

fn one_word(kind: RefusalKind, held: &str, asked: &str) -> Refusal {
    Refusal {
        kind,
        subject: kind.word().to_owned(),
        asked: format!("\"{asked}\""),
        held: format!("`\"{held}\"`"),
        asked_at: None,
        held_at: None,
    }
}

#[cfg(test)]
mod tests;
