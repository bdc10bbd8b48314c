//! `stockade fs`: virtual file systems for others than cages. Starts no cage.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use fileserver::{
    Access, Ended, Foreground, ForegroundError, MountError, NinepServer, Settings, Sharing, Source,
};
use harness::ToolFiles;
use plan::WrittenFrom;
use vfs::{Caller, Engine, FileSystem, Limits, ReadOnly};

use crate::agent::Told;
use crate::arguments::filesystem::{
    FsArguments, FsCommand, FsMountArguments, FsServeArguments, SourceArguments,
};
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;

/// The command.
pub(crate) fn fs(arguments: &FsArguments, messages: Messages) -> Result<Exit, Failure> {
    fileserver::hold_as_many_as_may_be();
    match &arguments.command {
        FsCommand::Mount(arguments) => mount(arguments, messages),
        FsCommand::Serve(arguments) => serve(arguments, messages),
    }
}

fn mount(arguments: &FsMountArguments, messages: Messages) -> Result<Exit, Failure> {
    let Opened { engine, sharing, most_remembered, calls } = open(&arguments.source, messages)?;
    let sharing = match (arguments.alone, arguments.shared) {
        (true, _) => Sharing::Alone,
        (_, true) => Sharing::Shared,
        _ => sharing,
    };
    let name = arguments.source.source.to_string_lossy().into_owned();
    let wanted = Foreground {
        name: name.clone(),
        directory: arguments.directory.clone(),
        access: if arguments.source.read_only { Access::Read } else { Access::Write },
        settings: Settings {
            sharing,
            gather_writes: arguments.gather_writes && sharing == Sharing::Alone,
            threads: usize::from(arguments.threads),
            most_remembered,
            ..Settings::default()
        },
        program: arguments.command.clone(),
    };
    let ended = fileserver::serve_in_foreground(engine, &wanted, |directory| {
        if wanted.program.is_empty() {
            let directory = directory.display();
            messages.note(&format!("`{name}` is on `{directory}` until this is interrupted"));
        }
    });
    end(calls, messages);
    match ended.map_err(|error| not_served(&error))? {
        Ended::Unmounted => Ok(Exit::Success),
        Ended::Program(status) => Ok(Exit::Program(status)),
    }
}

fn serve(arguments: &FsServeArguments, messages: Messages) -> Result<Exit, Failure> {
    let Opened { engine, calls, .. } = open(&arguments.source, messages)?;
    let files = FileSystem::new(engine, &Limits::default());
    let address = &arguments.ninep;
    let server = match address.parse::<SocketAddr>() {
        Ok(tcp) if !tcp.ip().is_loopback() && !arguments.allow_remote => {
            let message = format!("`{address}` can be reached from other machines");
            return Err(Failure::new(Exit::Refused, message)
                .help("listen on 127.0.0.1 or on a unix socket, or pass `--allow-remote`"));
        }
        Ok(tcp) => {
            let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
            NinepServer::on_tcp(files, tcp, Caller::of(uid.as_raw(), gid.as_raw()))
        }
        Err(_) => NinepServer::on_unix(files, Path::new(address)),
    };
    let server = server.map_err(|error| not_served(&error.into()))?;
    let shown = server.tcp_address().map_or_else(|| address.clone(), |tcp| tcp.to_string());
    messages.note(&format!("9P is on `{shown}` until this is interrupted"));
    let served = fileserver::serve_9p_in_foreground(&server);
    drop(server);
    end(calls, messages);
    served.map_err(|error| not_served(&error))?;
    Ok(Exit::Success)
}

/// What is to be served.
struct Opened {
    engine: Arc<dyn Engine>,
    sharing: Sharing,
    most_remembered: Option<usize>,
    /// The cage of tools that are served.
    calls: Option<ToolFiles>,
}

fn open(arguments: &SourceArguments, messages: Messages) -> Result<Opened, Failure> {
    let written = arguments.source.to_str().map(WrittenFrom::parse);
    if let Some(Ok(WrittenFrom::Inside(inside))) = written {
        let calls = ToolFiles::start(&inside, &Told(messages))?;
        let engine = calls.engine();
        let (sharing, most_remembered) = (Sharing::Shared, None);
        return Ok(Opened { engine, sharing, most_remembered, calls: Some(calls) });
    }
    let source = Source::parse(&arguments.source).map_err(|error| {
        Failure::new(Exit::Usage, with_causes(&error))
            .help("write `memory:`, `dir:PATH`, `overlay:LOWER:UPPER` or `tools:NAMES`")
    })?;
    let max_bytes = arguments.size.saturating_mul(1 << 20);
    let engine = source
        .open(&Limits { max_bytes, ..Limits::default() })
        .map_err(|error| Failure::new(Exit::CannotBuild, with_causes(&error)))?;
    let engine = if arguments.read_only { Arc::new(ReadOnly::new(engine)) } else { engine };
    let (sharing, most_remembered) = (source.sharing(), source.most_remembered());
    Ok(Opened { engine, sharing, most_remembered, calls: None })
}

/// Ends the cage of tools, and tells what it left.
fn end(calls: Option<ToolFiles>, messages: Messages) {
    if let Some(calls) = calls {
        calls.end(&Told(messages));
    }
}

fn not_served(error: &ForegroundError) -> Failure {
    let failure = |exit| Failure::new(exit, with_causes(error));
    match error {
        ForegroundError::Program { .. } => failure(Exit::NotFound),
        ForegroundError::Mount(MountError::NotAllowed) => failure(Exit::CannotBuild)
            .help("install Debian's package `fuse3`, or name a program, which then sees the mount"),
        ForegroundError::Mount(MountError::Device(_)) => failure(Exit::CannotBuild).help(
            "FUSE is asked for by this device: `modprobe fuse` makes it, and its permissions (`chmod 666`, as \
             distributions have it) say who may; `stockade fs serve --9p` and `snapshot` need neither",
        ),
        ForegroundError::Namespace(_) => failure(Exit::CannotBuild)
            .help("`stockade doctor` says how this host allows user namespaces"),
        _ => failure(Exit::CannotBuild),
    }
}
