//! What to do about a cage that did not start: looks at the host for the reason behind the kernel's
//! answer. Only words for a person; nothing is changed and nothing is tried again.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cage::{RecordError, RunError, SpawnError, with_causes};
use jail::{SetupFailure, StartError, Step};
use plan::render::for_shell;
use plan::{BindPurpose, ByteString, GuestPath, HostPath, MountOp, Plan};
use policy::shown::shown;
use rustix::io::Errno;

use cage::Kind;

use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// A start that failed, with what to do about it. The Plan of the cage, if there is one, helps to say why.
pub fn failed_start(error: RunError, plan: Option<&Plan>) -> Failure {
    let (error, plan) = match (error, plan) {
        (RunError::Selection(error), _) => return error.into(),
        (RunError::Prepare(error), _) => return error.into(),
        (RunError::Spawn(error), Some(plan)) => (error, plan),
        (RunError::Begun { error, .. }, Some(plan)) => (*error, plan),
        (RunError::Spawn(error @ SpawnError::NotFoundUncaged { .. }), None) => {
            return Failure::from(error).help("check the spelling");
        }
        (RunError::Spawn(error), None) => return error.into(),
        (error, _) => return Failure::new(error.kind(), with_causes(&error)),
    };
    match &error {
        // The kernel only says that permission is denied.
        SpawnError::NotExecutable { program, .. } if is_directory(program, plan) => {
            let message = format!("cannot start `{}`: it is a directory", shown(program));
            Failure::new(Kind::ProgramNotExecutable, message)
                .help("a program comes after `--`; directories are granted before it, by `--ro`")
        }
        _ => {
            let help = for_start(&error, plan);
            help.into_iter().fold(Failure::from(error), Failure::help)
        }
    }
}

fn for_start(error: &SpawnError, plan: &Plan) -> Vec<String> {
    match error {
        SpawnError::NotFound { program } => not_found(program, plan),
        SpawnError::NotExecutable { program, errno } => not_executable(program, *errno),
        SpawnError::Stream { .. } => {
            vec!["use a file, a pipe or a terminal, or `/dev/null`".to_owned()]
        }
        SpawnError::Start(StartError::Setup(failure)) => setup(failure),
        SpawnError::Start(StartError::Unsupported(_)) => Vec::new(),
        SpawnError::TreeChanged { .. } => vec![TREE_CHANGES.to_owned()],
        SpawnError::Limits(_) => {
            vec![format!("`{DEGRADED}` starts it with as much as can be held here")]
        }
        SpawnError::Record(error) | SpawnError::RecordLost(error) => vec![unrecorded(error)],
        SpawnError::NotFoundUncaged { .. } => Vec::new(),
        SpawnError::TooLittleMemory { limit_mb } => {
            vec![format!("raise it with --memory {}M", limit_mb.saturating_mul(2))]
        }
        SpawnError::Start(StartError::Vanished | StartError::LauncherGone)
        | SpawnError::Supervise(_)
        | SpawnError::Gatekeeper { .. } => {
            vec![DOCTOR.to_owned()]
        }
        SpawnError::Model { .. } => vec![MODEL.to_owned()],
        SpawnError::Mount { at, .. } => {
            vec![format!("`stockade check` shows where the files on `{at}` come from")]
        }
        SpawnError::Published { port, errno } => vec![published(*port, *errno)],
        SpawnError::Helper { program, .. } => {
            let is_there = cage::bwrap::installed().is_some();
            let install = if is_there { String::new() } else { format!("install {program}, or ") };
            vec![format!("{install}leave out `--backend`")]
        }
    }
}

/// What makes a record possible. Nothing runs without one.
fn unrecorded(error: &RecordError) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |one| one.source());
    let errno = causes.filter_map(|cause| cause.downcast_ref::<Errno>().copied()).last();
    match errno {
        Some(Errno::NOSPC | Errno::DQUOT) => {
            "nothing runs without a record: make room on that file system, or set XDG_STATE_HOME to a \
             directory on another one"
        }
        Some(Errno::ROFS | Errno::ACCESS | Errno::PERM) => {
            "nothing runs without a record: make that directory writable for you, or set \
             XDG_STATE_HOME to one that is"
        }
        _ => "nothing runs without a record: set XDG_STATE_HOME to a directory that can keep it",
    }
    .to_owned()
}

/// Why a port of the host cannot be had.
fn published(port: u16, errno: Errno) -> String {
    match errno {
        Errno::ADDRINUSE => format!(
            "another program listens on port {port}; end it, or publish another port of the cage"
        ),
        Errno::ACCESS | Errno::PERM => {
            "ports below 1024 are the system's; publish a higher one".to_owned()
        }
        _ => DOCTOR.to_owned(),
    }
}

