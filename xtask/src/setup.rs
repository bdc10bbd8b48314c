//! What the checks need beside the toolchain: installed where this may be done without asking, and named with the
//! command that installs it where not. Nothing that fails here ends the checks: a test that lacks something says so.
//!
//! Never starts a server on this machine, unless everything is required, and never asks for a password.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{Failure, cargo, is_installed, succeeds};

mod agents;

#[cfg(test)]
mod tests;

/// Something that tests use, and the Debian package that has it.
struct Need {
    what: What,
    package: &'static str,
}

enum What {
    Program(&'static str),
    /// A module of the system's Python.
    Module(&'static str),
    /// A file of a library.
    File(&'static str),
    /// A program whose package starts a server of the machine as soon as it is installed.
    Server(&'static str),
}

/// Installs what is missing where it may.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let missing = missing();
    let installs = rustix::process::geteuid().is_root()
        && Path::new("/etc/debian_version").exists()
        && testing::find("apt-get").is_some();
    if installs {
        install_packages(&packages(&missing, testing::requires_everything()))?;
    }
    if let Some(text) = told(&self::missing()) {
        println!("{text}");
    }
    install_cargo_deny(root)?;
    agents::install(root)?;
    add_target(root)
}

fn missing() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !need.is_met()).collect()
}

impl Need {
    fn is_met(&self) -> bool {
        match self.what {
            What::Program(name) | What::Server(name) => testing::find(name).is_some(),
            What::Module(name) => testing::is_python_module(name),
            What::File(path) => Path::new(path).exists(),
        }
    }

    fn name(&self) -> String {
        match self.what {
            What::Program(name) | What::Server(name) | What::File(name) => name.to_owned(),
            What::Module(name) => format!("Python's {name}"),
        }
    }
}

/// The packages of what is missing, each once.
fn packages(missing: &[&Need], servers_too: bool) -> Vec<&'static str> {
    let is_wanted = |need: &&&Need| servers_too || !matches!(need.what, What::Server(_));
    let mut packages: Vec<&str> =
        missing.iter().filter(is_wanted).map(|need| need.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// What to say of things that are missing still.
fn told(missing: &[&Need]) -> Option<String> {
    let names: Vec<String> = missing.iter().map(|need| need.name()).collect();
    let names = names.join(", ");
    let packages = packages(missing, true).join(" ");
    (!missing.is_empty()).then(|| {
        format!(
            "not installed: {names}\ntests that need one of these are skipped; on Debian this installs them:\n    \
             sudo apt-get install --no-install-recommends {packages}"
        )
    })
}

/// One by one where not all can be had: what one release calls by another name must not cost the rest.
fn install_packages(packages: &[&str]) -> Result<(), Failure> {
    if packages.is_empty() {
        return Ok(());
    }
    println!("installing {}", packages.join(" "));
    if !succeeds(apt().args(["update", "--quiet=2"]))? {
        println!("the lists of packages cannot be brought up to date");
    }
    let install = ["install", "--quiet=2", "--yes", "--no-install-recommends"];
    if !succeeds(apt().args(install).args(packages))? {
        for package in packages {
            succeeds(apt().args(install).arg(package))?;
        }
    }
    Ok(())
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

/// Compiling it takes minutes; debug information and link-time optimisation would take more.
fn install_cargo_deny(root: &Path) -> Result<(), Failure> {
    if has_cargo_deny(root) {
        return Ok(());
    }
    println!("installing cargo-deny, which takes some minutes");
    let mut install = cargo(root);
    install.args(["install", "--locked", "--quiet", "cargo-deny"]);
    let profile =
        [("LTO", "false"), ("CODEGEN_UNITS", "16"), ("OPT_LEVEL", "1"), ("DEBUG", "false")];
    install.envs(profile.map(|(name, value)| (format!("CARGO_PROFILE_RELEASE_{name}"), value)));
    if !succeeds(&mut install)? {
        println!("cargo-deny cannot be installed");
    }
    Ok(())
}

/// Whether cargo finds it, which also looks beside the programs that it has installed.
pub(crate) fn has_cargo_deny(root: &Path) -> bool {
    let mut version = cargo(root);
    version.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Where the toolchain is not rustup's there is none for another processor.
fn add_target(root: &Path) -> Result<(), Failure> {
    if has_other_processor() || !is_installed("rustup") {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    add.current_dir(root).args(["target", "add", OTHER_PROCESSOR]);
    if !succeeds(&mut add)? {
        println!("the libraries for {OTHER_PROCESSOR} cannot be installed");
    }
    Ok(())
}

/// Whether the compiler has libraries for the other processor.
pub(crate) fn has_other_processor() -> bool {
    let mut asked = Command::new("rustc");
    let libraries = asked.args(["--print", "target-libdir", "--target", OTHER_PROCESSOR]).output();
    let libraries = libraries.ok().and_then(|answer| String::from_utf8(answer.stdout).ok());
    libraries.is_some_and(|path| Path::new(path.trim()).is_dir())
}

/// The other processor that cages are built on.
pub(crate) const OTHER_PROCESSOR: &str = "aarch64-unknown-linux-gnu";

const fn program(name: &'static str, package: &'static str) -> Need {
    Need { what: What::Program(name), package }
}

/// The linker and the static C library are not here: without them none of this would run.
/// What the compiler for WASM links beside the C library; the directory is of no version.
const WASM_BUILTINS: &str = "/usr/share/doc/libclang-rt-dev-wasm32";
const NEEDS: &[Need] = &[
    program("bash", "bash"),
    program("bindfs", "bindfs"),
    program("bwrap", "bubblewrap"),
    program("clang", "clang"),
    program("curl", "curl"),
    program("dbus-daemon", "dbus-daemon"),
    program("dig", "bind9-dnsutils"),
    program("flock", "util-linux"),
    program("getent", "libc-bin"),
    program("git", "git"),
    program("gpg", "gnupg"),
    program("gzip", "gzip"),
    program("htop", "htop"),
    program("ip", "iproute2"),
    program("java", "default-jdk-headless"),
    program("javac", "default-jdk-headless"),
    program("keytool", "default-jdk-headless"),
    program("make", "make"),
    program("mount", "mount"),
    program("nft", "nftables"),
    program("node", "nodejs"),
    program("npm", "npm"),
    program("nsenter", "util-linux"),
    program("openssl", "openssl"),
    program("perl", "perl-base"),
    program("python3", "python3"),
    program("script", "bsdutils"),
    program("setpriv", "util-linux"),
    program("setsid", "util-linux"),
    program("shellcheck", "shellcheck"),
    program("ssh", "openssh-client"),
    program("ssh-keygen", "openssh-client"),
    program("tar", "tar"),
    program("taskset", "util-linux"),
    program("tmux", "tmux"),
    program("umount", "mount"),
    program("unshare", "util-linux"),
    program("vim", "vim"),
    program("wasm-ld", "lld"),
    Need { what: What::File("/usr/include/wasm32-wasi/stdio.h"), package: "wasi-libc" },
    Need { what: What::File(WASM_BUILTINS), package: "libclang-rt-dev-wasm32" },
    Need { what: What::Module("ensurepip"), package: "python3-venv" },
    Need { what: What::Module("pip"), package: "python3-pip" },
    Need { what: What::Module("requests"), package: "python3-requests" },
    Need { what: What::Server("diodls"), package: "diod" },
    Need { what: What::Server("diodcat"), package: "diod" },
    Need { what: What::Server("sshd"), package: "openssh-server" },
];
