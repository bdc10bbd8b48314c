//! Variables: what the caller had must not arrive, by any door. T50, T63

use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T63", "own-environment", "finds a secret in its own variables", |_| {
        let all: Vec<u8> = std::env::vars_os()
            .flat_map(|(_, value)| value.as_bytes().iter().copied().chain([0]).collect::<Vec<_>>())
            .collect();
        Ok(Outcome::of_reading(&all))
    })
    .steals(),
    Attack::new("T63", "own-environment-file", "finds one in `/proc/self/environ`", |_| {
        Ok(Outcome::of_reading(&fs::read("/proc/self/environ")?))
    })
    .steals(),
    Attack::new("T63", "overseer-environment", "reads the variables of pid 1", |scene| {
        let bytes = fs::read(format!("/proc/{}/environ", scene.overseer))?;
        match bytes.len() {
            0 => Ok(Outcome::Failed("empty".to_owned())),
            _ => Ok(Outcome::of_reading(&bytes)),
        }
    })
    .steals(),
    Attack::new("T63", "parent-environment", "reads the variables of its parent", |_| {
        let parent = rustix::process::getppid().map_or(1, |pid| pid.as_raw_nonzero().get());
        Ok(Outcome::of_reading(&fs::read(format!("/proc/{parent}/environ"))?))
    })
    .steals(),
    Attack::new(
        "T50",
        "steering-variables",
        "got variables that steer programs: loader, interpreters, git, configuration",
        steering_variables,
    ),
];

fn steering_variables(_scene: &Scene<'_>) -> Result<Outcome, Refused> {
    match STEERING.iter().find(|name| std::env::var_os(name).is_some()) {
        Some(name) => Ok(Outcome::Succeeded(format!("{name} is set"))),
        None => Ok(Outcome::Failed(format!("none of {}", STEERING.len()))),
    }
}

const STEERING: &[&str] = &[
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "BASH_ENV",
    "ENV",
    "NODE_OPTIONS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
    "GIT_DIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_SSH_COMMAND",
    "XDG_CONFIG_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
];
