//! WASM modules: compiled for this processor, held to their limits, started at `_start`. All they can reach is what
//! [`calls`] gives them, which is WASI preview 1 over the files of their world. A22
//!
//! Never asks this process for its arguments, variables or files.

use std::sync::{Arc, Weak};
use std::time::Duration;

use wasmtime::{Config, Engine, Linker, Module, Store, Trap, UpdateDeadline};

use crate::limits::{GuestLimits, Limit};
use crate::world::{End, World};

mod calls;
mod descriptors;
mod host;
mod layout;
mod limiter;
mod memory;
mod paths;
mod poll;
mod process;
mod refusal;
mod rights;
mod table;
mod transfer;

pub use compiled::{CodeDigest, LoadError};
use host::{Ending, Host};

/// Compiles modules and runs them. One serves any number of guests, one after the other or at once.
#[derive(Clone)]
pub struct Wasm {
    engine: Engine,
    linker: Arc<Linker<Host>>,
    max_stack: u64,
}

impl std::fmt::Debug for Wasm {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Wasm").finish_non_exhaustive()
    }
}

/// A module that can be run.
#[derive(Clone, Debug)]
pub struct Compiled(Module);

impl Compiled {
    /// Its code, to be loaded by another process.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub fn serialize(&self) -> Result<Vec<u8>, WasmError> {
        self.0.serialize().map_err(|error| WasmError::Module(format!("{error:#}")))
    }
}

/// Why a module was not run.
#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    /// This machine cannot run any.
    #[error("the engine for WASM cannot be started: {0}")]
    Engine(String),
    /// It is no module, or one that uses what is not built in.
    #[error("not a WASM module that can be compiled: {0}")]
    Module(String),
    /// It needs something that there is not.
    #[error("the module cannot be linked: {0}")]
    Link(String),
    /// It has no function to begin with.
    #[error("the module has no function `_start`: it is a library, not a program")]
    NoStart,
    /// A directory that it is to begin with cannot be opened.
    #[error("the directory `{}` cannot be given to the module: {error}", path.escape_ascii())]
    Preopen {
        /// Which one.
        path: Vec<u8>,
        /// Why.
        error: vfs::Error,
    },
    /// No thread can be started for it.
    #[error("a thread for the module cannot be started: {0}")]
    Thread(std::io::Error),
}

impl Wasm {
    /// An engine whose guests have at most this stack.
    ///
    /// # Errors
    ///
    /// If this machine has no memory for it.
    pub fn new(limits: &GuestLimits) -> Result<Self, WasmError> {
        let failed = |error: wasmtime::Error| WasmError::Engine(format!("{error:#}"));
        let engine = engine(limits)?;
        let mut linker = Linker::new(&engine);
        calls::add_to(&mut linker).map_err(failed)?;
        Ok(Self { engine, linker: Arc::new(linker), max_stack: limits.max_stack })
    }

    /// Compiles the bytes of a module. Text is not taken: a program is dispatched by its first bytes.
    ///
    /// # Errors
    ///
    /// If they are no module.
    pub fn compile(&self, bytes: &[u8]) -> Result<Compiled, WasmError> {
        let module = Module::from_binary(&self.engine, bytes);
        module.map(Compiled).map_err(|error| WasmError::Module(format!("{error:#}")))
    }

    /// The module whose code this is: compiled before, by [`precompile`], and unchanged since.
    ///
    /// # Errors
    ///
    /// If it is not the code with this digest, or not of this very engine.
    pub fn load(&self, code: &[u8], digest: CodeDigest) -> Result<Compiled, LoadError> {
        compiled::load(&self.engine, code, digest).map(Compiled)
    }

    /// Runs it, in a thread of its own, until it ends.
    ///
    /// # Errors
    ///
    /// If it never began.
    pub fn run(&self, module: &Compiled, world: World) -> Result<End, WasmError> {
        // Ends the thread that keeps time when it is dropped.
        let clock = Arc::new(());
        if world.limits.max_cpu.is_some() {
            keep_time(self.engine.clone(), Arc::downgrade(&clock))?;
        }
        let stack = usize::try_from(self.max_stack).unwrap_or(usize::MAX).min(LARGEST_STACK);
        let thread = std::thread::Builder::new().stack_size(stack.saturating_add(HOST_STACK));
        std::thread::scope(|scope| {
            let running = thread.spawn_scoped(scope, || self.run_here(module, world));
            let running = running.map_err(WasmError::Thread)?;
            running.join().unwrap_or_else(|_| {
                let message = "the engine failed; this is a bug of stockade".to_owned();
                Ok(End::Failed { message, after: None })
            })
        })
    }

