//! `stockade learn`: runs a program on a copy of the project in a cage that shows it much, notes what it used of that,
//! and proposes the policy that gives it no more. The cage is one of `stockade run`, which this starts; nothing is
//! granted here, the copy is thrown away, and a file is written only when asked for.

use std::ffi::OsString;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use advice::proposal::{self, Noted, Proposal};
use cage::prepare::{Selection, TooBroad};
use plan::HostPath;
use policy::{FsAccess, Kind, secrets};
use rustix::fs::MemfdFlags;

use crate::arguments::explain::LearnArguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::print;
use crate::selection::{FlagArguments, select};
use crate::session;

/// The command. It ends as the program did.
pub(crate) fn learn(arguments: LearnArguments, messages: Messages) -> Result<Exit, Failure> {
    if arguments.command.is_empty() {
        return Err(Failure::new(Exit::Usage, "there is no program to learn from")
            .help("put it at the end: `stockade learn -- PROGRAM ARGUMENT…`"));
    }
    let flags = FlagArguments {
        files: Some(&arguments.files),
        network: Some(&arguments.network),
        too_broad: TooBroad::GrantNothing,
        ..FlagArguments::default()
    };
    let selection = select(&arguments.choice, flags, messages)?;
    let place = &selection.place;
    if place.home.as_ref().is_some_and(|home| home.is_within(&place.project)) {
        return Err(Failure::new(
            Exit::Usage,
            "here is no project: it would be your home, or hold it",
        )
        .help("start in the directory of the project that the program works on"));
    }
    let file = place.project.as_path().join(POLICY_FILE);
    let is_ours = is_ours(&file)?;
    if arguments.write && is_ours == Some(false) {
        return Err(Failure::new(
            Exit::Usage,
            format!("`{}` was written by somebody else", policy::shown::shown(file.display())),
        )
        .help("leave out `--write`, and add what is proposed to it"));
    }
    let noted = on_a_copy(&selection, &arguments, messages)?;
    let exit = exit_of(&noted, messages);
    let proposal = Proposal::of(&noted, &selection, &|path| path.as_path().is_dir());
    let command = shell_words(&arguments.command);
    let text = proposal.file(&command);
    print(&format!("\n{text}"))?;
    messages.note(&proposal.observed());
    for sentence in proposal.remarks() {
        messages.note(&sentence);
    }
    if arguments.write {
        write(&file, &text).map_err(|error| {
            Failure::new(Exit::Usage, format!("the policy cannot be written: {error}"))
        })?;
        messages.note(&format!("written to `{}`", policy::shown::shown(file.display())));
    }
    let flags = proposal.flags();
    let flags = if flags.is_empty() { String::new() } else { format!("{} ", flags.join(" ")) };
    messages.help(&format!("run it with `stockade run {flags}-- {command}`"));
    if proposal.needs_approval() {
        messages
            .help("hosts in a project's file need your word, once for each text: `stockade allow`");
    }
    Ok(exit)
}

/// How the program has the project.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Project {
    OnACopy,
    ToRead,
}

/// Runs the program where it can write everything in the project and changes nothing of it, or, where the kernel can lay
/// no copy over the project, where it can only read it.
fn on_a_copy(
    selection: &Selection,
    arguments: &LearnArguments,
    messages: Messages,
) -> Result<Noted, Failure> {
    let mut noted = observe(selection, arguments, Project::OnACopy)?;
    throw_away(&noted, messages)?;
    if noted.error.is_some() && noted.reason == Kind::CannotBuild.word() {
        let read_only = observe(selection, arguments, Project::ToRead)?;
        if read_only.error.is_none() {
            messages.note(
                "no copy can be laid over the project here: what the program writes is refused, and \
                 found one refusal after the other",
            );
            noted = read_only;
        }
    }
    let Some(error) = noted.error else { return Ok(noted) };
    let failure = Failure::new(Exit::CannotBuild, error.message);
    Err(error.help.into_iter().fold(failure, Failure::help))
}

/// Ends the session that held the copy.
fn throw_away(noted: &Noted, messages: Messages) -> Result<(), Failure> {
    let Some(id) = &noted.session else { return Ok(()) };
    session::end_unreviewed(id, messages)
}

