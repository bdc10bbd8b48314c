//! The programs that the virtual machine needs on this one. Installs nothing: says what is missing
//! and how to get it.

use crate::command::{Failure, is_installed};

/// Each program, and the Debian package that has it.
const TOOLS: &[(&str, &str)] = &[
    ("apt-get", "apt"),
    ("fallocate", "util-linux"),
    ("mke2fs", "e2fsprogs"),
    ("mmdebstrap", "mmdebstrap"),
    ("nice", "coreutils"),
    (super::machine::EMULATOR, "qemu-system-x86"),
    ("setpriv", "util-linux"),
];

/// Fails unless everything is installed and this is a processor that the image is made for.
pub(super) fn check() -> Result<(), Failure> {
    if !cfg!(target_arch = "x86_64") {
        let message = "the virtual machine is made for x86-64 alone".to_owned();
        return Err(Failure::Usage(message));
    }
    let missing: Vec<&str> = TOOLS
        .iter()
        .filter(|(program, _)| !answers(program))
        .map(|(_, package)| *package)
        .collect();
    match missing.as_slice() {
        [] => Ok(()),
        some => Err(Failure::Usage(format!(
            "the virtual machine needs programs that are not installed: \
             `sudo apt-get install --no-install-recommends {}`",
            some.join(" ")
        ))),
    }
}

fn answers(program: &str) -> bool {
    // It has a version, and no long option to ask for it.
    match program {
        "mke2fs" => std::process::Command::new(program)
            .arg("-V")
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success()),
        other => is_installed(other),
    }
}
