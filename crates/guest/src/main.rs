//! `stockade-guest`: runs one WASM module or JavaScript program over the files of the root that it is started in, and ends
//! as that ends. `stockade` starts it inside a cage, whose walls hold around the engine too; by itself it confines nothing
//! but what a guest can name.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::ExitCode;
use std::sync::Arc;

use engines::wasm::{CodeDigest, Compiled, Wasm};
use engines::{Around, End, GuestKind, GuestLimits, Input, Output, Preopen, Streams, World};
use rustix::process::{Resource, Rlimit};
use vfs::{At, Caller, FileSystem, Host, Limits, OpenFlags};

mod code;
mod order;
mod pool;
mod preopens;

use order::{Code, Language, Order};

/// Why nothing was run.
struct Refused {
    status: u8,
    why: String,
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [only] = words.as_slice()
        && only == "--version"
    {
        return printed(&format!("stockade-guest {}\n", order::VERSION));
    }
    if let [only] = words.as_slice()
        && only == "--help"
    {
        return printed(order::USAGE);
    }
    match Order::read(words).map_err(|why| refused(USAGE_STATUS, why)).and_then(|order| run(&order))
    {
        Ok(status) => ExitCode::from(status),
        Err(refused) => {
            complain(&refused.why);
            ExitCode::from(refused.status)
        }
    }
}

fn run(order: &Order) -> Result<u8, Refused> {
    match order.language {
        Language::Compile => return compile(),
        Language::Code => return code::run(&order.limits),
        Language::Pool => return pool::serve(order),
        Language::Wasm | Language::JavaScript => {}
    }
    let program = order.words.first().map(|word| word.as_bytes().to_vec()).unwrap_or_default();
    let world = world(order)?;
    let source = read(&world, &program)?;
    let end = match order.language {
        Language::Wasm => run_wasm(&source, &order.code, world)?,
        Language::JavaScript | Language::Code | Language::Compile | Language::Pool => {
            engines::javascript::run(&program, world)
                .map_err(|error| refused(CANNOT_RUN, error.to_string()))?
        }
    };
    let name = String::from_utf8_lossy(&program);
    let (status, why) = told(&end, &order.limits);
    if let Some(why) = why {
        complain(&format!("`{name}` {why}"));
    }
    Ok(status)
}

/// The status of an end, and what there is to say about one that the guest did not come to by itself.
fn told(end: &End, limits: &GuestLimits) -> (u8, Option<String>) {
    match end {
        End::Exited(status) => (u8::try_from(status & 0xff).unwrap_or(u8::MAX), None),
        End::Failed { message, after } => {
            let after = after.map(|limit| format!(", after it had reached its limit `{limit}`"));
            (FAILED, Some(format!("failed{}: {message}", after.unwrap_or_default())))
        }
        End::Reached(limit) => {
            let most = match limit {
                engines::Limit::Memory => format!(" of {} bytes", limits.max_memory),
                engines::Limit::Stack => format!(" of {} bytes", limits.max_stack),
                engines::Limit::TableElements => {
                    format!(" of {} elements", limits.max_table_elements)
                }
                engines::Limit::Descriptors => format!(" of {}", limits.max_descriptors),
                engines::Limit::Handles => format!(" of {}", limits.max_handles),
                engines::Limit::Cpu => limits.max_cpu.map_or_else(String::new, |most| {
                    format!(" of {} seconds of processor time", most.as_secs_f64())
                }),
            };
            (LIMIT_REACHED, Some(format!("was ended: it reached its limit `{limit}`{most}")))
        }
    }
}

/// From input to output, whole or not at all.
fn compile() -> Result<u8, Refused> {
    let cannot = |why: String| refused(CANNOT_RUN, why);
    let mut module = Vec::new();
    let read = std::io::stdin().lock().take(LARGEST_PROGRAM).read_to_end(&mut module);
    read.map_err(|error| cannot(format!("the module cannot be read: {error}")))?;
    let code = engines::wasm::precompile(&module).map_err(|error| cannot(error.to_string()))?;
    let mut output = std::io::stdout().lock();
    let written = output.write_all(&code).and_then(|()| output.flush());
    written.map_err(|error| cannot(format!("the code cannot be written: {error}")))?;
    Ok(0)
}

/// The code that was compiled from this very program, if it is there as it was compiled. Else it is compiled anew.
fn kept(wasm: &Wasm, source: &[u8], code: &Code) -> Option<Compiled> {
    let Code { path: Some(path), digest: Some(digest), of: Some(of) } = code else { return None };
    if CodeDigest::of(source) != *of {
        return None;
    }
    wasm.load(&std::fs::read(path).ok()?, *digest, GuestKind::of(source)).ok()
}

fn run_wasm(source: &[u8], code: &Code, mut world: World) -> Result<End, Refused> {
    let cannot = |why: String| refused(CANNOT_RUN, why);
    world.preopens = directories(&world)?;
    let wasm = Wasm::new(&world.limits).map_err(|error| cannot(error.to_string()))?;
    let module = match kept(&wasm, source, code) {
        Some(module) => module,
        None => compiled(&wasm, source)?,
    };
    wasm.run(&module, world).map_err(|error| cannot(error.to_string()))
}

