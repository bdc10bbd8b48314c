//! Getting privileges: set-user-id programs, capabilities, threads that a filter does not cover.
//! T24, T26

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::StatVfsMountFlags;
use sys::raw;

use crate::attack::{Attack, Outcome, Refused, Scene, Twin};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new(
        "T24",
        "own-setuid-program",
        "starts a set-user-id program in the project",
        own_setuid,
    )
    .twin(Twin::Root),
    Attack::new(
        "T24",
        "system-setuid-program",
        "starts a set-user-id program of the system",
        |_| system_setuid(),
    ),
    Attack::new("T24", "hold-capabilities", "holds a capability or could get one", |_| {
        let held = status_fields(&["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])?;
        match held.iter().find(|(_, value)| !value.trim_start_matches('0').is_empty()) {
            Some((field, value)) => Ok(Outcome::Succeeded(format!("{field} is {value}"))),
            None => Ok(Outcome::Failed("all sets are empty".to_owned())),
        }
    }),
    Attack::new("T24", "raise-capabilities", "makes capabilities effective", |_| {
        raw::raise_capabilities()?;
        Ok(Outcome::Succeeded("raised".to_owned()))
    })
    .twin(Twin::Namespaces),
    Attack::new("T24", "allow-new-privileges", "may gain privileges by starting a program", |_| {
        match rustix::thread::no_new_privs()? {
            true => Ok(Outcome::Failed("no_new_privs is set".to_owned())),
            false => Ok(Outcome::Succeeded("no_new_privs is not set".to_owned())),
        }
    }),
    Attack::new("T24", "set-user-id-zero", "becomes user 0", |_| {
        let mut program = Command::new("/proc/self/exe");
        program.args(["__attack", "identity"]);
        let output = std::os::unix::process::CommandExt::uid(&mut program, 0).output()?;
        Ok(Outcome::Succeeded(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    })
    .twin(Twin::Root),
    Attack::new("T26", "thread-without-filter", "finds a thread that no filter covers", |_| {
        unfiltered_thread()
    }),
    Attack::new("T30", "raise-priority", "raises its own priority", |_| {
        rustix::process::setpriority_process(None, -20)?;
        Ok(Outcome::Succeeded("raised".to_owned()))
    })
    .twin(Twin::Root),
];

fn status_fields(fields: &[&'static str]) -> Result<Vec<(&'static str, String)>, Refused> {
    let status = fs::read_to_string("/proc/self/status")?;
    let value = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.map(|text| text.trim().to_owned())
    };
    Ok(fields.iter().filter_map(|field| Some((*field, value(field)?))).collect())
}

/// Root's arena has a copy of the attacking program that is someone else's and set-user-id.
fn own_setuid(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let program = scene.project.join("setuid-attacker");
    let output = Command::new(program).args(["__attack", "identity"]).output()?;
    let became = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let own = format!(
        "euid={} egid={}",
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw()
    );
    if became == own {
        // As `/tmp` often is.
        let flags = rustix::fs::statvfs(&scene.project)?.f_flag;
        if flags.contains(StatVfsMountFlags::NOSUID) && !rustix::thread::no_new_privs()? {
            let why = "the project's file system is mounted so that nothing in it is set-user-id";
            return Ok(Outcome::NotApplicable(why.to_owned()));
        }
        return Ok(Outcome::Failed(format!("stayed {own}")));
    }
    Ok(Outcome::Succeeded(format!("{own} became {became}")))
}

/// A program's effective user can be seen while it runs: it is held up by a full pipe as it prints
/// its help.
fn system_setuid() -> Result<Outcome, Refused> {
    if rustix::process::getuid().is_root() {
        return Ok(Outcome::NotApplicable("the caller is root already".to_owned()));
    }
    let is_setuid = |path: &&&str| {
        fs::metadata(Path::new(path)).is_ok_and(|found| found.permissions().mode() & 0o4000 != 0)
    };
    let candidates = ["/usr/bin/mount", "/usr/bin/umount", "/usr/bin/su", "/usr/bin/chsh"];
    let Some(program) = candidates.iter().find(is_setuid) else {
        return Ok(Outcome::NotApplicable("no set-user-id program is known here".to_owned()));
    };
    let (_reader, mut writer) = std::io::pipe()?;
    fill(&mut writer)?;
    let mut child = Command::new(program)
        .arg("--help")
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()?;
    let mut effective = None;
    for _ in 0..LOOKS {
        std::thread::sleep(BETWEEN_LOOKS);
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        effective = users.and_then(|line| line.split_whitespace().nth(1).map(str::to_owned));
        if effective.as_deref() == Some("0") {
            break;
        }
    }
    child.kill()?;
    child.wait()?;
    match effective.as_deref() {
        Some("0") => Ok(Outcome::Succeeded(format!("{program} ran as user 0"))),
        other => Ok(Outcome::Failed(format!("{program} ran as {}", other.unwrap_or("nobody")))),
    }
}

fn fill(writer: &mut std::io::PipeWriter) -> Result<(), Refused> {
    let flags = rustix::fs::fcntl_getfl(&*writer)?;
    rustix::fs::fcntl_setfl(&*writer, flags | rustix::fs::OFlags::NONBLOCK)?;
    while writer.write(&[0; 4096]).is_ok() {}
    rustix::fs::fcntl_setfl(&*writer, flags)?;
    Ok(())
}

/// Looks at every thread in sight but those of pid 1, which is the cage's own.
fn unfiltered_thread() -> Result<Outcome, Refused> {
    let mut looked_at = 0;
    for process in fs::read_dir("/proc")?.flatten() {
        let name = process.file_name();
        let number = name.to_str().and_then(|name| name.parse::<u32>().ok());
        if number.is_none_or(|number| number == 1) {
            continue;
        }
        for thread in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            looked_at += 1;
            if status.lines().any(|line| matches!(line, "Seccomp:\t0" | "NoNewPrivs:\t0")) {
                return Ok(Outcome::Succeeded(format!("{} is free", thread.path().display())));
            }
        }
    }
    Ok(Outcome::Failed(format!("{looked_at} threads, all covered")))
}

const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);
