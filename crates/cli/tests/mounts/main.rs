//! Files that a process of ours serves to a cage: the same answers whatever they come from, errors where they cannot be
//! had, and credentials nowhere inside. Every test starts the built program, as root or as a user.
#![forbid(unsafe_code)]
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by it, and uses a part of what it shares with others"
)]

#[path = "../../../remote/tests/far/azure_server.rs"]
mod azure_server;
mod calls;
#[path = "../../../remote/tests/far/drive_server.rs"]
mod drive_server;
mod failures;
#[path = "../../../remote/tests/far/faults.rs"]
mod faults;
mod files;
mod jails;
mod kernels_client;
mod kinds;
mod layers;
#[path = "../../../remote/tests/far/s3_server.rs"]
mod s3_server;
#[path = "../../../remote/tests/far/server.rs"]
mod server;
#[path = "../behaviour/support.rs"]
mod support;

/// What the server of a drive asks for.
mod behaviour {
    pub(crate) const SECRET: &str = "a-secret-that-nobody-reads";
}

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use support::{Ended, Place};

/// Whether whoever runs the test may speak FUSE.
pub(crate) fn can_mount() -> bool {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    if opened.is_err() {
        testing::skip("`/dev/fuse` cannot be opened");
    }
    opened.is_ok()
}

/// Whether what runs guests lies beside `stockade`.
pub(crate) fn has_guests() -> bool {
    let beside = support::stockade_binary().with_file_name("stockade-guest");
    testing::found_or_skip(beside.is_file(), "stockade-guest is not built")
}

/// `stockade`, with what it needs to ask a drive at an address.
pub(crate) fn with_drive(place: &Place, address: &str) -> Command {
    let mut command = place.stockade();
    command
        .env("GDRIVE_ENDPOINT_URL", address)
        .env("GDRIVE_TOKEN_URL", format!("{address}/token"))
        .env("GDRIVE_CLIENT_ID", "client")
        .env("GDRIVE_CLIENT_SECRET", "client-secret")
        .env("GDRIVE_REFRESH_TOKEN", behaviour::SECRET);
    command
}

/// Runs a line of shell in a cage with these flags.
pub(crate) fn shell(command: &mut Command, flags: &[&str], line: &str) -> Ended {
    let words = [&["run"], flags, &["--", "sh", "-c", line]].concat();
    Ended::of(command.args(words).output().unwrap())
}

/// Writes a file that nobody else may read.
pub(crate) fn private(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Writes what the user has configured about stores.
pub(crate) fn configured(place: &Place, text: &str) {
    private(&place.home.join(".config/stockade/mounts.toml"), text);
}
