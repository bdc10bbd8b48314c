//! The namespaces of one cage, made while its Plan is still being found out: they are the same for every
//! Plan. Where it is known in time who the cage will be, its memory file systems are made as well. Decides
//! nothing about the cage.

use std::os::fd::OwnedFd;

use plan::{Identity, IdentityMap, Ids, Plan};
use rustix::process::{Gid, Uid};
use sys::clone::Namespaces;
use sys::nursery::{Assignment, Meanwhile};

use crate::birth::{self, Cradle};
use crate::start::{Born, LimitsHolder, bear};
use crate::streams::ProgramStreams;
use crate::{SetupFailure, StartError, furniture, identity};

/// Namespaces in the making, or made and still empty. Dropping it gives them back.
#[derive(Debug)]
pub struct Nursery {
    pub(crate) made: sys::nursery::Nursery,
    /// Whom they are for, once their ids are mapped.
    ids: Option<Ids>,
}

impl Nursery {
    /// Begins to make them. The process must have a single thread, now and until the cage is born.
    pub fn open() -> Result<Self, StartError> {
        let made = sys::nursery::Nursery::open(Namespaces::AHEAD, Meanwhile::Work);
        made.map(|made| Self { made, ids: None }).map_err(|errno| birth::failed(errno).into())
    }

    /// Says who the cage will be, so that more of it can be made ahead. Tells whether that was heard: not
    /// where the user namespace does not exist yet. Where it fails, no cage can be born in these
    /// namespaces.
    pub fn assign(&mut self, ids: Ids) -> Result<bool, StartError> {
        if self.ids.is_some() {
            return Ok(false);
        }
        let Some(maker) = self.made.mappable() else { return Ok(false) };
        identity::map(maker, ids).map_err(|failure| self.reason_of(failure))?;
        self.ids = Some(ids);
        let (uid, gid) = (Uid::from_raw(ids.uid), Gid::from_raw(ids.gid));
        self.made.assign(Assignment { uid, gid, furniture: furniture::USUAL });
        Ok(true)
    }

    /// Whether they exist. What is left to do in them before a birth is a matter of moments.
    pub fn is_ready(&self) -> bool {
        self.made.is_ready()
    }

    /// Bears a cage in them, as [`crate::start`] does.
    pub fn start(
        self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
        limits: LimitsHolder<'_>,
    ) -> Result<Born, StartError> {
        bear(Cradle::Ahead(self), plan, sources, streams, limits)
    }

    /// Whether a cage with this identity can be born in them.
    pub(crate) fn is_for(&self, identity: &Identity) -> bool {
        self.ids.is_none_or(|ids| ids == identity.ids())
    }

    /// Whether a cage can be born in a control group that is this process's: not by a maker that has become
    /// somebody else already.
    pub(crate) fn can_put_into_groups(&self) -> bool {
        !matches!(self.ids, Some(Ids { map: IdentityMap::Unowned(_), .. }))
    }

    /// Waits until they exist, with the ids of the cage.
    pub(crate) fn map(&mut self, identity: &Identity) -> Result<(), SetupFailure> {
        let maker = self.made.wait().map_err(birth::failed)?;
        if self.ids.is_some() {
            return Ok(());
        }
        identity::map(maker, identity.ids()).map_err(|failure| self.reason_of(failure))?;
        self.ids = Some(identity.ids());
        Ok(())
    }

    /// What is wrong with the namespaces says more than that their ids cannot be mapped.
    fn reason_of(&self, failure: SetupFailure) -> SetupFailure {
        self.made.wait().err().map_or(failure, birth::failed)
    }
}