    fn run_here(&self, module: &Compiled, world: World) -> Result<End, WasmError> {
        let mut store = Store::new(&self.engine, Host::new(world)?);
        store.limiter(|host| &mut host.limiter);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|store| match store.data().allowance.is_spent() {
            true => Err(Ending::Reached(Limit::Cpu).into()),
            false => Ok(UpdateDeadline::Continue(1)),
        });
        let started = self.linker.instantiate(&mut store, &module.0).and_then(|instance| {
            let start = instance.get_typed_func::<(), ()>(&mut store, "_start");
            start.map_err(|_| wasmtime::Error::new(Ending::NoStart))?.call(&mut store, ())
        });
        let refused = store.data().limiter.refused;
        match started {
            Ok(()) => Ok(End::Exited(0)),
            Err(error) => ended(&error, refused),
        }
    }
}

/// The code of a module, to be loaded by another process: never run here.
///
/// # Errors
///
/// If the bytes are no module, or this machine has no memory for it.
pub fn precompile(bytes: &[u8]) -> Result<Vec<u8>, WasmError> {
    let code = engine(&GuestLimits::default())?.precompile_module(bytes);
    code.map_err(|error| WasmError::Module(format!("{error:#}")))
}

/// What compiles and what loads must have the same settings; the stack's size is none of them.
fn engine(limits: &GuestLimits) -> Result<Engine, WasmError> {
    let stack = usize::try_from(limits.max_stack).unwrap_or(usize::MAX);
    let mut config = Config::new();
    config.epoch_interruption(true).max_wasm_stack(stack.clamp(SMALLEST_STACK, LARGEST_STACK));
    if rustix::process::getrlimit(rustix::process::Resource::As).current.is_some() {
        // Where address space is limited, a memory must not reserve four gigabytes of it to be fast.
        config.memory_reservation(0).memory_guard_size(0);
    }
    Engine::new(&config).map_err(|error| WasmError::Engine(format!("{error:#}")))
}

/// What came of a module that did not simply return.
fn ended(error: &wasmtime::Error, refused: Option<Limit>) -> Result<End, WasmError> {
    match (error.downcast_ref::<Ending>(), error.downcast_ref::<Trap>()) {
        (Some(Ending::Exit(status)), _) => Ok(End::Exited(*status)),
        (Some(Ending::Reached(limit)), _) => Ok(End::Reached(*limit)),
        (Some(Ending::NoStart), _) => Err(WasmError::NoStart),
        (None, Some(Trap::StackOverflow)) => Ok(End::Reached(Limit::Stack)),
        (None, Some(trap)) => Ok(End::Failed { message: trap.to_string(), after: refused }),
        // It never began: what it declares is more than it may have, or not there.
        (None, None) => match refused {
            Some(limit) => Ok(End::Reached(limit)),
            None => Err(WasmError::Link(format!("{error:#}"))),
        },
    }
}

/// Asks every guest, at every tick, how long it has computed.
fn keep_time(engine: Engine, while_used: Weak<()>) -> Result<(), WasmError> {
    let thread = std::thread::Builder::new().name("guest time".to_owned()).stack_size(CLOCK_STACK);
    let ticking = thread.spawn(move || {
        while while_used.strong_count() > 0 {
            std::thread::sleep(TICK);
            engine.increment_epoch();
        }
    });
    ticking.map(drop).map_err(WasmError::Thread)
}

/// How late a guest may be ended by its time.
const TICK: Duration = Duration::from_millis(10);
const SMALLEST_STACK: usize = 64 << 10;
const LARGEST_STACK: usize = 256 << 20;
/// For what runs below the guest's own calls.
const HOST_STACK: usize = 1 << 20;
const CLOCK_STACK: usize = 64 << 10;
