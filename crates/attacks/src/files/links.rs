//! Symbolic links inside the writable tree that lead out of it. T1

use std::fs;
use std::os::unix::fs::symlink;

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T1", "symlink-write", "writes through a link that it made itself", write_through)
        .harms(),
    Attack::new(
        "T1",
        "symlink-directory-write",
        "writes below a linked directory that was there before",
        write_below_linked_directory,
    )
    .harms(),
    Attack::new("T1", "symlink-read", "reads through a link that was there before", read_through)
        .steals(),
    Attack::new(
        "T1",
        "symlink-for-the-host",
        "leaves a link where the host looks after the run",
        leave_for_the_host,
    )
    .guards(&[b"work/planted/.vscode/tasks.json"]),
    Attack::new(
        "T2",
        "swapped-directory-read",
        "exchanges a directory with a link while it opens a path below it",
        read_while_swapping,
    )
    .steals(),
];

fn write_through(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let link = scene.workplace()?.join("link");
    symlink(scene.target(), &link)?;
    fs::write(&link, scene.mark())?;
    Ok(Outcome::Attempted("wrote through the link".to_owned()))
}

fn write_below_linked_directory(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let target = scene.project.join("links/outside/targets").join(scene.mark());
    fs::write(target, scene.mark())?;
    Ok(Outcome::Attempted("wrote below the linked directory".to_owned()))
}

fn read_through(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    Ok(Outcome::of_reading(&fs::read(scene.project.join("links/secret"))?))
}

/// The directory is a link to one outside that holds a file of a protected name: whoever cleans up
/// by path moves the file outside.
fn leave_for_the_host(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let directory = scene.project.join("work/planted");
    fs::create_dir_all(&directory)?;
    symlink(scene.outside.join("planted"), directory.join(".vscode"))?;
    fs::write(scene.target(), scene.mark())?;
    Ok(Outcome::Attempted("left the link".to_owned()))
}

/// A path that is a directory at one moment and a link at the next: whoever checks first and opens
/// later can be led out.
fn read_while_swapping(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let (plain, link) = (place.join("plain"), place.join("link"));
    fs::create_dir_all(&plain)?;
    fs::write(plain.join("secret"), "nothing")?;
    symlink(&scene.outside, &link)?;
    let mut last = Outcome::Failed("never led out".to_owned());
    for _ in 0..ROUNDS {
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, &plain, rustix::fs::CWD, &link, exchange)?;
        if let Ok(bytes) = fs::read(plain.join("secret")) {
            last = Outcome::of_reading(&bytes);
        }
        if matches!(last, Outcome::Succeeded(_)) {
            break;
        }
    }
    Ok(last)
}

const ROUNDS: u32 = 64;
