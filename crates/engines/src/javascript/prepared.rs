//! An engine that is made before its program is known: with everything that programs find, so that what is left is to
//! start one. Whoever copies this process then has as many as it likes. Never starts a program twice.

use super::{Beginning, JavaScriptError, Program, Run};
use crate::world::{End, World};

/// An engine that waits for its program.
pub struct Prepared(Run);

impl std::fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Prepared").finish_non_exhaustive()
    }
}

impl Prepared {
    /// One for programs with these files, this user and at most these limits.
    ///
    /// # Errors
    ///
    /// If the limits leave no room for it, or this build is broken.
    pub fn new(world: World) -> Result<Self, JavaScriptError> {
        match Run::set_up(world)? {
            Ok(run) => Ok(Self(run)),
            Err(end) => Err(JavaScriptError::Engine(match end {
                End::Reached(limit) => format!("its limit `{limit}` is too low"),
                End::Failed { message, .. } => message,
                End::Exited(_) => "it ended before it began".to_owned(),
            })),
        }
    }

    /// Touches what a program will touch: a copy of a process gets its own pages by that, before a program waits for them.
    pub fn touch(&self) {
        self.0.runtime.run_gc();
    }

    /// Runs a program in this thread, until it ends. Its files and its user are those that the engine was made with; the
    /// rest is of its own world. The thread must have room for the stack that its limits allow, and whatever the program
    /// leaves stays until this process ends, which takes it all at once.
    pub fn run(mut self, program: &Program<'_>, world: World) -> End {
        self.0.hold_to(&world.limits);
        self.0.host.begin(world);
        let end = self.0.carry_out(program, Beginning::Copy);
        std::mem::forget(self);
        end
    }
}
