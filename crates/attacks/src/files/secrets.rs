//! Reading what is not granted: other processes, keys, the kernel's log, the home's secrets, what a
//! rule hides, what only root may read; and learning that something exists. T16, T64

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::FileExt;

use rustix::io::Errno;
use sys::raw::{self, Probe};

use crate::attack::{Attack, Outcome, Refused, Scene, Twin};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T16", "read-outside", "reads a path that nothing grants", |scene| {
        Ok(Outcome::of_reading(&fs::read(scene.secret())?))
    })
    .steals(),
    Attack::new("T16", "read-victim-environment", "reads a host process's variables", |scene| {
        Ok(Outcome::of_reading(&fs::read(format!("/proc/{}/environ", scene.victim.pid))?))
    })
    .steals(),
    Attack::new("T16", "read-victim-memory-file", "reads a host process's memory file", |scene| {
        let memory = fs::File::open(format!("/proc/{}/mem", scene.victim.pid))?;
        let mut bytes = [0; 80];
        memory.read_at(&mut bytes, scene.victim.secret_address)?;
        Ok(Outcome::of_reading(&bytes))
    })
    .steals(),
    Attack::new("T16", "read-any-environment", "reads every process's variables", |_| {
        read_every("environ")
    })
    .steals(),
    Attack::new("T16", "read-any-command-line", "reads every process's arguments", |scene| {
        let wanted = scene.victim.pid.to_string();
        let line = fs::read(format!("/proc/{wanted}/cmdline"))?;
        if line.windows(6).any(|window| window == b"victim") {
            return Ok(Outcome::Succeeded("the victim's arguments".to_owned()));
        }
        Ok(Outcome::Failed("another process's arguments".to_owned()))
    }),
    Attack::new("T16", "read-kernel-keys", "reads a key of its caller's session", |scene| {
        let Some(name) = &scene.names.session_key else {
            return Ok(Outcome::NotApplicable(NO_KEYS.to_owned()));
        };
        let name = CString::new(name.as_str()).map_err(|error| Refused(error.to_string()))?;
        Ok(Outcome::of_reading(&raw::read_session_key(&name)?))
    })
    .steals(),
    Attack::new("T16", "list-kernel-keys", "finds a key of its caller in a list", |scene| {
        let Some(name) = &scene.names.session_key else {
            return Ok(Outcome::NotApplicable(NO_KEYS.to_owned()));
        };
        match fs::read_to_string("/proc/keys")?.contains(name.as_str()) {
            true => Ok(Outcome::Succeeded("it is in the list".to_owned())),
            false => Ok(Outcome::Failed("not in the list".to_owned())),
        }
    }),
    Attack::call("T16", "call-syslog", Probe::Syslog).twin(Twin::Root).default_only(),
    Attack::new("T16", "read-ssh-key", "reads `~/.ssh`", |scene| {
        read_home(scene, ".ssh/id_ed25519")
    })
    .steals(),
    Attack::new("T16", "read-cloud-key", "reads `~/.aws`", |scene| {
        read_home(scene, ".aws/credentials")
    })
    .steals(),
    Attack::new("T16", "read-history", "reads a shell's history", |scene| {
        read_home(scene, ".bash_history")
    })
    .steals(),
    Attack::new("T16", "read-pgp-key", "reads `~/.gnupg`", |scene| {
        read_home(scene, ".gnupg/private-keys-v1.d/key")
    })
    .steals(),
    Attack::new("T16", "read-keyring", "reads a keyring", |scene| {
        read_home(scene, ".local/share/keyrings/login.keyring")
    })
    .steals(),
    Attack::new("T16", "read-browser-profile", "reads a browser's passwords", |scene| {
        read_home(scene, ".mozilla/firefox/profile/logins.json")
    })
    .steals(),
    Attack::new("T16", "read-hidden-file", "reads a file that a rule hides", |scene| {
        Ok(Outcome::of_reading(&fs::read(scene.project.join("hidden.txt"))?))
    })
    .steals(),
    Attack::new(
        "T16",
        "read-hidden-directory",
        "reads below a directory that is hidden",
        |scene| Ok(Outcome::of_reading(&fs::read(scene.project.join("private/secret.txt"))?)),
    )
    .steals(),
    Attack::new("T16", "list-hidden-directory", "lists a directory that a rule hides", |scene| {
        let entries = fs::read_dir(scene.project.join("private"))?.flatten();
        let found = entries.into_iter().any(|entry| entry.file_name() == "secret.txt");
        if found {
            return Ok(Outcome::Succeeded("the hidden name is in the list".to_owned()));
        }
        Ok(Outcome::Failed("not in the list".to_owned()))
    }),
    Attack::new(
        "T16",
        "existence-oracle",
        "tells a path that exists outside from one that does not",
        tell_existence,
    ),
    Attack::new("T64", "read-shadow", "reads the system's passwords", |_| {
        let bytes = fs::read("/etc/shadow")?;
        Ok(Outcome::Succeeded(format!("{} bytes", bytes.len())))
    })
    .twin(Twin::Root),
    Attack::new(
        "T64",
        "read-root-only-file",
        "reads a file that only root may read, on a granted system path",
        read_root_only,
    )
    .steals()
    .twin(Twin::Root),
    Attack::new("T64", "change-system-path", "changes a file on a granted system path", |scene| {
        fs::write(scene.system.join("public"), scene.mark())?;
        Ok(Outcome::Succeeded("written".to_owned()))
    }),
    Attack::new("T64", "act-as-root", "is user 0", |_| {
        if rustix::process::geteuid().is_root() {
            return Ok(Outcome::Succeeded("effective user 0".to_owned()));
        }
        Ok(Outcome::Failed("not user 0".to_owned()))
    })
    .twin(Twin::Root),
];

fn read_home(scene: &Scene<'_>, path: &str) -> Result<Outcome, Refused> {
    Ok(Outcome::of_reading(&fs::read(scene.home.join(path))?))
}

/// Tells every secret that it finds: other proofs may go on at the same time, with victims of their
/// own.
fn read_every(file: &str) -> Result<Outcome, Refused> {
    let (mut read, mut found) = (0, Vec::new());
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        let is_process = name.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        if is_process && let Ok(bytes) = fs::read(entry.path().join(file)) {
            read += 1;
            if let Outcome::Succeeded(secret) = Outcome::of_reading(&bytes) {
                found.push(secret);
            }
        }
    }
    match found.is_empty() {
        true => Ok(Outcome::Failed(format!("{read} processes, and no secret in them"))),
        false => Ok(Outcome::Succeeded(found.join(" "))),
    }
}

fn tell_existence(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let answer = |path| rustix::fs::stat(path).map(|_| ()).err();
    let there = answer(scene.secret());
    let not_there = answer(scene.outside.join("no-such-file"));
    if there == not_there {
        let shown = there.map(|errno: Errno| Refused::from(errno).0).unwrap_or_default();
        return Ok(Outcome::Failed(format!("{shown} for both")));
    }
    Ok(Outcome::Succeeded("the answers differ".to_owned()))
}

/// For an unprivileged caller the file is the caller's own, and granting it is fair.
fn read_root_only(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let path = scene.system.join("root-only");
    let bytes = fs::read(&path)?;
    let metadata = fs::metadata(&path)?;
    if std::os::unix::fs::MetadataExt::uid(&metadata) == rustix::process::getuid().as_raw()
        && !rustix::process::getuid().is_root()
    {
        return Ok(Outcome::NotApplicable("the caller owns the file".to_owned()));
    }
    Ok(Outcome::of_reading(&bytes))
}

const NO_KEYS: &str = "the host can keep no key here";
