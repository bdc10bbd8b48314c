//! JavaScript: the engine, its limits, and the loop that runs a program to its end. What Node's modules are to a program is
//! written in JavaScript too (`js/`), over the few operations in [`files`] and [`process`]. A23
//!
//! Never gives a program this process's files or variables; a program reaches what its world has, by numbers and texts.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use rquickjs::function::Func;
use rquickjs::{
    CatchResultExt as _, CaughtError, Context, Ctx, Function, Object, Persistent, Runtime, Value,
};

use crate::limits::{GuestLimits, Limit};
use crate::world::{End, World};

mod answer;
mod exhaustion;
mod files;
mod host;
mod jobs;
mod modules;
mod prepared;
mod process;
mod programs;
mod requests;

use host::Host;
pub use prepared::Prepared;

/// What a program is.
#[derive(Clone, Copy, Debug)]
pub enum Program<'a> {
    /// What stands at a path of its world.
    File(&'a [u8]),
    /// This text, as if it stood in a file of the working directory.
    Text(&'a str),
}

/// Why a program was not run.
#[derive(Debug, thiserror::Error)]
pub enum JavaScriptError {
    /// There is no memory for it, or this build is broken.
    #[error("the engine for JavaScript cannot be started: {0}")]
    Engine(String),
    /// No thread can be started for it.
    #[error("a thread for the program cannot be started: {0}")]
    Thread(std::io::Error),
}

/// Runs the program at a path of its world, in a thread of its own, until it ends.
///
/// # Errors
///
/// If it never began.
pub fn run(program: &[u8], world: World) -> Result<End, JavaScriptError> {
    let thread = std::thread::Builder::new().stack_size(stack_for(&world.limits));
    std::thread::scope(|scope| {
        let running = thread.spawn_scoped(scope, || run_here(program, world));
        running.map_err(JavaScriptError::Thread)?.join().unwrap_or_else(|_| {
            let message = "the engine failed; this is a bug of stockade".to_owned();
            Ok(End::Failed { message, after: None })
        })
    })
}

/// What a thread needs of a stack in which a program with these limits runs.
pub fn stack_for(limits: &GuestLimits) -> usize {
    stack_of(limits).saturating_add(HOST_STACK)
}

fn stack_of(limits: &GuestLimits) -> usize {
    usize::try_from(limits.max_stack).unwrap_or(usize::MAX).clamp(SMALLEST_STACK, LARGEST_STACK)
}

fn run_here(program: &[u8], world: World) -> Result<End, JavaScriptError> {
    Ok(match Run::set_up(world)? {
        Ok(mut run) => run.carry_out(&Program::File(program), Beginning::First),
        Err(end) => end,
    })
}

/// An engine with all that a program finds, and the program that runs in it. Whatever holds a value of the engine goes
/// before the engine.
struct Run {
    rejected: Rejected,
    modules: modules::Hooks,
    turn: Option<Turn>,
    context: Context,
    runtime: Runtime,
    host: Rc<Host>,
    spent: Rc<Cell<bool>>,
}

impl Drop for Run {
    fn drop(&mut self) {
        self.rejected.0.borrow_mut().clear();
        self.modules.let_go();
    }
}

/// Whether an engine was made for this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    First,
    /// It is a copy of one that others are copies of too: nothing that is by chance may stay as it is.
    Copy,
}

/// Promises that failed and that nobody asked.
#[derive(Clone, Default)]
struct Rejected(Rc<RefCell<Vec<PromiseAndReason>>>);

type PromiseAndReason = (Persistent<Value<'static>>, Persistent<Value<'static>>);

impl Rejected {
    fn watch(&self, runtime: &Runtime) {
        let all = Rc::clone(&self.0);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx: Ctx<'_>, promise: Value<'_>, reason: Value<'_>, is_handled| {
                if is_handled {
                    let is_other = |(of, _): &(Persistent<Value<'static>>, _)| {
                        of.clone().restore(&ctx).is_ok_and(|of| of != promise)
                    };
                    all.borrow_mut().retain(is_other);
                } else {
                    let reason = Persistent::save(&ctx, reason);
                    all.borrow_mut().push((Persistent::save(&ctx, promise), reason));
                }
            },
        )));
    }
}

/// What is called at every turn of the loop.
#[derive(Clone)]
struct Turn {
    main: Persistent<Function<'static>>,
    ticks: Persistent<Function<'static>>,
    turn: Persistent<Function<'static>>,
    uncaught: Persistent<Function<'static>>,
}

impl Turn {
    fn of<'js>(ctx: &Ctx<'js>, hooks: &Object<'js>) -> rquickjs::Result<Self> {
        let function = |name: &str| -> rquickjs::Result<Persistent<Function<'static>>> {
            Ok(Persistent::save(ctx, hooks.get::<_, Function<'js>>(name)?))
        };
        Ok(Self {
            main: function("main")?,
            ticks: function("ticks")?,
            turn: function("turn")?,
            uncaught: function("uncaught")?,
        })
    }
}

