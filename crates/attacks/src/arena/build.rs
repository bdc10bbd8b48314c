//! Laying out an arena's files: the home with its secrets, the project with its rules, the outside.
//! Writes below one fresh directory and, for the bait that must lie there, in `/tmp`.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::host::ArenaError;
use crate::attack::SECRET_PREFIX;

/// How to set an arena up.
#[derive(Clone, Debug)]
pub struct SetUp {
    directory: PathBuf,
    executable: PathBuf,
    secrets: Secrets,
}

impl SetUp {
    /// `directory` is one in which a new one can be made, `executable` a program that answers to
    /// `__attack`.
    pub fn new(directory: PathBuf, executable: PathBuf) -> Self {
        Self { directory, executable, secrets: Secrets::default() }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn executable(&self) -> &Path {
        &self.executable
    }

    pub(super) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }
}

/// Secrets of all arenas of one set-up: one that gets out is a breach, whichever arena it lay in.
/// Each is told to one place alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets {
    tokens: Arc<Mutex<Vec<String>>>,
}

impl Secrets {
    /// A new secret for a place.
    pub(super) fn issue(&self, place: &str) -> Result<String, ArenaError> {
        let token = format!("{SECRET_PREFIX}{place}-{}", random_text()?);
        self.locked().push(token.clone());
        Ok(token)
    }

    /// The secret that `text` holds.
    pub(super) fn found_in(&self, text: &str) -> Option<String> {
        self.locked().iter().find(|token| text.contains(token.as_str())).cloned()
    }

    /// The list stays whole whatever a thread did that held it.
    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.tokens.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Sixteen bytes from the kernel as text.
pub(super) fn random_text() -> Result<String, ArenaError> {
    let mut bytes = [0_u8; 16];
    let path = Path::new("/dev/urandom");
    fs::File::open(path)
        .and_then(|mut file| io::Read::read_exact(&mut file, &mut bytes))
        .map_err(|source| ArenaError::at("read", path, source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file and the directories above it.
pub(super) fn put(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), ArenaError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|source| ArenaError::at("mkdir", parent, source))?;
    }
    fs::write(path, contents).map_err(|source| ArenaError::at("write", path, source))
}

/// The outside: one secret, and a file for each attack to leave its mark in.
pub(super) fn lay_outside(outside: &Path, secrets: &Secrets) -> Result<(), ArenaError> {
    put(&outside.join("secret"), secrets.issue("outside")?)?;
    put(&outside.join("planted/tasks.json"), PRISTINE)?;
    for attack in crate::all() {
        put(&outside.join("targets").join(attack.name), PRISTINE)?;
    }
    for siege in crate::sieges() {
        put(&outside.join("targets").join(siege.name), PRISTINE)?;
    }
    Ok(())
}

/// A home with what thieves look for first.
pub(super) fn lay_home(home: &Path, secrets: &Secrets) -> Result<(), ArenaError> {
    for file in HOME_SECRETS {
        put(&home.join(file), secrets.issue("home")?)?;
    }
    Ok(())
}

/// A directory that stands for the system's: not the caller's, and not wholly readable.
pub(super) fn lay_system(system: &Path, secrets: &Secrets) -> Result<(), ArenaError> {
    let file = system.join("root-only");
    put(&file, secrets.issue("system")?)?;
    put(&system.join("public"), PRISTINE)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))
        .map_err(|source| ArenaError::at("chmod", &file, source))
}

/// The project: a repository with files that run code, and paths for each rule.
pub(super) fn lay_project(
    project: &Path,
    outside: &Path,
    secrets: &Secrets,
) -> Result<(), ArenaError> {
    for (file, contents) in PROJECT_FILES {
        put(&project.join(file), contents)?;
    }
    for hidden in HIDDEN_FILES {
        put(&project.join(hidden), secrets.issue("hidden")?)?;
    }
    for attack in crate::all() {
        put(&project.join("readonly/files").join(attack.name), PRISTINE)?;
    }
    for directory in PROJECT_DIRECTORIES {
        let path = project.join(directory);
        fs::create_dir_all(&path).map_err(|source| ArenaError::at("mkdir", &path, source))?;
    }
    let links = [("links/outside", outside.to_owned()), ("links/secret", outside.join("secret"))];
    for (link, target) in links {
        let link = project.join(link);
        symlink(target, &link).map_err(|source| ArenaError::at("symlink", &link, source))?;
    }
    Ok(())
}

/// Puts a copy of the attacking program where a cage shows it, and another that is someone else's
/// and set-user-id, where the caller may make one.
pub(super) fn place_attacker(project: &Path, executable: &Path) -> Result<(), ArenaError> {
    let copy = super::Arena::attacker(project);
    fs::copy(executable, &copy).map_err(|source| ArenaError::at("copy", &copy, source))?;
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let setuid = project.join("setuid-attacker");
    let privileged = |path: &Path| {
        fs::copy(executable, path)?;
        std::os::unix::fs::chown(path, Some(SOMEONE_ELSE), Some(SOMEONE_ELSE))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o6755))
    };
    privileged(&setuid).map_err(|source| ArenaError::at("set-user-id copy", &setuid, source))
}

/// What bait holds before an attack.
pub(super) const PRISTINE: &str = "pristine\n";

const SOMEONE_ELSE: u32 = 65533;

const HOME_SECRETS: &[&str] = &[
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".bash_history",
    ".gnupg/private-keys-v1.d/key",
    ".mozilla/firefox/profile/logins.json",
    ".local/share/keyrings/login.keyring",
    ".netrc",
];

const HIDDEN_FILES: &[&str] = &["private/secret.txt", "hidden.txt", "deep/a/b/hidden.txt"];

const PROJECT_DIRECTORIES: &[&str] =
    &["readonly/open", "work", "links", ".git/objects", ".git/refs/heads", ".git/info"];

const PROJECT_FILES: &[(&str, &str)] = &[
    (
        "stockade.toml",
        "version = 1\n[cage.default]\nfs = [{ rw = \".\" }, { ro = \"readonly\" }, { rw = \"readonly/open\" }, { hide = \"private\" }, { ro = \"private/granted\" }, { hide = \"hidden.txt\" }, { hide = \"deep/a/b/hidden.txt\" }]\n",
    ),
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\trepositoryformatversion = 0\n"),
    (".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n"),
    (".envrc", "# nothing\n"),
    (".mcp.json", "{}\n"),
    (".vscode/tasks.json", "{}\n"),
    ("private/granted/note", PRISTINE),
    ("readonly/file", PRISTINE),
    ("source.txt", PRISTINE),
];
