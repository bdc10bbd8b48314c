//! Whether a cage's namespaces can be made: the settings and modules that forbid it, each with the
//! command that lifts it.

use std::path::Path;

use super::{Layer, LayerState, Privilege, SystemFiles, quoted};

pub(super) fn user_namespaces(files: &SystemFiles, privilege: Privilege, binary: &Path) -> Layer {
    let layer = |state, why: &str, fix: Option<String>| Layer {
        name: "user namespaces",
        state,
        required: true,
        why: why.to_owned(),
        fix,
    };
    if !files.exists("/proc/self/ns/user") {
        let fix = Some("use a kernel built with CONFIG_USER_NS".to_owned());
        return layer(LayerState::Absent, "the kernel has none", fix);
    }
    if files.text("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
        let fix = setting("user.max_user_namespaces", "15000");
        return layer(LayerState::Absent, "user.max_user_namespaces is 0", Some(fix));
    }
    if privilege == Privilege::Root {
        return layer(LayerState::Present, "you are root", None);
    }
    if files.text("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        let fix = setting("kernel.unprivileged_userns_clone", "1");
        let why = "kernel.unprivileged_userns_clone is 0: only root may make them";
        return layer(LayerState::Absent, why, Some(fix));
    }
    let restricted = files.text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    if restricted.as_deref() == Some("1") {
        return match apparmor_label(files) {
            Some(label) if label != "unconfined" => {
                let why = format!("AppArmor restricts them; this program has the profile {label}");
                layer(LayerState::Present, &why, None)
            }
            _ => {
                let why = "AppArmor lets only programs with a profile make them \
                           (kernel.apparmor_restrict_unprivileged_userns is 1)";
                layer(LayerState::Absent, why, Some(apparmor_fix(binary)))
            }
        };
    }
    layer(LayerState::Present, "an unprivileged user may make them", None)
}

/// The kernel refuses a new `/proc` in a user namespace where the existing one is covered in part:
/// it would show what the cover hides.
pub(super) fn proc_layer(files: &SystemFiles) -> Layer {
    let covered = files.text("/proc/self/mountinfo").map(|table| covers_of_proc(&table));
    let (state, why, fix) = match covered.as_deref() {
        Some([]) => (LayerState::Present, "nothing covers parts of /proc".to_owned(), None),
        Some([first, ..]) => (
            LayerState::Absent,
            format!("parts of /proc are covered, as containers do it (`{first}`)"),
            Some(
                "start the container with --security-opt systempaths=unconfined (Docker) or \
                 --security-opt unmask=ALL (Podman)"
                    .to_owned(),
            ),
        ),
        None => (
            LayerState::Absent,
            "/proc is not mounted".to_owned(),
            Some("mount -t proc proc /proc".to_owned()),
        ),
    };
    Layer { name: "own /proc", state, required: true, why, fix }
}

/// The text of an AppArmor profile that lets the program make user namespaces and restricts nothing
/// else.
pub fn apparmor_profile(binary: &Path) -> String {
    let path = binary.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "abi <abi/4.0>,\n\
         include <tunables/global>\n\
         \n\
         profile stockade \"{path}\" flags=(unconfined) {{\n\
         \x20 userns,\n\
         \n\
         \x20 include if exists <local/stockade>\n\
         }}\n"
    )
}

fn apparmor_fix(binary: &Path) -> String {
    format!(
        "sudo tee /etc/apparmor.d/stockade >/dev/null <<'END'\n{}END\n\
         sudo apparmor_parser -r /etc/apparmor.d/stockade\n\
         # the profile is for {}",
        apparmor_profile(binary),
        quoted(binary)
    )
}

/// The label of this process without its mode, such as `stockade` of `stockade (unconfined)`.
fn apparmor_label(files: &SystemFiles) -> Option<String> {
    let current = files
        .text("/proc/self/attr/apparmor/current")
        .or_else(|| files.text("/proc/self/attr/current"))?;
    current.split_whitespace().next().map(str::to_owned)
}

fn setting(name: &str, value: &str) -> String {
    format!(
        "sudo sysctl -w {name}={value} && echo '{name} = {value}' | \
         sudo tee /etc/sysctl.d/60-stockade.conf"
    )
}

/// Mount points below `/proc` that hide something. Those on directories that are always empty are
/// no cover in the kernel's eyes.
fn covers_of_proc(table: &str) -> Vec<String> {
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    points
        .filter(|point| point.starts_with("/proc/") && *point != "/proc/sys/fs/binfmt_misc")
        .map(str::to_owned)
        .collect()
}