/// What a module begins with.
fn directories(world: &World) -> Result<Vec<Preopen>, Refused> {
    let cannot = |error| refused(CANNOT_RUN, format!("`/` cannot be opened: {error}"));
    preopens::preopens(world).map_err(cannot)
}

fn compiled(wasm: &Wasm, source: &[u8]) -> Result<Compiled, Refused> {
    let cannot = |why: String| refused(CANNOT_RUN, why);
    match GuestKind::of(source) {
        GuestKind::Module | GuestKind::Component => {}
        GuestKind::Native | GuestKind::Script | GuestKind::Other => {
            return Err(cannot("it does not begin as a WASM module or component does".to_owned()));
        }
    }
    wasm.compile(source).map_err(|error| cannot(error.to_string()))
}

/// The root of this process, as its own user; its streams, arguments and variables.
fn world(order: &Order) -> Result<World, Refused> {
    let cannot =
        |what: &str, error: &dyn std::fmt::Display| refused(CANNOT_RUN, format!("{what}: {error}"));
    let limits = file_limits();
    let root = File::open("/").map_err(|error| cannot("`/` cannot be opened", &error))?;
    let engine = Host::of_root(root.into(), &limits);
    let engine = engine.map_err(|error| cannot("`/` cannot be served", &error))?;
    let name = order.words.first().map(|word| word.as_bytes()).unwrap_or_default();
    let mut world = World::new(FileSystem::new(Arc::new(engine), &limits), caller(), name);
    world.arguments = order.words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let variables = std::env::vars_os();
    world.environment =
        variables.map(|(name, value)| (name.into_vec(), value.into_vec())).collect();
    let directory = std::env::current_dir();
    let directory = directory.map_err(|error| cannot("the working directory", &error))?;
    world.working_directory = directory.into_os_string().into_vec();
    world.streams = Streams {
        input: own(rustix::stdio::stdin()).map_or(Input::Empty, Input::Descriptor),
        output: output(rustix::stdio::stdout()),
        error: output(rustix::stdio::stderr()),
    };
    world.limits = order.limits;
    // What the cage has around it is the cage's own word.
    world.around = Around::ThisProcess;
    Ok(world)
}

fn output(stream: BorrowedFd<'_>) -> Output {
    own(stream).map_or(Output::Nothing, Output::Descriptor)
}

/// A stream that this process was started with, if it was.
fn own(stream: BorrowedFd<'_>) -> Option<OwnedFd> {
    stream.try_clone_to_owned().ok()
}

/// As whom it uses files: the kernel asks about the same user once more.
fn caller() -> Caller {
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    let _empty = rustix::process::umask(umask);
    let groups = rustix::process::getgroups().unwrap_or_default();
    Caller {
        groups: groups.into_iter().map(|group| group.as_raw()).collect(),
        umask: umask.bits(),
        pid: rustix::process::getpid().as_raw_nonzero().get().unsigned_abs(),
        ..Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
    }
}

/// A file that is held takes a descriptor, and so does one that is open.
fn file_limits() -> Limits {
    let Rlimit { current, maximum } = rustix::process::getrlimit(Resource::Nofile);
    let raised = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let most = if raised.is_ok() { maximum } else { current }.unwrap_or(MOST_DESCRIPTORS);
    let half = most.min(MOST_DESCRIPTORS).saturating_sub(RESERVED_DESCRIPTORS) / 2;
    Limits { max_inodes: half, max_open_files: half, ..Limits::default() }
}

fn read(world: &World, path: &[u8]) -> Result<Vec<u8>, Refused> {
    let name = String::from_utf8_lossy(path);
    let failed = |error: vfs::Error| {
        let missing = error.errno == rustix::io::Errno::NOENT;
        refused(if missing { NOT_FOUND } else { CANNOT_RUN }, format!("`{name}`: {error}"))
    };
    let here = world.files.open(
        &world.caller,
        At::Root,
        &world.working_directory,
        OpenFlags { directory: true, path: true, ..OpenFlags::NOTHING },
        0,
    );
    let here = here.map_err(failed)?;
    let file = world.files.open(&world.caller, At::Directory(&here), path, OpenFlags::READ, 0);
    let file = file.map_err(failed)?;
    let too_large = || format!("`{name}` is larger than {LARGEST_PROGRAM} bytes");
    file.contents(&world.caller, LARGEST_PROGRAM).map_err(|error| match error.errno {
        rustix::io::Errno::FBIG => refused(CANNOT_RUN, too_large()),
        _ => failed(error),
    })
}

const fn refused(status: u8, why: String) -> Refused {
    Refused { status, why }
}

fn complain(why: &str) {
    // There is nobody else to tell.
    let _unwritten = writeln!(std::io::stderr(), "stockade-guest: {why}");
}

fn printed(text: &str) -> ExitCode {
    let written = std::io::stdout().write_all(text.as_bytes());
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const USAGE_STATUS: u8 = 2;
/// As a shell has them.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;
/// As of a program that ended by SIGABRT.
const FAILED: u8 = 134;
/// As of one that was killed.
const LIMIT_REACHED: u8 = 137;
const LARGEST_PROGRAM: u64 = 256 << 20;
const MOST_DESCRIPTORS: u64 = 1 << 18;
const RESERVED_DESCRIPTORS: u64 = 64;
