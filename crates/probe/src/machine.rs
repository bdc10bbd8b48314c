//! What kind of machine this is: containers, WSL, other launchers. Explains the
//! other layers; a cage needs none of it.

use super::{Layer, LayerState, SystemFiles};

pub(super) fn bubblewrap_layer(files: &SystemFiles) -> Layer {
    let directories = ["/usr/local/bin", "/usr/bin", "/bin"];
    let found = directories.map(|directory| format!("{directory}/bwrap"));
    let found = found.iter().find(|path| files.exists(path));
    let (state, why) = match found {
        Some(path) => (LayerState::Present, format!("{path}, for --backend bwrap")),
        None => (LayerState::Absent, "not installed; only --backend bwrap needs it".to_owned()),
    };
    Layer { name: "bubblewrap", state, required: false, why, fix: None }
}

/// Circumstances that explain what is missing.
pub(super) fn notes(files: &SystemFiles) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(engine) = container(files) {
        notes.push(format!("this is a container ({engine}); its engine decides which layers hold"));
    }
    if let Some(release) = files.text("/proc/sys/kernel/osrelease")
        && release.to_ascii_lowercase().contains("microsoft")
    {
        notes.push("this is WSL; files below /mnt/<drive> are served by Windows".to_owned());
    }
    let status = files.text("/proc/self/status").unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if field("NoNewPrivs:") == Some("1") {
        notes.push(
            "no_new_privs is set: sudo and other set-user-id programs do not work".to_owned(),
        );
    }
    if field("Seccomp:") == Some("2") {
        notes.push("this process runs under a system call filter already".to_owned());
    }
    notes
}

fn container(files: &SystemFiles) -> Option<String> {
    if files.exists("/.dockerenv") {
        return Some("Docker".to_owned());
    }
    if files.exists("/run/.containerenv") {
        return Some("Podman".to_owned());
    }
    if let Some(engine) = files.text("/run/systemd/container") {
        return Some(policy::shown::shown(engine));
    }
    let groups = files.text("/proc/1/cgroup")?;
    let known = ["docker", "kubepods", "lxc", "containerd", "libpod"];
    known.into_iter().find(|engine| groups.contains(engine)).map(str::to_owned)
}
