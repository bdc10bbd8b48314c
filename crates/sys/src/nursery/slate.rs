//! What a maker and its owner tell each other, in memory that both have. Never waits.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32};

use rustix::process::{Gid, Pid, Uid};
use rustix::thread::CpuSet;

#[cfg(target_arch = "x86_64")]
use super::early;
use super::shelf::{Furniture, Shelf};
use crate::clone::{CloneArguments, Namespaces};
use crate::memory::MemoryFs;

/// What this process and the maker tell each other.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Slate {
    /// How far the maker is. The kernel sets it to [`GONE`] when the maker ends.
    pub(super) state: AtomicU32,
    /// What the owner wants of the maker: [`NOTHING`] yet, that it knows its assignment, or a birth.
    pub(super) wanted: AtomicU32,
    /// Why the maker failed.
    pub(super) errno: AtomicI32,
    /// Whether the maker is where it is to be.
    pub(super) placed: AtomicU32,
    /// Whether the user namespace exists.
    pub(super) mappable: AtomicU32,
    /// How a maker that is older than the program itself began.
    #[cfg(target_arch = "x86_64")]
    pub(super) beginning: early::Beginning,
    /// What the maker has to know. Written before the maker may read it.
    pub(super) setting: UnsafeCell<Setting>,
    /// Who the child will be. Written before it is wanted to be known.
    pub(super) assignment: UnsafeCell<Option<Assignment>>,
    /// What the maker has made for the child.
    pub(super) shelf: Shelf,
    /// How the child is made. Written before a birth is wanted, and by the maker afterwards.
    pub(super) birth: UnsafeCell<Option<Birth>>,
}

// SAFETY: two threads must not touch the same part at once but by atomics: the cells have one writer at
// a time, and the atomics beside them say when the other may read.
unsafe impl Sync for Slate {}

#[derive(Debug)]
pub(super) struct Setting {
    /// Where the child may run.
    pub(super) processors: Option<CpuSet>,
    /// What the maker moves itself into.
    pub(super) namespaces: Namespaces,
    /// Who started the maker.
    pub(super) parent: Option<Pid>,
}

impl Slate {
    pub(super) const fn new() -> Self {
        Self {
            state: AtomicU32::new(MAKING),
            wanted: AtomicU32::new(NOTHING),
            errno: AtomicI32::new(0),
            placed: AtomicU32::new(0),
            mappable: AtomicU32::new(0),
            #[cfg(target_arch = "x86_64")]
            beginning: early::Beginning::new(),
            setting: UnsafeCell::new(Setting {
                processors: None,
                namespaces: Namespaces::NONE,
                parent: None,
            }),
            assignment: UnsafeCell::new(None),
            shelf: Shelf::new(),
            birth: UnsafeCell::new(None),
        }
    }

    /// For the maker.
    pub(super) fn setting(&self) -> &Setting {
        // SAFETY: nobody must write it meanwhile: the owner did before it made or adopted the maker.
        unsafe { &*self.setting.get() }
    }
}

#[derive(Debug)]
pub(super) struct Birth {
    pub(super) arguments: CloneArguments,
    pub(super) pidfd: i32,
    pub(super) pid: i32,
    pub(super) body: NonNull<dyn FnMut(Furniture)>,
}

/// Who the child will be inside, and what is made for it ahead.
#[derive(Clone, Copy, Debug)]
pub struct Assignment {
    /// Its user inside, which is mapped.
    pub uid: Uid,
    /// Its group inside, which is mapped.
    pub gid: Gid,
    /// What is made, as that user, in this order as long as there is time. What is beyond the places
    /// of a [`Furniture`], or cannot be made, is left out.
    pub furniture: &'static [MemoryFs],
}

pub(super) const GONE: u32 = 0;
pub(super) const MAKING: u32 = 1;
pub(super) const MADE: u32 = 2;
pub(super) const BORN: u32 = 3;
pub(super) const FAILED: u32 = 4;

pub(super) const NOTHING: u32 = 0;
pub(super) const ASSIGNED: u32 = 1;
pub(super) const BIRTH: u32 = 2;

// The kernel writes a zero when the maker ends, so no state that means something else may be it.
const _: () = assert!(MAKING != GONE && MADE != GONE && BORN != GONE && FAILED != GONE);
