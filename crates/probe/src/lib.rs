//! What this machine can enforce: each layer of a cage with its state, the reason and the exact
//! fix. Looks and reports; changes nothing, and decides nothing about a cage: what really counts
//! is the one that the caller builds for the last line.
#![forbid(unsafe_code)]

mod kernel;
mod limits;
mod machine;
mod namespaces;
mod network;

pub use namespaces::apparmor_profile;

use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};
use serde::Serialize;

#[cfg(test)]
mod tests;

/// One layer of a cage on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// What it is called.
    pub name: &'static str,
    /// Whether it holds here.
    pub state: LayerState,
    /// Whether a cage is refused without it.
    pub required: bool,
    /// How that is known.
    pub why: String,
    /// What to do about it, where something can be done.
    pub fix: Option<String>,
}

/// Whether a layer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerState {
    /// In full.
    Present,
    /// In part: the reason says which part is missing.
    Degraded,
    /// Not at all.
    Absent,
}

/// All layers, and what kind of machine this is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// In the order in which a cage is built.
    pub layers: Vec<Layer>,
    /// Facts that explain the states, such as running inside a container.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether every required layer holds.
    pub fn can_build_cages(&self) -> bool {
        self.layers.iter().all(|layer| !layer.required || layer.state != LayerState::Absent)
    }
}

/// What a probe is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The program that builds cages: the one that an AppArmor profile must name.
    pub binary: PathBuf,
    /// The directory whose files a cage would be given.
    pub project: PathBuf,
}

/// Examines this machine. `build_cage` builds a real, tiny cage, runs a program in it, and says
/// why that failed. K179. `build_view` does the same with a directory that has a layer above it, and also says what to do.
pub fn probe(
    subject: &Subject,
    build_cage: impl FnOnce() -> Result<(), String>,
    build_view: impl FnOnce() -> Result<(), (String, String)>,
) -> Report {
    let files = SystemFiles { root: PathBuf::from("/") };
    let privilege = Privilege::of_this_process();
    let version = kernel::Version::of_this_kernel();
    let layers = vec![
        kernel::version_layer(version.as_ref()),
        identity_layer(privilege),
        namespaces::user_namespaces(&files, privilege, &subject.binary),
        kernel::mount_layer(),
        kernel::fuse_layer(&files),
        kernel::idmap_layer(version.as_ref(), privilege, &subject.project),
        namespaces::proc_layer(&files),
        kernel::seccomp_layer(&files),
        kernel::landlock_layer(&files),
        kernel::core_dump_layer(&files, getrlimit(Resource::Core).maximum),
        network::network_layer(jail::probe_network()),
        limits::limits_layer(::limits::Limiter::discover().layer()),
        machine::bubblewrap_layer(&files),
        view_layer(build_view()),
        cage_layer(build_cage()),
    ];
    Report { layers, notes: machine::notes(&files) }
}

/// The last layer alone, from what building a real cage came to.
pub fn cage_alone(built: Result<(), String>) -> Report {
    Report { layers: vec![cage_layer(built)], notes: Vec::new() }
}

/// Whether this process may do without the powers that a user namespace gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Privilege {
    Root,
    User,
}

impl Privilege {
    fn of_this_process() -> Self {
        if rustix::process::geteuid().is_root() { Self::Root } else { Self::User }
    }
}

/// The files in which the kernel and the system tell about themselves, below a root that a test
/// can choose.
struct SystemFiles {
    root: PathBuf,
}

impl SystemFiles {
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a small file, without its last newline.
    fn text(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.path(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim_end_matches(['\n', '\0']).to_owned())
    }

    fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }
}

/// Whom cages act as. Root without the power to act as somebody else gets none.
fn identity_layer(privilege: Privilege) -> Layer {
    let layer = |state, why: String, fix: Option<&str>| Layer {
        name: "identity",
        state,
        required: true,
        why,
        fix: fix.map(str::to_owned),
    };
    if privilege == Privilege::User {
        let uid = rustix::process::geteuid().as_raw();
        return layer(LayerState::Present, format!("cages act as you, user {uid}"), None);
    }
    match resolve::require_power_of_root() {
        Ok(()) => {
            let why = "cages of root act as users that own nothing".to_owned();
            layer(LayerState::Present, why, None)
        }
        Err(error) => {
            layer(LayerState::Absent, error.to_string(), Some("start it as an ordinary user"))
        }
    }
}

fn view_layer(built: Result<(), (String, String)>) -> Layer {
    let (state, why, fix) = match built {
        Ok(()) => (LayerState::Present, "a directory was shown with a layer above it".into(), None),
        Err((why, fix)) => (LayerState::Absent, why, Some(fix)),
    };
    Layer { name: "copy on write", state, required: false, why, fix }
}

fn cage_layer(built: Result<(), String>) -> Layer {
    let (state, why) = match built {
        Ok(()) => (LayerState::Present, "a cage was built and a program ran in it".to_owned()),
        Err(why) => (LayerState::Absent, why),
    };
    Layer { name: "a real cage", state, required: true, why, fix: None }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    if text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
