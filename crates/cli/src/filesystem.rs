//! `stockade fs`: the files of sessions and stores, and virtual file systems for others than cages. Starts no cage.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use cage::session::SessionError;
use cage::state::{Directory, Locations, StateError};
use files::command::FilesCommand;
use files::{FilesError, Purpose, Tree};
use fileserver::{
    Access, Ended, Foreground, ForegroundError, MountError, NinepServer, OneOwner, Settings,
    Sharing, Source,
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
use crate::output::print;

/// The command.
pub(crate) fn fs(arguments: &FsArguments, messages: Messages) -> Result<Exit, Failure> {
    fileserver::hold_as_many_as_may_be();
    match &arguments.command {
        FsCommand::Files(command) => work(command, messages),
        FsCommand::Mount(arguments) => mount(arguments, messages),
        FsCommand::Serve(arguments) => serve(arguments, messages),
    }
}

fn work(command: &FilesCommand, messages: Messages) -> Result<Exit, Failure> {
    let locations = Locations::of_this_process();
    let state = Directory::open(locations.state.as_ref().ok_or(StateError::NoPlace)?)?;
    let answer = files::command::run(command, state.path()).map_err(not_done)?;
    print(&answer.text)?;
    answer.notes.iter().for_each(|note| messages.note(note));
    Ok(if answer.is_partial { Exit::No } else { Exit::Success })
}

fn not_done(error: FilesError) -> Failure {
    let exit = match &error {
        FilesError::Address(_)
        | FilesError::NotKept(_)
        | FilesError::Source { .. }
        | FilesError::Usage(_) => Exit::Usage,
        FilesError::InUse { .. }
        | FilesError::Workspace(_)
        | FilesError::ReadOnly { .. }
        | FilesError::LinkOut { .. }
        | FilesError::Session(SessionError::Ending(_) | SessionError::AreaInUse(_)) => {
            Exit::Refused
        }
        FilesError::Missing { .. }
        | FilesError::Exists { .. }
        | FilesError::OtherKind { .. }
        | FilesError::Directory { .. }
        | FilesError::NotADirectory { .. }
        | FilesError::TooLarge { .. }
        | FilesError::Host { .. }
        | FilesError::Failed { .. }
        | FilesError::Session(SessionError::NotFound(_)) => Exit::No,
        FilesError::Session(_)
        | FilesError::Store(_)
        | FilesError::FarAway { .. }
        | FilesError::Output(_)
        | FilesError::Input(_) => Exit::CannotBuild,
    };
    error.help().into_iter().fold(Failure::new(exit, with_causes(&error)), Failure::help)
}

fn mount(arguments: &FsMountArguments, messages: Messages) -> Result<Exit, Failure> {
    let Opened { engine, settings, behind } = open(&arguments.source, messages)?;
    let sharing = match (arguments.alone, arguments.shared) {
        (true, _) => Sharing::Alone,
        (_, true) => Sharing::Shared,
        _ => settings.sharing,
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
            ..settings
        },
        program: arguments.command.clone(),
    };
    let ended = fileserver::serve_in_foreground(engine, &wanted, |directory| {
        if wanted.program.is_empty() {
            let directory = directory.display();
            messages.note(&format!("`{name}` is on `{directory}` until this is interrupted"));
        }
    });
    let finished = behind.finish(messages);
    let ended = ended.map_err(|error| not_served(&error))?;
    finished?;
    match ended {
        Ended::Unmounted => Ok(Exit::Success),
        Ended::Program(status) => Ok(Exit::Program(status)),
    }
}

fn serve(arguments: &FsServeArguments, messages: Messages) -> Result<Exit, Failure> {
    let Opened { engine, behind, .. } = open(&arguments.source, messages)?;
    let files = FileSystem::new(engine, &Limits::default());
    // Whoever is there as soon as it listens may end it: it takes its socket away then too.
    fileserver::hold_signals().map_err(|error| not_served(&error))?;
    let address = &arguments.ninep;
    // A name would be a socket's file here, which nobody means who writes a port behind it.
    let loopback = address.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let server = match loopback.as_ref().unwrap_or(address).parse::<SocketAddr>() {
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
    let finished = behind.finish(messages);
    served.map_err(|error| not_served(&error))?;
    finished?;
    Ok(Exit::Success)
}

/// What is to be served.
struct Opened {
    engine: Arc<dyn Engine>,
    settings: Settings,
    behind: Behind,
}

/// What ends with the serving.
enum Behind {
    Nothing,
    /// Files of a session, or of a store.
    Tree(Tree),
    /// The cage of tools.
    Tools(ToolFiles),
}

impl Behind {
    fn finish(self, messages: Messages) -> Result<(), Failure> {
        match self {
            Self::Nothing => Ok(()),
            Self::Tree(tree) => tree.finish().map_err(not_done),
            Self::Tools(tools) => {
                tools.end(&Told(messages));
                Ok(())
            }
        }
    }
}

fn open(arguments: &SourceArguments, messages: Messages) -> Result<Opened, Failure> {
    let written = arguments.source.to_str().map(WrittenFrom::parse);
    if let Some(Ok(WrittenFrom::Inside(inside))) = written {
        fileserver::hold_signals().map_err(|error| not_served(&error))?;
        let tools = ToolFiles::start(&inside, &Told(messages))?;
        let settings = Settings { sharing: Sharing::Shared, ..Settings::default() };
        return Ok(Opened { engine: tools.engine(), settings, behind: Behind::Tools(tools) });
    }
    let purpose = if arguments.read_only { Purpose::Read } else { Purpose::Write };
    if let Some(tree) = Tree::of_source(&arguments.source, purpose).map_err(not_done)? {
        let engine = Arc::clone(tree.engine());
        let sharing = if tree.is_asked_by_others() { Sharing::Shared } else { Sharing::Alone };
        let one_owner = tree.owner().map(|kept| OneOwner { shown: own(), kept });
        let settings = Settings { sharing, one_owner, ..Settings::default() };
        return Ok(Opened { engine, settings, behind: Behind::Tree(tree) });
    }
    let source = Source::parse(&arguments.source).map_err(|error| {
        Failure::new(Exit::Usage, with_causes(&error)).help(
            "write `memory:`, `dir:PATH`, `overlay:LOWER:UPPER`, `store:FILE`, `s3://BUCKET/PREFIX` or `tools:NAMES`",
        )
    })?;
    let max_bytes = arguments.size.saturating_mul(1 << 20);
    let engine = source
        .open(&Limits { max_bytes, ..Limits::default() })
        .map_err(|error| Failure::new(Exit::CannotBuild, with_causes(&error)))?;
    let engine = if arguments.read_only { Arc::new(ReadOnly::new(engine)) } else { engine };
    let (sharing, most_remembered) = (source.sharing(), source.most_remembered());
    let settings = Settings { sharing, most_remembered, ..Settings::default() };
    Ok(Opened { engine, settings, behind: Behind::Nothing })
}

fn own() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
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
