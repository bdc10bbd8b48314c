//! Protected names in places whose own names are made to confuse: not text, with line breaks,
//! backslashes, brackets and wildcards; and pointer files that lead in circles or never end. T7

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T7", "name-not-text", "hides `.envrc` below a name that is not text", |scene| {
        plant(scene, NOT_TEXT)
    })
    .guards(&[NOT_TEXT]),
    Attack::new("T7", "name-with-newline", "hides `.envrc` below a name of two lines", |scene| {
        plant(scene, TWO_LINES)
    })
    .guards(&[TWO_LINES]),
    Attack::new("T7", "name-with-wildcards", "hides `.envrc` below a pattern", |scene| {
        plant(scene, PATTERN)
    })
    .guards(&[PATTERN]),
    Attack::new(
        "T20",
        "name-with-escape-sequence",
        "hides `.envrc` below a name that a terminal would obey",
        |scene| plant(scene, ESCAPE),
    )
    .guards(&[ESCAPE]),
    Attack::new("T7", "pointer-loop", "makes `.git` a link to itself", |scene| {
        let place = scene.workplace()?;
        symlink(".git", place.join(".git"))?;
        Ok(Outcome::Attempted("made it".to_owned()))
    })
    .guards(&[b"work/pointer-loop/.git"]),
    Attack::new("T7", "pointer-without-end", "makes a `.git` file of two megabytes", |scene| {
        let place = scene.workplace()?;
        let mut pointer = b"gitdir: ".to_vec();
        pointer.resize(2 * 1024 * 1024, b'/');
        fs::write(place.join(".git"), pointer)?;
        Ok(Outcome::Attempted("made it".to_owned()))
    })
    .guards(&[b"work/pointer-without-end/.git"]),
    Attack::new("T7", "pointer-upward", "makes `.git` point upward, out of the project", |scene| {
        let place = scene.workplace()?;
        fs::write(place.join(".git"), "gitdir: ../../../../outside/targets\n")?;
        Ok(Outcome::Attempted("made it".to_owned()))
    })
    .guards(&[b"work/pointer-upward/.git"]),
];

fn plant(scene: &Scene<'_>, path: &[u8]) -> Result<Outcome, Refused> {
    let path = scene.project.join(OsStr::from_bytes(path));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&path, scene.mark())?;
    Ok(Outcome::Attempted("made it".to_owned()))
}

const NOT_TEXT: &[u8] = b"work/\xff\xfe\xc3\x28/.envrc";
const TWO_LINES: &[u8] = b"work/one\nallowed: everything\n/.envrc";
const PATTERN: &[u8] = b"work/[a-z]*?\\{b,c}/.envrc";
/// Sets the title of a terminal window to a word that the proof looks for.
pub(crate) const ESCAPE: &[u8] = b"work/\x1b]0;stockade-obeyed\x07/.envrc";
