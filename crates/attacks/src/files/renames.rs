//! Moving things around a rule: ancestors aside, other files over, second names beside. T3, T4

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new(
        "T3",
        "rename-ancestor-of-hidden",
        "moves a directory above a hidden file aside and makes it anew",
        |scene| move_aside_and_back(&scene.project.join("deep/a"), "b/hidden.txt"),
    ),
    Attack::new(
        "T3",
        "rename-top-ancestor-of-hidden",
        "moves the topmost directory above a hidden file aside",
        |scene| move_aside_and_back(&scene.project.join("deep"), "a/b/hidden.txt"),
    ),
    Attack::new("T3", "rename-repository", "moves `.git` aside and makes it anew", |scene| {
        move_aside_and_back(&scene.project.join(".git"), "config")
    }),
    Attack::new(
        "T3",
        "rename-hidden-directory",
        "moves a hidden directory aside and makes it anew",
        |scene| move_aside_and_back(&scene.project.join("private"), "secret.txt"),
    ),
    Attack::new(
        "T3",
        "exchange-ancestor",
        "exchanges a directory above a protected file with its own",
        exchange_ancestor,
    ),
    Attack::new("T4", "replace-protected", "renames a file over a protected one", rename_over)
        .guards(&[b".mcp.json"]),
    Attack::new("T4", "unlink-protected", "removes a protected file and makes it anew", recreate)
        .guards(&[b".envrc"]),
    Attack::new(
        "T4",
        "hardlink-to-protected",
        "gives a protected file a second name and writes to that",
        write_second_name,
    )
    .guards(&[b".git/hooks/pre-commit"]),
    Attack::new(
        "T4",
        "hardlink-to-hidden",
        "gives a hidden file a second name and reads that",
        read_second_name,
    )
    .steals(),
    Attack::new(
        "T4",
        "hardlink-to-outside",
        "gives a file outside a second name inside and writes to that",
        write_second_name_of_outside,
    )
    .harms(),
    Attack::new("T4", "rename-out", "moves a file of its own over one outside", |scene| {
        let own = scene.workplace()?.join("own");
        fs::write(&own, scene.mark())?;
        fs::rename(&own, scene.target())?;
        Ok(Outcome::Attempted("renamed".to_owned()))
    })
    .harms(),
];

/// Puts everything back where it went through, so that other attacks find the field as it was.
fn move_aside_and_back(directory: &Path, denied: &str) -> Result<Outcome, Refused> {
    let aside = directory.with_extension("aside");
    fs::rename(directory, &aside)?;
    let denied = directory.join(denied);
    let written = denied.parent().map_or(Ok(()), fs::create_dir_all);
    let written = written.and_then(|()| fs::write(&denied, "planted"));
    fs::remove_dir_all(directory)?;
    fs::rename(&aside, directory)?;
    written?;
    Ok(Outcome::Succeeded("wrote the denied name in a new directory".to_owned()))
}

fn exchange_ancestor(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let own = scene.workplace()?.join("own");
    fs::create_dir_all(&own)?;
    fs::write(own.join("tasks.json"), "planted")?;
    let directory = scene.project.join(".vscode");
    renameat_with(CWD, &own, CWD, &directory, RenameFlags::EXCHANGE)?;
    renameat_with(CWD, &own, CWD, &directory, RenameFlags::EXCHANGE)?;
    Ok(Outcome::Succeeded("exchanged".to_owned()))
}

fn rename_over(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let own = scene.workplace()?.join("own");
    fs::write(&own, scene.mark())?;
    fs::rename(own, scene.project.join(".mcp.json"))?;
    Ok(Outcome::Attempted("renamed over it".to_owned()))
}

fn recreate(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let file = scene.project.join(".envrc");
    fs::remove_file(&file)?;
    fs::write(&file, scene.mark())?;
    Ok(Outcome::Attempted("removed and made anew".to_owned()))
}

fn write_second_name(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let name = scene.workplace()?.join("second");
    fs::hard_link(scene.project.join(".git/hooks/pre-commit"), &name)?;
    fs::write(&name, scene.mark())?;
    Ok(Outcome::Attempted("wrote to the second name".to_owned()))
}

fn read_second_name(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let name = scene.workplace()?.join("second");
    fs::hard_link(scene.project.join("deep/a/b/hidden.txt"), &name)?;
    Ok(Outcome::of_reading(&fs::read(&name)?))
}

fn write_second_name_of_outside(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let name = scene.workplace()?.join("second");
    fs::hard_link(scene.target(), &name)?;
    fs::write(&name, scene.mark())?;
    Ok(Outcome::Attempted("wrote to the second name".to_owned()))
}
