//! Finds the name that somebody probably meant. Only for the wording of an error: reads directory
//! listings within a bound, and what cannot be read has no names.

use std::mem::MaybeUninit;

use rustix::fs::{Mode, OFlags, RawDir};

/// The candidate that is nearest to a mistyped name, if one is near enough.
pub(super) fn most_similar(
    name: &[u8],
    candidates: impl IntoIterator<Item = Vec<u8>>,
) -> Option<Vec<u8>> {
    let wanted = String::from_utf8_lossy(name).into_owned();
    let most_changes = (wanted.chars().count() / 3).clamp(1, 3);
    let distance =
        |candidate: &Vec<u8>| strsim::osa_distance(&wanted, &String::from_utf8_lossy(candidate));
    candidates
        .into_iter()
        .map(|candidate| (distance(&candidate), candidate))
        .filter(|(changes, candidate)| *changes <= most_changes && candidate != name)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The names in a directory, at most a few thousand of them.
pub(super) fn names_in(directory: impl rustix::path::Arg) -> Vec<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(directory, flags, Mode::empty()) else {
        return Vec::new();
    };
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(opened, &mut buffer);
    let mut names = Vec::new();
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.to_vec());
        }
        if names.len() >= MOST_NAMES {
            break;
        }
    }
    names
}

const MOST_NAMES: usize = 8192;
