//! What every copy of a pool begins with, and how one becomes its guest. A copy runs one guest and ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;

use engines::javascript::{Prepared, Program};
use engines::wasm::{CodeDigest, Compiled, Wasm};
use engines::{End, GuestKind, GuestLimits, Input, Streams, World};
use landlock::{CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated, Scope};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use vfs::{At, OpenFlags};

use super::modules::{self, Modules};
use super::request::Request;
use super::spare::{Ends, News};
use crate::order::Order;
use crate::{CANNOT_RUN, NOT_FOUND, Refused, refused};

/// What every copy begins with.
pub(super) struct Template {
    engine: Prepared,
    /// Never taken apart: that would take longer than most guests run.
    pub(super) parts: &'static mut Parts,
}

pub(super) struct Parts {
    pool: Pid,
    world: World,
    pub(super) wasm: Wasm,
    pub(super) modules: Modules,
    smallest: Compiled,
}

impl Template {
    /// Makes the engines, with the root and the user of this process.
    pub(super) fn new(order: &Order) -> Result<Self, Refused> {
        let cannot = |error: &dyn std::fmt::Display| refused(CANNOT_RUN, error.to_string());
        make_room(&order.limits)?;
        let world = crate::world(order)?;
        let engine = Prepared::new(copied(&world)).map_err(|error| cannot(&error))?;
        let wasm = Wasm::new(&order.limits).map_err(|error| cannot(&error))?;
        let (pool, modules) = (rustix::process::getpid(), Modules::default());
        let smallest = wasm.compile(SMALLEST).map_err(|error| cannot(&error))?;
        smallest.get_ready().map_err(|error| cannot(&error))?;
        let parts = Parts { pool, world, wasm, modules, smallest };
        Ok(Self { engine, parts: Box::leak(Box::new(parts)) })
    }

    /// Waits for a guest in this process, which is a copy of the pool, and runs it.
    pub(super) fn become_guest(self, ends: Ends) -> Result<(), Refused> {
        let Ends { mut channel, output, error, code } = ends;
        detach(self.parts.pool, &output, &error)
            .map_err(|error| refused(CANNOT_RUN, error.to_string()))?;
        drop((output, error));
        self.engine.touch();
        self.parts.get_ready();
        let mut line = Vec::new();
        let read = BufReader::new(&channel).read_until(b'\n', &mut line);
        let Ok(request) = serde_json::from_slice::<Request>(&line) else {
            // The pool has ended, or does not need this copy any more.
            return read.map(drop).map_err(|error| refused(CANNOT_RUN, error.to_string()));
        };
        let limits = limits_of(&request, &self.parts.world.limits);
        let name = request.file.clone().unwrap_or_else(|| "the script".to_owned());
        let (status, why) = match self.run(request, limits, code, &channel) {
            Ok(end) => {
                let (status, why) = crate::told(&end, &limits);
                (status, why.map(|why| format!("`{name}` {why}")))
            }
            Err(Refused { status, why }) => (status, Some(why)),
        };
        let why = why.map(|why| why.chars().take(LONGEST_WHY).collect());
        say(&channel, &News::Ended { status, why });
        // The pool ends it. To take a process apart takes longer than most guests run, and would keep a processor from the pool.
        channel
            .read_to_end(&mut Vec::new())
            .map(drop)
            .map_err(|error| refused(CANNOT_RUN, error.to_string()))
    }

    fn run(
        self,
        request: Request,
        limits: GuestLimits,
        code: OwnedFd,
        channel: &UnixStream,
    ) -> Result<End, Refused> {
        let Self { engine, parts } = self;
        let mut world = parts.world_of(&request, limits)?;
        if let Some(script) = &request.script {
            return Ok(engine.run(&Program::Text(script), world));
        }
        let file = request.file.unwrap_or_default().into_bytes();
        let source = crate::read(&world, &file)?;
        match GuestKind::of(&source) {
            GuestKind::Module | GuestKind::Component => {
                // It is like the other parts.
                std::mem::forget(engine);
                if world.preopens.is_empty() {
                    world.preopens = crate::directories(&world)?;
                }
                let module = parts.compiled(&source, code, channel)?;
                let end = parts.wasm.run_last(&module, world);
                end.map_err(|error| refused(CANNOT_RUN, error.to_string()))
            }
            GuestKind::Native => {
                let name = String::from_utf8_lossy(&file);
                Err(refused(CANNOT_RUN, format!("`{name}` is a native program, and no guest")))
            }
            GuestKind::Script | GuestKind::Other => {
                // A guest has no other way to what is compiled than this process, which lets it go.
                drop(code);
                Ok(engine.run(&Program::File(&file), world))
            }
        }
    }
}

impl Parts {
    /// Does ahead what every guest needs: a copy gets its own pages by that, and finds the kernel's, before a guest waits for
    /// them.
    fn get_ready(&mut self) {
        // A module is told what is wrong with them.
        self.world.preopens = crate::directories(&self.world).unwrap_or_default();
        let _end = self.wasm.run_last(&self.smallest, copied(&self.world));
    }