impl Run {
    /// Makes everything that a program finds. It may be that a limit of the world ends that.
    fn set_up(world: World) -> Result<Result<Self, End>, JavaScriptError> {
        let failed = |error: rquickjs::Error| JavaScriptError::Engine(error.to_string());
        let limits = world.limits;
        let host = Rc::new(Host::new(world));
        let runtime = Runtime::new().map_err(failed)?;
        let spent = Rc::new(Cell::new(false));
        let (asked, ending) = (Rc::clone(&spent), Rc::clone(&host));
        runtime.set_interrupt_handler(Some(Box::new(move || {
            asked.set(asked.get() || ending.allowance.get().is_spent());
            asked.get() || ending.exit.get().is_some()
        })));
        let rejected = Rejected::default();
        rejected.watch(&runtime);
        let modules = modules::Hooks::default();
        runtime.set_loader(modules.clone(), modules.clone());
        let context = Context::full(&runtime).map_err(failed)?;
        let mut run = Self { rejected, modules, turn: None, context, runtime, host, spent };
        run.hold_to(&limits);
        Ok(run.load_parts().map(|()| run))
    }

    fn hold_to(&self, limits: &GuestLimits) {
        self.runtime.set_memory_limit(usize::try_from(limits.max_memory).unwrap_or(usize::MAX));
        self.runtime.set_max_stack_size(stack_of(limits));
    }

    fn load_parts(&mut self) -> Result<(), End> {
        let turn = self.context.with(|ctx| {
            let made = self.parts(&ctx).and_then(|hooks| {
                self.modules.install(&ctx, &hooks)?;
                Turn::of(&ctx, &hooks)
            });
            made.map_err(|error| self.broken(&ctx, error))
        })?;
        self.turn = Some(turn);
        Ok(())
    }