/// Runs the program, and reads what was noted of it.
fn observe(
    selection: &Selection,
    arguments: &LearnArguments,
    project: Project,
) -> Result<Noted, Failure> {
    let failed = |error: std::io::Error| Failure::new(Exit::CannotBuild, error.to_string());
    // Without CLOEXEC: it is what the cage's supervisor writes its result to.
    let result = rustix::fs::memfd_create("stockade-learn", MemfdFlags::empty());
    let mut result = std::fs::File::from(result.map_err(|errno| failed(errno.into()))?);
    let program = std::fs::read_link("/proc/self/exe").map_err(failed)?;
    let mut command = Command::new(program);
    command.args(["run", "--explain=uses", "--env", "PATH", "--result-fd"]);
    command.arg(result.as_raw_fd().to_string());
    for (flag, path) in view(selection, arguments, project) {
        command.arg(flag).arg(path);
    }
    for host in &arguments.network.net {
        command.arg("--net").arg(host);
    }
    if let Some(cage) = &arguments.choice.cage {
        command.arg("--cage").arg(cage);
    }
    command.arg("--project").arg(selection.place.project.as_path());
    command.arg("--").args(&arguments.command);
    sys::signal::restore_all_defaults_in(&mut command);
    // Ctrl-C is for the program; what was noted until then is worth a proposal.
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        sys::signal::ignore(signal).map_err(|errno| failed(errno.into()))?;
    }
    let status = command.status().map_err(failed)?;
    let mut text = Vec::new();
    result.seek(SeekFrom::Start(0)).map_err(failed)?;
    result.read_to_end(&mut text).map_err(failed)?;
    serde_json::from_slice(&text).map_err(|_| {
        let how = status.signal().map_or("", |_| ", and was killed");
        Failure::new(Exit::CannotBuild, format!("the run told nothing{how}"))
    })
}

fn exit_of(noted: &Noted, messages: Messages) -> Exit {
    match noted.exit_code {
        0 => Exit::Success,
        code => {
            messages.note(&format!(
                "the program ended with {code}: what it would have done next is not in what follows"
            ));
            Exit::Program(code)
        }
    }
}

/// What the program is shown: the project, as it is asked for, and what lies in the home but secrets and caches,
/// read-only unless something is granted otherwise.
fn view(
    selection: &Selection,
    arguments: &LearnArguments,
    project: Project,
) -> Vec<(&'static str, PathBuf)> {
    let place = &selection.place;
    let mut view: Vec<(&str, PathBuf)> = Vec::new();
    view.extend(arguments.files.ro.iter().map(|path| ("--ro", path.clone())));
    view.extend(arguments.files.rw.iter().map(|path| ("--rw", path.clone())));
    view.extend(arguments.files.hide.iter().map(|path| ("--hide", path.clone())));
    let is_ruled = |path: &HostPath| selection.policy.fs.iter().any(|rule| rule.path == *path);
    let rule = selection.policy.fs.iter().find(|rule| rule.path == place.project);
    let access = rule.map(|rule| rule.access);
    // A copy in the place of what the program can only read; a rule that gives more is of the user.
    let is_read_only = access.is_none_or(|access| access == FsAccess::ReadOnly);
    if project == Project::OnACopy && is_read_only {
        view.push(("--cow", place.project.as_path().to_owned()));
    } else if access.is_none() {
        view.push(("--ro", place.project.as_path().to_owned()));
    }
    let Some(home) = &place.home else { return view };
    let Ok(entries) = std::fs::read_dir(home.as_path()) else { return view };
    for entry in entries.filter_map(Result::ok) {
        let Ok(path) = HostPath::new(entry.path().into_os_string()) else { continue };
        let kind = entry.file_type();
        let is_plain = kind.is_ok_and(|kind| kind.is_dir() || kind.is_file());
        let is_secret = !secrets::holding(&[home], &path).is_empty();
        let is_cache = CACHES.iter().any(|cache| entry.file_name() == *cache);
        let holds_project = place.project.is_within(&path);
        let is_own = place.own_state.contains(&path);
        let is_left_out = is_secret || is_cache || holds_project || is_own;
        if is_plain && !is_left_out && !is_ruled(&path) {
            view.push(("--ro", entry.path()));
        }
    }
    view
}

/// Whether a policy file there is one of this command; none where there is none.
fn is_ours(file: &Path) -> Result<Option<bool>, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text.starts_with(proposal::MARK))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(_) => Ok(Some(false)),
    }
}

/// A file of its own first: the one that is there stays whole.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    let beside = directory.join(format!(".{POLICY_FILE}.{}", std::process::id()));
    let mut new = std::fs::File::options().write(true).create_new(true).open(&beside)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    std::fs::rename(&beside, file)
}

fn shell_words(words: &[OsString]) -> String {
    let words =
        words.iter().map(|word| plan::render::for_shell(&plan::ByteString::from(word.clone())));
    words.collect::<Vec<_>>().join(" ")
}

const POLICY_FILE: &str = "stockade.toml";

/// What tools write all the time: in a cage they have it as memory, and so here.
const CACHES: &[&str] =
    &[".bash_history", ".cache", ".gradle", ".ivy2", ".m2", ".npm", ".pnpm-store", ".yarn", "go"];
