//! Programs that scenarios start in a view with a layer: one that forges what an overlay notes, and one that reads on
//! and on while the host exchanges names.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, XattrFlags};

use super::{fail, tell_line};
use crate::Outcome;

/// Tries every note that an overlay could take for its own, and says which of them were made.
pub(super) fn forge_notes(directory: &str) -> ExitCode {
    let directory = Path::new(directory);
    let mut made = Vec::new();
    let white = directory.join("white");
    if rustix::fs::mknodat(CWD, &white, FileType::CharacterDevice, Mode::empty(), 0).is_ok() {
        made.push("a whiteout".to_owned());
    }
    let gone = directory.join("file");
    let _removed = std::fs::remove_file(&gone);
    if rustix::fs::mknodat(CWD, &gone, FileType::CharacterDevice, Mode::empty(), 0).is_ok() {
        made.push("a whiteout in the place of a name".to_owned());
    }
    for family in ["user", "trusted"] {
        for note in ["opaque", "redirect", "metacopy", "whiteout", "origin"] {
            let name = format!("{family}.overlay.{note}");
            for file in ["", "directory", "directory/file"] {
                let path = directory.join(file);
                let set =
                    rustix::fs::setxattr(&path, name.as_str(), b"y", XattrFlags::empty()).is_ok();
                let mut value = [0; 64];
                let got = rustix::fs::getxattr(&path, name.as_str(), &mut value).is_ok();
                let mut names = vec![0; 4096];
                let listed = rustix::fs::listxattr(&path, names.as_mut_slice())
                    .is_ok_and(|length| holds(names.get(..length), name.as_bytes()));
                if set || got || listed {
                    made.push(format!("`{name}` on `{file}`"));
                }
            }
        }
    }
    if let Ok(entries) = std::fs::read_dir(directory) {
        let names = entries.flatten().map(|entry| entry.file_name());
        let listed = names.filter(|name| matches!(name.as_bytes(), b"white" | b"file"));
        made.extend(listed.map(|name| format!("`{}` in the listing", name.to_string_lossy())));
    }
    tell_line(&format!(
        "forged: {}",
        if made.is_empty() { "nothing".to_owned() } else { made.join(", ") }
    ))
}

fn holds(list: Option<&[u8]>, name: &[u8]) -> bool {
    list.unwrap_or_default().split(|byte| *byte == 0).any(|listed| listed == name)
}

/// Reads `secret` in each of so many directories, again and again, and tells what it found.
pub(super) fn read_on(directory: &str, count: &str) -> ExitCode {
    let Ok(count) = count.parse::<u32>() else { return fail("no number") };
    let end = Instant::now() + LONG_ENOUGH;
    let mut rounds = 0_u32;
    while Instant::now() < end || rounds == 0 {
        rounds += 1;
        for number in 0..count {
            let path = Path::new(directory).join(format!("d{number}/secret"));
            let Ok(bytes) = std::fs::read(&path) else { continue };
            if let Outcome::Succeeded(secret) = Outcome::of_reading(&bytes) {
                return tell_line(&secret);
            }
        }
    }
    tell_line(&format!("no secret in {rounds} rounds"))
}

const LONG_ENOUGH: Duration = Duration::from_millis(600);
