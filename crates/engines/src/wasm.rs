//! WASM: modules and components, compiled for this processor and held to their limits. All that a module can reach is what
//! [`calls`] gives it, which is WASI preview 1; all that a component can is what [`components`] gives it, which is preview 2.
//! Both are over the files of their world. A22
//!
//! Never asks this process for its arguments, variables or files.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use wasmtime::component::Component;
use wasmtime::{Config, Engine, Linker, Module, Store, Trap, UpdateDeadline};

use crate::kind::GuestKind;
use crate::limits::{GuestLimits, Limit};
use crate::world::{End, World};

mod calls;
mod chance;
mod components;
mod descriptors;
mod files;
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
mod waiting;

pub use compiled::{CodeDigest, LoadError};
use host::{Ending, Held, Host};

/// Compiles modules and runs them. One serves any number of guests, one after the other or at once.
#[derive(Clone)]
pub struct Wasm {
    engine: Engine,
    linker: Arc<Linker<Host>>,
    /// Made for the first component: a module needs none of it.
    components: Arc<OnceLock<components::Imports>>,
    max_stack: u64,
}

impl std::fmt::Debug for Wasm {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Wasm").finish_non_exhaustive()
    }
}

/// A module or component that can be run.
#[derive(Clone)]
pub struct Compiled(Code);

#[derive(Clone)]
enum Code {
    Module(Module),
    Component(Component),
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Compiled").finish_non_exhaustive()
    }
}

impl Compiled {
    /// Its code, to be loaded by another process.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub fn serialize(&self) -> Result<Vec<u8>, WasmError> {
        let code = match &self.0 {
            Code::Module(module) => module.serialize(),
            Code::Component(component) => component.serialize(),
        };
        code.map_err(|error| WasmError::Module(format!("{error:#}")))
    }

    /// Does once what its first guest would do: what its memory begins with is then there for all.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub fn get_ready(&self) -> Result<(), WasmError> {
        let ready = match &self.0 {
            Code::Module(module) => module.initialize_copy_on_write_image(),
            Code::Component(component) => component.initialize_copy_on_write_image(),
        };
        ready.map_err(|error| WasmError::Module(format!("{error:#}")))
    }

    /// Which of the two it is.
    pub const fn kind(&self) -> GuestKind {
        match self.0 {
            Code::Module(_) => GuestKind::Module,
            Code::Component(_) => GuestKind::Component,
        }
    }
}