/// The program may be on the host and not in the cage, or in the cage without what runs it.
fn not_found(program: &str, plan: &Plan) -> Vec<String> {
    let Some(place) = on_host(program, plan) else {
        return vec![on_host_neither(program)];
    };
    if is_visible(plan, &place) {
        return match interpreter(&place) {
            Some(interpreter) => {
                let sentence = format!(
                    "`{}` is in the cage, but what runs it, `{}`, is not",
                    shown(place.display()),
                    shown(interpreter.display())
                );
                [sentence].into_iter().chain(left_out(&interpreter, plan)).collect()
            }
            None => vec![format!(
                "`{}` is in the cage, but the loader or a library that it needs is not",
                shown(place.display())
            )],
        };
    }
    if let Some(sentence) = left_out(&place, plan) {
        return vec![sentence];
    }
    let mut help = vec![format!(
        "`{}` is at `{}`, which is not in the cage; show it with {}",
        shown(program),
        shown(place.display()),
        quoted(&grants_for(&place))
    )];
    if !program.contains('/') {
        help.push(format!(
            "the cage has its own `PATH`: start it as `{}`, or pass `--env PATH` too",
            shown(place.display())
        ));
    }
    help
}

/// What was probably meant by a name that no program has.
fn on_host_neither(program: &str) -> String {
    let name = shown(program);
    if program.contains(char::is_whitespace) {
        format!("`{name}` is one word: give each argument as its own, or use `sh -c '{name}'`")
    } else if SHELL_WORDS.contains(&program) {
        format!("`{name}` is a word of the shell and not a program: use `sh -c '{name} …'`")
    } else if program.contains('=') && !program.contains('/') {
        format!("a variable is set by a flag: `stockade run --env {name} -- PROGRAM`")
    } else if program.contains('/') {
        format!("`{name}` does not exist on the host either")
    } else {
        format!("no directory of your own `PATH` has `{name}` either; check the spelling")
    }
}

/// What brings a program of the system in that the policy's `commands` leave out.
fn left_out(program: &Path, plan: &Plan) -> Option<String> {
    let is_whole = |operation: &MountOp| {
        let base = operation.bind().filter(|bind| bind.purpose == BindPurpose::Base);
        base.is_some_and(|bind| bind.at.as_bytes() == b"/usr")
    };
    let directory = program.parent()?;
    let of_system = PROGRAM_DIRECTORIES.iter().any(|known| directory == Path::new(known));
    if !of_system || !program.exists() || plan.walls.mounts.iter().any(is_whole) {
        return None;
    }
    let name = shown(program.file_name()?.display());
    Some(format!(
        "`commands` leave `{name}` out: `--command {name}` shows the shell and it, in place of what \
         the policy lists; `--commands base` shows all programs of the system; in the policy, \
         `commands = [\"{name}\"]`"
    ))
}

fn is_directory(program: &str, plan: &Plan) -> bool {
    program.contains('/') && plan.walls.working_directory.as_path().join(program).is_dir()
}

fn not_executable(program: &str, errno: Errno) -> Vec<String> {
    let program = shown(program);
    match errno {
        Errno::ACCESS => {
            vec![format!("`{program}` has no permission to execute: `chmod +x {program}`")]
        }
        Errno::NOEXEC => vec![format!(
            "`{program}` is neither a program of this machine nor a script that begins with `#!`"
        )],
        Errno::TOOBIG => vec!["the arguments and variables are too long for the kernel".to_owned()],
        Errno::TXTBSY => vec![format!("`{program}` is being written to")],
        _ => Vec::new(),
    }
}

fn setup(failure: &SetupFailure) -> Vec<String> {
    if failure.errno() == Some(Errno::MFILE) {
        return vec![MORE_DESCRIPTORS.to_owned()];
    }
    let mut help = Vec::new();
    let kernel_refused = matches!(failure.errno(), Some(Errno::PERM | Errno::ACCESS));
    let early = matches!(
        failure.step,
        Step::Namespaces
            | Step::Identity
            | Step::Network
            | Step::Name
            | Step::Mount
            | Step::Overlay
            | Step::Settings
            | Step::Pivot
    );
    if early && kernel_refused && setting_is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        help.push(
            "AppArmor restricts user namespaces on this system (as Ubuntu does since 23.10); \
             `stockade doctor` prints the profile that allows them for `stockade` alone"
                .to_owned(),
        );
    }
    if failure.step == Step::Namespaces {
        match failure.errno() {
            Some(Errno::NOSPC | Errno::USERS) => help.push(
                "the kernel's limit on namespaces is reached: see \
                 `/proc/sys/user/max_*_namespaces`"
                    .to_owned(),
            ),
            Some(Errno::AGAIN) => help.push(
                "you have as many processes and threads as you may (`ulimit -u`), or the machine \
                 has as many as it can"
                    .to_owned(),
            ),
            Some(Errno::PERM) if setting_is("kernel/unprivileged_userns_clone", "0") => help.push(
                "this system turns user namespaces off: `sysctl kernel.unprivileged_userns_clone=1`"
                    .to_owned(),
            ),
            _ => {}
        }
    }
    if failure.step == Step::Overlay {
        return vec![crate::workspaces::NO_VIEW.to_owned(), DOCTOR.to_owned()];
    }
    if failure.step == Step::Network {
        help.push("`--no-net` starts it without any destination".to_owned());
    }
    help.push(DOCTOR.to_owned());
    help
}

