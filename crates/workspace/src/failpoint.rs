//! Where the crate's tests let a call fail or a process die: before each call that changes something. In every
//! other build this is nothing.

#[cfg(not(test))]
pub(crate) fn reached() -> Result<(), rustix::io::Errno> {
    Ok(())
}

#[cfg(test)]
pub(crate) use counting::*;

#[cfg(test)]
mod counting {
    use std::cell::Cell;

    use rustix::io::Errno;

    /// What happens at the chosen call.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Event {
        /// The process dies: nothing after the call is done by it. A panic stands for it, because nothing in the
        /// crate acts when it is dropped.
        Death,
        Failure(Errno),
    }

    thread_local! {
        static REACHED: Cell<u64> = const { Cell::new(0) };
        static CHOSEN: Cell<Option<(u64, Event)>> = const { Cell::new(None) };
    }

    /// Chooses the n-th call from now, counted from 0; none for counting alone.
    pub(crate) fn choose(chosen: Option<(u64, Event)>) {
        REACHED.set(0);
        CHOSEN.set(chosen);
    }

    /// How many calls there were since the choice.
    pub(crate) fn count() -> u64 {
        REACHED.get()
    }

    pub(crate) fn reached() -> Result<(), Errno> {
        let now = REACHED.get();
        REACHED.set(now + 1);
        match CHOSEN.get() {
            Some((at, Event::Death)) if at == now => std::panic::resume_unwind(Box::new("died")),
            Some((at, Event::Failure(errno))) if at == now => Err(errno),
            _ => Ok(()),
        }
    }
}