/// Why a module was not run.
#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    /// This machine cannot run any.
    #[error("the engine for WASM cannot be started: {0}")]
    Engine(String),
    /// It is no module, or one that uses what is not built in.
    #[error("not a WASM module or component that can be compiled: {0}")]
    Module(String),
    /// It needs something that there is not.
    #[error("the module cannot be linked: {0}")]
    Link(String),
    /// It has no function to begin with.
    #[error("the module has no function `_start`: it is a library, not a program")]
    NoStart,
    /// The same of a component.
    #[error("the component does not export `wasi:cli/run`: it is a library, not a program")]
    NoRun,
    /// The directories that it is to begin with are more than it may have open.
    #[error("the directory `{}` is more than the module may have open", name.escape_ascii())]
    Preopen {
        /// What the module calls it.
        name: Vec<u8>,
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
        let linker = Arc::new(linker);
        Ok(Self { engine, linker, components: Arc::default(), max_stack: limits.max_stack })
    }

    /// Compiles the bytes of a module or component. Text is not taken: a program is dispatched by its first bytes.
    ///
    /// # Errors
    ///
    /// If they are neither.
    pub fn compile(&self, bytes: &[u8]) -> Result<Compiled, WasmError> {
        let code = match GuestKind::of(bytes) {
            GuestKind::Component => {
                Component::from_binary(&self.engine, bytes).map(Code::Component)
            }
            _ => Module::from_binary(&self.engine, bytes).map(Code::Module),
        };
        code.map(Compiled).map_err(|error| WasmError::Module(format!("{error:#}")))
    }

    /// The module or component whose code this is: compiled before, by [`precompile`], and unchanged since. Code of the one is
    /// never loaded as that of the other.
    ///
    /// # Errors
    ///
    /// If it is not the code with this digest, or not of this kind or of this very engine.
    pub fn load(
        &self,
        code: &[u8],
        digest: CodeDigest,
        kind: GuestKind,
    ) -> Result<Compiled, LoadError> {
        let code = match kind {
            GuestKind::Component => {
                compiled::load_component(&self.engine, code, digest).map(Code::Component)
            }
            _ => compiled::load(&self.engine, code, digest).map(Code::Module),
        };
        code.map(Compiled)
    }

    /// Runs it, in a thread of its own, until it ends.
    ///
    /// # Errors
    ///
    /// If it never began.
    pub fn run(&self, module: &Compiled, world: World) -> Result<End, WasmError> {
        let _clock = self.keep_time(&world)?;
        let stack = usize::try_from(self.max_stack).unwrap_or(usize::MAX).min(LARGEST_STACK);
        let thread = std::thread::Builder::new().stack_size(stack.saturating_add(HOST_STACK));
        std::thread::scope(|scope| {
            let running = thread.spawn_scoped(scope, || self.run_here(module, world, Rest::Freed));
            let running = running.map_err(WasmError::Thread)?;
            running.join().unwrap_or_else(|_| {
                let message = "the engine failed; this is a bug of stockade".to_owned();
                Ok(End::Failed { message, after: None })
            })
        })
    }

    /// Runs it in this thread, as the last that this process does: the thread must have room for the stack that its limits
    /// allow, and whatever it leaves stays until this process ends, which takes it all at once.
    ///
    /// # Errors
    ///
    /// If it never began.
    pub fn run_last(&self, module: &Compiled, world: World) -> Result<End, WasmError> {
        let _clock = self.keep_time(&world)?;
        self.run_here(module, world, Rest::Left)
    }

    /// Has time kept until what this returns is dropped, where a guest's time is limited.
    fn keep_time(&self, world: &World) -> Result<Arc<()>, WasmError> {
        let clock = Arc::new(());
        if world.limits.max_cpu.is_some() {
            keep_time(self.engine.clone(), Arc::downgrade(&clock))?;
        }
        Ok(clock)
    }

    fn run_here(&self, module: &Compiled, world: World, rest: Rest) -> Result<End, WasmError> {
        let module = match &module.0 {
            Code::Module(module) => module,
            Code::Component(component) => {
                let imports = match self.components.get() {
                    Some(imports) => imports,
                    None => {
                        let imports = components::Imports::new(&self.engine)?;
                        self.components.get_or_init(|| imports)
                    }
                };
                return imports.run(&self.engine, component, world, rest);
            }
        };
        let mut store = store(&self.engine, Host::new(world)?);
        let started = self.linker.instantiate(&mut store, module).and_then(|instance| {
            let start = instance.get_typed_func::<(), ()>(&mut store, "_start");
            start.map_err(|_| wasmtime::Error::new(Ending::NoStart))?.call(&mut store, ())
        });
        let refused = store.data().held.limiter.refused;
        rest.of(store);
        match started {
            Ok(()) => Ok(End::Exited(0)),
            Err(error) => ended(&error, refused),
        }
    }
}

/// What becomes of what a guest leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Freed,
    /// It goes with this process.
    Left,
}

impl Rest {
    fn of<T>(self, store: Store<T>) {
        if self == Self::Left {
            std::mem::forget(store);
        }
    }
}

/// A store whose guest is held to its limits.
fn store<T: AsMut<Held> + 'static>(engine: &Engine, host: T) -> Store<T> {
    let mut store = Store::new(engine, host);
    store.limiter(|host| &mut host.as_mut().limiter);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut store| {
        match store.data_mut().as_mut().allowance.is_spent() {
            true => Err(Ending::Reached(Limit::Cpu).into()),
            false => Ok(UpdateDeadline::Continue(1)),
        }
    });
    store
}

/// The code of a module or component, to be loaded by another process: never run here.
///
/// # Errors
///
/// If the bytes are neither, or this machine has no memory for it.
pub fn precompile(bytes: &[u8]) -> Result<Vec<u8>, WasmError> {
    let engine = engine(&GuestLimits::default())?;
    let code = match GuestKind::of(bytes) {
        GuestKind::Component => engine.precompile_component(bytes),
        _ => engine.precompile_module(bytes),
    };
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
