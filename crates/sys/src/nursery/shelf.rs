//! Descriptors that a maker opens ahead for the child. Never allocates: the maker shares the memory of an
//! owner who is at work.

use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::memory::MemoryFs;

/// How many descriptors there can be.
pub(super) const PLACES: usize = 8;

/// What was made ahead, by its place.
pub type Furniture = [Option<OwnedFd>; PLACES];

/// Where the maker puts what it makes.
#[derive(Debug)]
pub(super) struct Shelf {
    places: [AtomicI32; PLACES],
    due: AtomicBool,
}

impl Shelf {
    pub(super) const fn new() -> Self {
        Self { places: [const { AtomicI32::new(EMPTY) }; PLACES], due: AtomicBool::new(false) }
    }

    /// Has no more made: the child waits to be born, and what is missing had better be left to it.
    pub(super) fn call(&self) {
        self.due.store(true, Ordering::Release);
    }

    /// Makes what there is a place and time for. For the maker, once.
    pub(super) fn fill(&self, furniture: &[MemoryFs]) {
        for (place, piece) in self.places.iter().zip(furniture) {
            if self.due.load(Ordering::Acquire) {
                return;
            }
            // Whoever wants it makes it then, and says what is wrong.
            let Ok(made) = piece.make() else { return };
            place.store(made.into_raw_fd(), Ordering::Release);
        }
    }

    /// Takes everything away. To be called by one process at a time, and by none while the maker fills it.
    pub(super) fn take(&self) -> Furniture {
        self.places.each_ref().map(|place| match place.swap(EMPTY, Ordering::AcqRel) {
            EMPTY => None,
            // SAFETY: the descriptor must be open and owned by nobody else: `fill` let go of it, in the
            // table that is also the owner's or that the child has a copy of, and the swap gives it out once.
            descriptor => Some(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        })
    }
}

const EMPTY: i32 = -1;
