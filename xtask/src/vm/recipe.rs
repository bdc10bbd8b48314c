//! What the virtual machine is made of: the release of this machine, so that its C library fits the
//! programs built here, from the package sources that this machine is set up to use. Names no
//! source of its own, and changes nothing in the host's package configuration.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::command::{Failure, printed_by};

/// Everything that decides what the image holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    /// The release, by its code name.
    pub(super) release: String,
    /// Package sources, one line of `sources.list` each.
    pub(super) sources: Vec<String>,
    /// Settings of this machine's package manager that its downloads need: its proxies.
    pub(super) settings: Vec<String>,
}

impl Recipe {
    /// Reads this machine's release and package sources.
    pub(super) fn of_this_machine() -> Result<Self, Failure> {
        let release = release(&fs::read_to_string("/etc/os-release")?)?;
        let mut targets = Command::new("apt-get");
        targets.args(["indextargets", "--format", TARGET_FORMAT, "Created-By: Packages"]);
        let sources = sources(&printed_by(&mut targets)?, &release)?;
        let mut configuration = Command::new("apt-config");
        configuration.args(["dump", "--format", "%F \"%v\";%n", "Acquire"]);
        let settings = proxies(&printed_by(&mut configuration)?);
        Ok(Self { release, sources, settings })
    }

    /// Packages with the suite that the kernel is taken from.
    pub(super) fn packages(&self) -> String {
        let kernel = format!("{KERNEL}/{}-backports", self.release);
        [&[kernel.as_str()], PACKAGES].concat().join(",")
    }

    /// A name for what would be built; the same recipe has the same name. Where the packages come
    /// from is no part of it.
    pub(super) fn key(&self) -> String {
        let mut hash = Sha256::new();
        for part in [&self.release, &self.packages(), FINISH] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        for (path, text) in FILES {
            hash.update(format!("{path}\0{text}\0"));
        }
        hash.finalize().iter().take(8).fold(String::new(), |mut name, byte| {
            let _into_a_string = write!(name, "{byte:02x}");
            name
        })
    }
}

/// The code name in the text of `/etc/os-release`.
pub(super) fn release(text: &str) -> Result<String, Failure> {
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim_matches('"').to_owned())
    };
    match (field("ID").as_deref(), field("VERSION_CODENAME")) {
        (Some("debian"), Some(release)) => Ok(release),
        _ => Err(Failure::Usage(
            "the virtual machine is made from the packages of the release that runs here, and this \
             is no released Debian"
                .to_owned(),
        )),
    }
}

/// Lines for `sources.list`: those of this machine for its own release, and beside the release
/// itself the suite with its newer kernels.
pub(super) fn sources(targets: &str, release: &str) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for target in targets.lines() {
        let [site, suite, component, keyring] = *target.split('|').collect::<Vec<_>>() else {
            continue;
        };
        if suite != release && !suite.starts_with(&format!("{release}-")) {
            continue;
        }
        // A field that has no value, or that this version does not know, stays as it was written.
        let options = match keyring {
            "" => String::new(),
            unknown if unknown.starts_with('$') => String::new(),
            keyring => format!("[signed-by={keyring}] "),
        };
        let mut add = |suite: &str| {
            let line = format!("deb {options}{site} {suite} {component}");
            if !lines.contains(&line) {
                lines.push(line);
            }
        };
        add(suite);
        if suite == release {
            add(&format!("{release}-backports"));
        }
    }
    if lines.is_empty() {
        let message = format!("no package source of this machine offers `{release}`");
        return Err(Failure::Usage(message));
    }
    Ok(lines)
}

/// The proxies among the package manager's settings.
pub(super) fn proxies(settings: &str) -> Vec<String> {
    let is_proxy = |line: &&str| {
        line.split_whitespace().next().is_some_and(|name| name.contains("::Proxy"))
            && !line.ends_with("\"\";")
    };
    settings.lines().filter(is_proxy).map(str::to_owned).collect()
}

/// How the package manager tells one source: site, suite, component and keyring.
const TARGET_FORMAT: &str = "$(SITE)|$(RELEASE)|$(COMPONENT)|$(SIGNED_BY)";

/// The kernel of every Debian: the one for virtual machines alone cannot mount what is served over 9P.
const KERNEL: &str = "linux-image-amd64";

/// Beside the kernel and what a Debian has at least.
const PACKAGES: &[&str] = &[
    "apparmor",
    "bubblewrap",
    "curl",
    "dbus",
    "dbus-user-session",
    "git",
    "initramfs-tools",
    "iproute2",
    "kmod",
    "libpam-systemd",
    "nftables",
    "procps",
    "python3",
    "runc",
    "systemd",
    "systemd-sysv",
    "tmux",
];

/// What is done to the installed system before it becomes an image.
const FINISH: &str = include_str!("finish-image");

/// Files of the image that no package brings.
pub(super) const FILES: &[(&str, &str)] = &[
    ("etc/fstab", include_str!("fstab")),
    ("etc/hostname", "stockade-vm\n"),
    ("etc/hosts", "127.0.0.1 localhost stockade-vm\n::1 localhost\n"),
    ("etc/systemd/system/stockade-work.service", include_str!("stockade-work.service")),
    ("etc/systemd/system/stockade-console.service", include_str!("stockade-console.service")),
];