    fn world_of(&self, request: &Request, limits: GuestLimits) -> Result<World, Refused> {
        let mut world = copied(&self.world);
        world.limits = limits;
        world.caller.pid = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
        let name = request.file.as_deref().unwrap_or("[script]");
        let words = std::iter::once(name).chain(request.arguments.iter().map(String::as_str));
        world.arguments = words.map(|word| word.as_bytes().to_vec()).collect();
        let own = |name: &[u8]| request.environment.contains_key(&*String::from_utf8_lossy(name));
        world.environment.retain(|(name, _)| !own(name));
        let more = request.environment.iter();
        let more =
            more.map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes()));
        world.environment.extend(more);
        if let Some(directory) = &request.directory {
            world.working_directory = absolute(&self.world.working_directory, directory);
            check_directory(&world, directory)?;
            world.preopens.clear();
        }
        world.streams = Streams {
            input: Input::Bytes(request.input.clone().into_bytes()),
            output: crate::output(rustix::stdio::stdout()),
            error: crate::output(rustix::stdio::stderr()),
        };
        Ok(world)
    }

    /// What a module was compiled to, by an earlier guest or now.
    fn compiled(
        &self,
        source: &[u8],
        code: OwnedFd,
        channel: &UnixStream,
    ) -> Result<Compiled, Refused> {
        let digest = CodeDigest::of(source);
        if let Some(known) = self.modules.get(digest) {
            return Ok(known.clone());
        }
        let compiled = crate::compiled(&self.wasm, source)?;
        // Without it the next guest compiles once more.
        if modules::write(code, digest, &compiled).is_ok() {
            say(channel, &News::Compiled);
        }
        Ok(compiled)
    }
}

/// The same files, user, variables and places, and nothing else.
fn copied(world: &World) -> World {
    World {
        files: world.files.clone(),
        caller: world.caller.clone(),
        arguments: Vec::new(),
        environment: world.environment.clone(),
        working_directory: world.working_directory.clone(),
        preopens: world.preopens.clone(),
        streams: Streams::default(),
        limits: world.limits,
        around: world.around.clone(),
    }
}

fn limits_of(request: &Request, most: &GuestLimits) -> GuestLimits {
    let memory = request.memory_mb.map_or(u64::MAX, |memory_mb| memory_mb.saturating_mul(1 << 20));
    GuestLimits { max_memory: most.max_memory.min(memory), ..*most }
}

/// A copy ends with its pool, is the first of its own group, and has its guest's streams for its own.
fn detach(pool: Pid, output: &OwnedFd, error: &OwnedFd) -> std::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(pool) {
        return Err(std::io::Error::other("the pool has ended"));
    }
    // In a session of its own no other guest's program can join its group, nor its programs theirs.
    rustix::process::setsid()?;
    keep_signals_in()?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(nothing.as_fd())?;
    rustix::stdio::dup2_stdout(output)?;
    rustix::stdio::dup2_stderr(error)?;
    Ok(())
}

/// A guest and what it starts signal each other and nobody else: neither the pool, which ends them, nor other guests. Where the
/// kernel cannot do that, they can.
fn keep_signals_in() -> std::io::Result<()> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let ruleset = ruleset.scope(Scope::Signal).and_then(Ruleset::create);
    let restricted = ruleset.and_then(RulesetCreated::restrict_self);
    restricted.map(drop).map_err(std::io::Error::other)
}

fn absolute(here: &[u8], directory: &str) -> Vec<u8> {
    let here = std::path::PathBuf::from(std::ffi::OsString::from_vec(here.to_vec()));
    here.join(directory).into_os_string().into_vec()
}

fn check_directory(world: &World, name: &str) -> Result<(), Refused> {
    let flags = OpenFlags { directory: true, path: true, ..OpenFlags::NOTHING };
    let opened = world.files.open(&world.caller, At::Root, &world.working_directory, flags, 0);
    opened.map(drop).map_err(|error| refused(NOT_FOUND, format!("the directory `{name}`: {error}")))
}

/// A guest runs in the only thread of a copy, which has the stack that the kernel gives it.
fn make_room(limits: &GuestLimits) -> Result<(), Refused> {
    let needed = u64::try_from(engines::javascript::stack_for(limits)).unwrap_or(u64::MAX);
    let Rlimit { current, maximum } = rustix::process::getrlimit(Resource::Stack);
    if needed > LARGEST_STACK || maximum.is_some_and(|most| most < needed) {
        let most = maximum.unwrap_or(LARGEST_STACK).min(LARGEST_STACK);
        let why = format!(
            "guests of a pool would need a stack of {needed} bytes, and have {most}: lower `--max-stack`"
        );
        return Err(refused(CANNOT_RUN, why));
    }
    if current.is_some_and(|current| current < needed) {
        let raised = Rlimit { current: Some(needed), maximum };
        rustix::process::setrlimit(Resource::Stack, raised).map_err(|error| {
            refused(CANNOT_RUN, format!("the stack cannot be made larger: {error}"))
        })?;
    }
    Ok(())
}

fn say(channel: &UnixStream, news: &News) {
    // Without a pool there is nobody to tell.
    if let Ok(mut line) = serde_json::to_vec(news) {
        line.push(b'\n');
        let mut channel = channel;
        let _unheard = channel.write_all(&line);
    }
}

/// The room that the kernel keeps below a stack at least.
const LARGEST_STACK: u64 = 96 << 20;
/// Characters, of which each takes four bytes at most.
const LONGEST_WHY: usize = 4 << 10;
/// A module with a memory, a byte in it, and a function that does nothing.
const SMALLEST: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x05\x03\x01\0\x01\x07\x0a\x01\x06_start\0\0\x0a\x04\x01\x02\0\x0b\x0b\x07\x01\0\x41\0\x0b\x01\x01";