/// Where a program is on the host: by its path as the cage's working directory has it, or by its
/// name in the caller's `PATH`.
fn on_host(program: &str, plan: &Plan) -> Option<PathBuf> {
    if program.contains('/') {
        let path = plan.walls.working_directory.as_path().join(program);
        return path.exists().then_some(path);
    }
    let variable = std::env::var_os("PATH")?;
    std::env::split_paths(&variable).filter(|directory| directory.is_absolute()).find_map(
        |directory| {
            let path = directory.join(program);
            let status = std::fs::metadata(&path).ok()?;
            (status.is_file() && status.permissions().mode() & 0o111 != 0).then_some(path)
        },
    )
}

/// Whether a mount of host files shows a path, links on the way resolved.
pub(crate) fn is_visible(plan: &Plan, path: &Path) -> bool {
    let Ok(real) = std::fs::canonicalize(path) else { return false };
    let Ok(real) = HostPath::new(real.into_os_string()) else { return false };
    let at = GuestPath::same_as(&real);
    let covering = plan.walls.mounts.iter().rfind(|operation| at.is_within(operation.at()));
    let is_view = covering.is_some_and(|operation| operation.view().is_some());
    is_view
        || covering.and_then(MountOp::bind).is_some_and(|bind| match bind.purpose {
            BindPurpose::Grant | BindPurpose::Protected => true,
            BindPurpose::Scratch | BindPurpose::Home => true,
            BindPurpose::Base | BindPurpose::Command => true,
            BindPurpose::Device | BindPurpose::Pin => false,
        })
}

/// What a script names in its first line.
fn interpreter(path: &Path) -> Option<PathBuf> {
    use std::io::Read as _;
    let mut head = [0_u8; 256];
    let length = std::fs::File::open(path).ok()?.read(&mut head).ok()?;
    let line = head.get(..length)?.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.split(|byte| byte.is_ascii_whitespace()).find(|word| !word.is_empty())?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(word)))
}

/// The flags that show a program: the tree that it was installed as, and the one that its link
/// leads to.
pub(crate) fn grants_for(program: &Path) -> Vec<String> {
    let mut trees = vec![installed_tree(program)];
    if let Ok(real) = std::fs::canonicalize(program) {
        let tree = installed_tree(&real);
        if !trees.iter().any(|known| tree.starts_with(known)) {
            trees.push(tree);
        }
    }
    let words = trees.into_iter().map(|tree| for_shell(&ByteString::from(tree.into_os_string())));
    words.map(|word| format!("--ro {word}")).collect()
}

fn quoted(flags: &[String]) -> String {
    flags.iter().map(|flag| format!("`{flag}`")).collect::<Vec<_>>().join(" and ")
}

/// The directory above `bin` where that is one installation of its own, such as a version of Node
/// or a virtual environment of Python; else the directory that holds the program.
fn installed_tree(program: &Path) -> PathBuf {
    let directory = program.parent().unwrap_or(program);
    let prefix = directory.parent().filter(|_| directory.ends_with("bin"));
    let has_siblings = |prefix: &Path| prefix.join("lib").is_dir() || prefix.join("share").is_dir();
    match prefix {
        Some(prefix) if has_siblings(prefix) && !is_shared(prefix) => prefix.to_owned(),
        _ => directory.to_owned(),
    }
}

/// Whether more lies in a directory than programs: it is not what a hint should grant.
fn is_shared(prefix: &Path) -> bool {
    let Ok(path) = HostPath::new(prefix.as_os_str().to_owned()) else { return true };
    let home = std::env::var_os("HOME").and_then(|home| HostPath::new(home).ok());
    let local = home.as_ref().is_some_and(|home| home.join(".local").is_ok_and(|at| at == path));
    local || policy::ungrantable::is_home_or_system_tree(&path, home.as_slice())
}

fn setting_is(name: &str, value: &str) -> bool {
    let path = Path::new("/proc/sys").join(name);
    std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value)
}

/// Where the programs are that `commands` can name.
const PROGRAM_DIRECTORIES: &[&str] =
    &["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

/// What people type first that only a shell knows.
const SHELL_WORDS: &[&str] =
    &["alias", "cd", "eval", "exec", "exit", "export", "set", "source", "ulimit", "umask", "unset"];

/// The flag that accepts limits which are not held in full.
const DEGRADED: &str = "--degraded-limits";

/// For whichever step meets the limit.
pub(crate) const MORE_DESCRIPTORS: &str =
    "raise the limit on open files, as with `ulimit -n 4096`: a start needs two for each grant";
const TREE_CHANGES: &str = "another program, perhaps in a cage, changes all the time what lies there, and the cage \
     must not start without a cover over it: end that program, or try again";
const MODEL: &str = "`models.toml` beside your configuration says where models and their keys are; without it those of \
                     `ANTHROPIC_API_KEY` and `OPENAI_API_KEY` are";
const DOCTOR: &str = "`stockade doctor` says which layer is missing here and how to get it";
