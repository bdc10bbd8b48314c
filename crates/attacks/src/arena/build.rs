//! Laying out an arena's files: the home with its secrets, the project with its rules, the outside.
//! Writes below one fresh directory and, for the bait that must lie there, in `/tmp`.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::host::ArenaError;
use crate::attack::SECRET_PREFIX;

/// How to set arenas up. Holds what all of them have in common, and takes it away when the last
/// copy is dropped.
#[derive(Clone, Debug)]
pub struct SetUp {
    directory: PathBuf,
    original: PathBuf,
    attackers: Arc<Attackers>,
    secrets: Secrets,
}

/// Which bait an arena has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bait {
    /// A file of its own for each attack.
    ForAttacks,
    /// One for this scenario.
    ForScenario(&'static str),
}

/// The attacking program, copied once: each arena has another name for it.
#[derive(Debug)]
struct Attackers {
    directory: PathBuf,
}

impl SetUp {
    /// `directory` is one in which new ones can be made, `executable` a program that answers to
    /// `__attack`.
    pub fn new(directory: &Path, executable: &Path) -> Result<Self, ArenaError> {
        let directory = fs::canonicalize(directory)
            .map_err(|source| ArenaError::at("realpath", directory, source))?;
        let attackers = Attackers::copy(&directory, executable)?;
        Ok(Self {
            directory,
            original: executable.to_owned(),
            attackers: Arc::new(attackers),
            secrets: Secrets::default(),
        })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The attacking program outside of every arena.
    pub(super) fn executable(&self) -> PathBuf {
        self.attackers.directory.join(ATTACKER)
    }

    /// The program that attackers are copies of. Some hosts let programs make namespaces by their
    /// path.
    pub fn original(&self) -> &Path {
        &self.original
    }

    pub(super) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    /// Puts the attacking program where a cage shows it, and the set-user-id one, where there is
    /// one, beside it.
    pub(super) fn place_attackers(&self, project: &Path) -> Result<(), ArenaError> {
        for name in [ATTACKER, SETUID_ATTACKER] {
            let (from, to) = (self.attackers.directory.join(name), project.join(name));
            if from.exists() {
                fs::hard_link(from, &to).map_err(|source| ArenaError::at("link", &to, source))?;
            }
        }
        Ok(())
    }
}

impl Attackers {
    /// Root's are two: the second is someone else's and set-user-id.
    fn copy(directory: &Path, executable: &Path) -> Result<Self, ArenaError> {
        let id = random_text()?;
        let directory = directory.join(format!("stockade-attackers-{id}"));
        fs::create_dir(&directory).map_err(|source| ArenaError::at("mkdir", &directory, source))?;
        let attackers = Self { directory };
        let plain = attackers.directory.join(ATTACKER);
        fs::copy(executable, &plain).map_err(|source| ArenaError::at("copy", &plain, source))?;
        if rustix::process::geteuid().is_root() {
            let setuid = attackers.directory.join(SETUID_ATTACKER);
            let privileged = |path: &Path| {
                fs::copy(executable, path)?;
                std::os::unix::fs::chown(path, Some(SOMEONE_ELSE), Some(SOMEONE_ELSE))?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o6755))
            };
            privileged(&setuid).map_err(|source| ArenaError::at("copy", &setuid, source))?;
        }
        Ok(attackers)
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _removed = fs::remove_dir_all(&self.directory);
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

impl Bait {
    fn names(self) -> Vec<&'static str> {
        match self {
            Self::ForAttacks => crate::on_host().map(|attack| attack.name).collect(),
            Self::ForScenario(name) => vec![name],
        }
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
pub(super) fn lay_outside(outside: &Path, secrets: &Secrets, bait: Bait) -> Result<(), ArenaError> {
    put(&outside.join("secret"), secrets.issue("outside")?)?;
    put(&outside.join("planted/tasks.json"), PRISTINE)?;
    for name in bait.names() {
        put(&outside.join("targets").join(name), PRISTINE)?;
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
    bait: Bait,
) -> Result<(), ArenaError> {
    for (file, contents) in PROJECT_FILES {
        put(&project.join(file), contents)?;
    }
    for hidden in HIDDEN_FILES {
        put(&project.join(hidden), secrets.issue("hidden")?)?;
    }
    for name in bait.names() {
        put(&project.join("readonly/files").join(name), PRISTINE)?;
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

/// What bait holds before an attack.
pub(super) const PRISTINE: &str = "pristine\n";

/// The attacking program, as it is called in a project.
pub(super) const ATTACKER: &str = "attacker";
/// The one that is set-user-id.
const SETUID_ATTACKER: &str = "setuid-attacker";
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
