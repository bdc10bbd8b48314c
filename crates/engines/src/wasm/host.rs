//! What stands behind the calls of one module: its world, its descriptors, its limits.

use std::sync::Arc;

use super::WasmError;
use super::limiter::Limiter;
use super::memory::Memory;
use super::refusal::Outcome;
use super::rights::Rights;
use super::table::{Descriptor, Opened, Table};
use crate::limits::{GuestLimits, Limit};
use crate::processor::Allowance;
use crate::streams::Stream;
use crate::world::World;

/// What stands behind the calls of one module.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) world: World,
    pub(super) table: Table,
    pub(super) held: Held,
}

/// What a guest is held to while it runs, whatever it is made of.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) limiter: Limiter,
    pub(super) allowance: Allowance,
}

impl Held {
    pub(super) fn to(limits: &GuestLimits) -> Self {
        Self { limiter: Limiter::new(limits), allowance: Allowance::of(limits.max_cpu) }
    }
}

impl AsMut<Held> for Host {
    fn as_mut(&mut self) -> &mut Held {
        &mut self.held
    }
}

/// One call: the module's memory, and what it asks.
pub(super) struct Guest<'a> {
    pub(super) memory: Memory<'a>,
    pub(super) host: &'a mut Host,
}

/// What ends a module from within a call. It travels as an error through the engine.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(super) enum Ending {
    #[error("exit with status {0}")]
    Exit(i32),
    #[error("the limit `{0}` is reached")]
    Reached(Limit),
    #[error("there is no `_start`")]
    NoStart,
}

impl Host {
    /// What the module begins with: three streams, and its directories after them.
    pub(super) fn new(world: World) -> Result<Self, WasmError> {
        let held = Held::to(&world.limits);
        let mut table = Table::new(world.limits.max_descriptors);
        let mut add = |descriptor, name: &[u8]| {
            let added = table.add(descriptor).map(drop);
            added.map_err(|_| WasmError::Preopen { name: name.to_vec() })
        };
        for stream in [Stream::Input, Stream::Output, Stream::Error] {
            add(of_stream(stream), b"")?;
        }
        for preopen in &world.preopens {
            let descriptor = Descriptor {
                opened: Opened::Directory(Arc::clone(&preopen.directory)),
                rights: Rights::DIRECTORY,
                inheriting: Rights::ALL,
                flags: 0,
                preopened: Some(preopen.name.as_slice().into()),
            };
            add(descriptor, &preopen.name)?;
        }
        Ok(Self { world, table, held })
    }
}

fn of_stream(stream: Stream) -> Descriptor {
    let other = match stream {
        Stream::Input => Rights::WRITE,
        Stream::Output | Stream::Error => Rights::READ,
    };
    let rights = Rights(Rights::STREAM.0 & !other.0);
    Descriptor {
        opened: Opened::Stream(stream),
        rights,
        inheriting: Rights::NONE,
        flags: 0,
        preopened: None,
    }
}

impl Guest<'_> {
    /// The text of a path. It is looked at by the walker alone.
    pub(super) fn path(&self, at: u32, length: u32) -> Outcome<Vec<u8>> {
        if usize::try_from(length).is_ok_and(|length| length > vfs::LONGEST_PATH) {
            return Err(rustix::io::Errno::NAMETOOLONG.into());
        }
        self.memory.bytes(at, length).map(<[u8]>::to_vec)
    }

    /// The directory that a path begins in, if it may be used so.
    pub(super) fn directory(&self, number: u32, rights: Rights) -> Outcome<Arc<vfs::OpenFile>> {
        self.host.table.find(number)?.directory(rights).map(Arc::clone)
    }
}
