//! Changing what is granted for reading alone: contents, length, attributes, names. T60, T63

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{Mode, OFlags};

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new(
        "T60",
        "write-readonly",
        "writes below a read-only rule inside a wider grant",
        |scene| {
            fs::write(scene.readonly_file(), scene.mark())?;
            done()
        },
    )
    .harms(),
    Attack::new("T63", "truncate-readonly", "truncates a read-only file by its path", |scene| {
        let file = scene.readonly_file();
        fs::OpenOptions::new().write(true).truncate(true).open(&file)?;
        done()
    })
    .harms(),
    Attack::new(
        "T63",
        "truncate-while-reading",
        "opens a file for reading and truncating",
        |scene| {
            let flags = OFlags::RDONLY | OFlags::TRUNC;
            rustix::fs::open(scene.readonly_file(), flags, Mode::empty())?;
            done()
        },
    )
    .harms(),
    Attack::new("T63", "chmod-readonly", "changes the mode of a read-only file", |scene| {
        fs::set_permissions(scene.readonly_file(), fs::Permissions::from_mode(0o777))?;
        done()
    })
    .harms(),
    Attack::new("T63", "unlink-readonly", "removes a read-only file", |scene| {
        fs::remove_file(scene.readonly_file())?;
        done()
    })
    .harms(),
    Attack::new("T63", "rename-over-readonly", "renames a file over a read-only one", |scene| {
        let own = scene.workplace()?.join("own");
        fs::write(&own, scene.mark())?;
        fs::rename(own, scene.readonly_file())?;
        done()
    })
    .harms(),
    Attack::new("T63", "reopen-for-writing", "reopens its descriptor for writing", reopen).harms(),
    Attack::new("T60", "write-granted-inside-hidden", "writes to a read-only island", |scene| {
        fs::write(scene.project.join("private/granted/note"), scene.mark())?;
        done()
    })
    .guards(&[b"private/granted/note"]),
    Attack::new("T60", "write-beside-island", "makes a file in a hidden directory", |scene| {
        fs::write(scene.project.join("private/planted"), scene.mark())?;
        done()
    })
    .guards(&[b"private/planted"]),
    Attack::new(
        "T60",
        "rename-readonly-root",
        "moves the root of a read-only rule aside",
        |scene| {
            let root = scene.project.join("readonly");
            let aside = scene.project.join("readonly.aside");
            fs::rename(&root, &aside)?;
            fs::rename(&aside, &root)?;
            Ok(Outcome::Succeeded("renamed, and back".to_owned()))
        },
    ),
];

fn done() -> Result<Outcome, Refused> {
    Ok(Outcome::Attempted("nothing refused it".to_owned()))
}

fn reopen(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let file = fs::File::open(scene.readonly_file())?;
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    fs::write(link, scene.mark())?;
    done()
}