    fn parts<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let native = Object::new(ctx.clone())?;
        files::add_to(&native, &self.host)?;
        process::add_to(&native, &self.host)?;
        jobs::add_to(&native, &self.host)?;
        native.set("compile", Func::from(modules::compile))?;
        native.set("readModule", Func::from(modules::read))?;
        let internal = Object::new(ctx.clone())?;
        for name in PARTS {
            let part = compiled::script(ctx, name)?;
            part.call::<_, ()>((native.clone(), internal.clone()))?;
        }
        internal.get("hooks")
    }

    /// Starts a program, and goes on until there is nothing left of it.
    fn carry_out(&mut self, program: &Program<'_>, beginning: Beginning) -> End {
        let Some(turn) = self.turn.clone() else { return self.end_of("the engine is not whole") };
        let end = self.begin(program, beginning, &turn).and_then(|()| self.go_on(&turn));
        end.err().unwrap_or(End::Exited(self.host.status.get()))
    }

    fn begin(&self, program: &Program<'_>, beginning: Beginning, turn: &Turn) -> Result<(), End> {
        self.context.with(|ctx| {
            let main = turn.main.clone().restore(&ctx);
            let main = main.map_err(|error| self.broken(&ctx, error))?;
            let is_copy = beginning == Beginning::Copy;
            let (file, text) = match program {
                Program::File(path) => (Some(String::from_utf8_lossy(path).into_owned()), None),
                Program::Text(text) => (None, Some(*text)),
            };
            match main.call::<_, ()>((file, text, is_copy)).catch(&ctx) {
                Ok(()) => Ok(()),
                Err(error) => self.uncaught(&ctx, error, turn),
            }
        })
    }

    /// Something of ours failed, and not the program.
    fn broken(&self, ctx: &Ctx<'_>, error: rquickjs::Error) -> End {
        let caught = CaughtError::from_error(ctx, error);
        self.end_of(&caught.to_string())
    }

    /// Turns until there is nothing left to wait for.
    fn go_on(&mut self, turn: &Turn) -> Result<(), End> {
        loop {
            self.drain(turn)?;
            let wait: f64 = self.context.with(|ctx| {
                let function =
                    turn.turn.clone().restore(&ctx).map_err(|error| self.broken(&ctx, error))?;
                match function.call::<_, f64>(()).catch(&ctx) {
                    Ok(wait) => Ok(wait),
                    Err(error) => self.uncaught(&ctx, error, turn).map(|()| 0.0),
                }
            })?;
            if wait < 0.0 {
                return Ok(());
            }
            if wait > 0.0 {
                self.drain(turn)?;
                std::thread::sleep(Duration::from_secs_f64((wait / 1000.0).min(LONGEST_WAIT)));
            }
        }
    }

    /// What is to be done before anything else: ticks and what promises lead to, in turns.
    fn drain(&mut self, turn: &Turn) -> Result<(), End> {
        loop {
            let ticks: bool = self.context.with(|ctx| {
                let function =
                    turn.ticks.clone().restore(&ctx).map_err(|error| self.broken(&ctx, error))?;
                match function.call::<_, bool>(()).catch(&ctx) {
                    Ok(any) => Ok(any),
                    Err(error) => self.uncaught(&ctx, error, turn).map(|()| true),
                }
            })?;
            let mut jobs = false;
            loop {
                match self.runtime.execute_pending_job() {
                    Ok(true) => jobs = true,
                    Ok(false) => break,
                    Err(exception) => {
                        jobs = true;
                        exception.0.with(|ctx| {
                            let error = CaughtError::from_error(&ctx, rquickjs::Error::Exception);
                            self.uncaught(&ctx, error, turn)
                        })?;
                    }
                }
            }
            if !ticks && !jobs {
                break;
            }
        }
        let left = std::mem::take(&mut *self.rejected.0.borrow_mut());
        for (promise, reason) in left {
            self.context.with(|ctx| {
                let (Ok(_), Ok(reason)) = (promise.restore(&ctx), reason.restore(&ctx)) else {
                    return Ok(());
                };
                self.tell(&ctx, reason, turn, true)
            })?;
        }
        Ok(())
    }

    /// What becomes of a program whose error nobody caught: it is told, and ends with 1, unless it asked to be told itself.
    fn uncaught<'js>(
        &self,
        ctx: &Ctx<'js>,
        error: CaughtError<'js>,
        turn: &Turn,
    ) -> Result<(), End> {
        self.check()?;
        let value = match error {
            CaughtError::Exception(exception) => exception.into_object().into_value(),
            CaughtError::Value(value) => value,
            CaughtError::Error(error) => return Err(self.end_of(&error.to_string())),
        };
        self.tell(ctx, value, turn, false)
    }

    fn tell<'js>(
        &self,
        ctx: &Ctx<'js>,
        value: Value<'js>,
        turn: &Turn,
        is_promise: bool,
    ) -> Result<(), End> {
        if exhaustion::is_of_exhaustion(&value, self.host.world.borrow().limits.max_memory) {
            return Err(End::Reached(Limit::Memory));
        }
        let text = text_of(&value);
        let function = turn.uncaught.clone().restore(ctx);
        let function: Function<'js> = function.map_err(|error| self.broken(ctx, error))?;
        match function.call::<_, bool>((value, is_promise)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.end_of(&text)),
            Err(error) => {
                let second = CaughtError::from_error(ctx, error).to_string();
                Err(self.end_of(&format!("{text}\n{second}")))
            }
        }
    }

    /// Whether it was ended, by itself or by its time.
    fn check(&self) -> Result<(), End> {
        // A call of the host that is refused for the time may end a program before the engine has looked at the time itself.
        match self.host.exit.get() {
            Some(status) => Err(End::Exited(status)),
            None if self.spent.get() || self.host.allowance.get().is_spent() => {
                Err(End::Reached(Limit::Cpu))
            }
            None => Ok(()),
        }
    }

    /// How a program ended that failed for this reason.
    fn end_of(&self, text: &str) -> End {
        if let Err(end) = self.check() {
            return end;
        }
        let begins =
            |words: &str| text.starts_with(words) || text.starts_with(&format!("Error: {words}"));
        match () {
            () if begins("InternalError: out of memory") => End::Reached(Limit::Memory),
            () if begins("RangeError: Maximum call stack size exceeded")
                || begins("InternalError: stack overflow") =>
            {
                End::Reached(Limit::Stack)
            }
            () => End::Exited(1),
        }
    }
}

/// The name and message of an error; never runs anything of the program.
fn text_of(value: &Value<'_>) -> String {
    let Some(exception) = value.as_exception() else { return String::new() };
    let name = exception.as_object().get::<_, String>("name").unwrap_or_default();
    format!("{name}: {}", exception.message().unwrap_or_default())
}

/// What Node has, in the order in which the parts need each other.
const PARTS: &[&str] = &[
    "errors",
    "events",
    "buffer",
    "util",
    "arguments",
    "path",
    "url",
    "timers",
    "stream",
    "fs",
    "process",
    "assert",
    "crypto",
    "programs",
    "fetch",
    "tools",
    "absent",
    "modules",
];

const SMALLEST_STACK: usize = 128 << 10;
const LARGEST_STACK: usize = 256 << 20;
/// For what is below the first call of the program and above the last.
const HOST_STACK: usize = 8 << 20;
/// Seconds: a timer further away is asked for again.
const LONGEST_WAIT: f64 = 60.0;
