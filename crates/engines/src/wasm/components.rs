//! Components: programs of WASI preview 2, run as commands. What they import is answered by the files beside this one, over the
//! same world, files and limits as a module's calls; nothing else can be imported. A22
//!
//! Never asks this process for its arguments, variables or files, but for whom a request over HTTP may trust and by which proxy it
//! goes. Its network is asked where the world says so, and by `network` and `http` alone.
#![expect(
    unreachable_pub,
    reason = "what a handle stands for is named by the bindings, which are public in here"
)]

use std::sync::OnceLock;

use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime::{Engine, Trap};

use super::host::Ending;
use super::{Rest, WasmError};
use crate::limits::Limit;
use crate::world::{End, World};

mod bindings;
mod budget;
mod cli;
mod clocks;
mod codes;
mod descriptors;
mod host;
mod http;
mod listing;
mod names;
mod network;
mod pollables;
mod streams;
mod tcp;
mod udp;

use bindings::{Command, CommandPre, LinkOptions};
use host::Host;

/// All that a component can import.
pub(super) struct Imports {
    linker: Linker<Host>,
    /// The same and `wasi:http`, made for the first component that asks for it: the others begin without.
    with_http: OnceLock<Linker<Host>>,
}

impl Imports {
    pub(super) fn new(engine: &Engine) -> Result<Self, WasmError> {
        let mut linker = Linker::new(engine);
        // What is not stable yet is left out.
        let options = LinkOptions::default();
        let added = Command::add_to_linker::<_, HasSelf<_>>(&mut linker, &options, |host| host);
        added.map_err(|error| WasmError::Engine(format!("{error:#}")))?;
        Ok(Self { linker, with_http: OnceLock::new() })
    }

    /// What this component is linked to.
    fn of(&self, engine: &Engine, component: &Component) -> Result<&Linker<Host>, WasmError> {
        if !http::is_imported(engine, component) {
            return Ok(&self.linker);
        }
        match self.with_http.get() {
            Some(linker) => Ok(linker),
            None => {
                let linker = http::beside(&self.linker);
                let linker = linker.map_err(|error| WasmError::Engine(format!("{error:#}")))?;
                Ok(self.with_http.get_or_init(|| linker))
            }
        }
    }

    /// Runs a component in this thread, until it ends.
    pub(super) fn run(
        &self,
        engine: &Engine,
        component: &Component,
        world: World,
        rest: Rest,
    ) -> Result<End, WasmError> {
        let linked = self.of(engine, component)?.instantiate_pre(component);
        let linked = linked.map_err(|error| WasmError::Link(format!("{error:#}")))?;
        let program = CommandPre::new(linked).map_err(|_| WasmError::NoRun)?;
        let most_handles = usize::try_from(world.limits.max_handles).unwrap_or(usize::MAX);
        let mut store = super::store(engine, Host::new(world)?);
        store.set_max_component_handles(most_handles);
        store.set_hostcall_fuel(MOST_OF_ONE_CALL);
        let (has_begun, ended) = match program.instantiate(&mut store) {
            Ok(begun) => (true, begun.wasi_cli_run().call_run(&mut store)),
            Err(error) => (false, Err(error)),
        };
        let refused = store.data().held.limiter.refused;
        rest.of(store);
        match ended {
            Ok(result) => Ok(End::Exited(i32::from(result.is_err()))),
            Err(error) if has_begun => Ok(failed(&error, refused)?),
            Err(error) => super::ended(&error, refused),
        }
    }
}

/// What came of a component that had begun. What the engine has against how it uses its handles is a fault of its own too.
fn failed(error: &wasmtime::Error, refused: Option<Limit>) -> Result<End, WasmError> {
    if error.downcast_ref::<Ending>().is_some() || error.downcast_ref::<Trap>().is_some() {
        return super::ended(error, refused);
    }
    let message = error.root_cause().to_string();
    match message.contains(TOO_MANY_HANDLES) {
        true => Ok(End::Reached(Limit::Handles)),
        false => Ok(End::Failed { message, after: refused }),
    }
}

/// How the engine says that a component has as many handles as it may. It has no type of its own.
const TOO_MANY_HANDLES: &str = "store handle limit exceeded";
/// The bytes that one call may hand over: what is copied for it is not in the component's memory.
const MOST_OF_ONE_CALL: usize = 16 << 20;
