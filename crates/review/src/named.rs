//! Paths that a person writes, as paths in workspaces. Asks the host only where the words alone do not say which
//! workspace is meant.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use workspace::TreePath;

use crate::error::ReviewError;
use crate::place::Place;

/// A workspace and the paths in it that were named.
#[derive(Debug)]
pub struct Named<'places> {
    /// Which workspace.
    pub place: &'places Place,
    /// The paths; none if the whole of it is meant.
    pub paths: Vec<TreePath>,
}

/// What words name, from a directory: all workspaces where there is no word, else those in which a word lies.
pub fn named<'places>(
    places: &'places [Place],
    directory: &Path,
    words: &[OsString],
) -> Result<Vec<Named<'places>>, ReviewError> {
    if words.is_empty() {
        return Ok(places.iter().map(|place| Named { place, paths: Vec::new() }).collect());
    }
    let mut all: Vec<Named<'places>> = Vec::new();
    for word in words {
        let (place, path) = find(places, directory, Path::new(word))?;
        match all.iter_mut().find(|named| std::ptr::eq(named.place, place)) {
            Some(named) => named.paths.push(path),
            None => all.push(Named { place, paths: vec![path] }),
        }
    }
    Ok(all)
}

fn find<'places>(
    places: &'places [Place],
    directory: &Path,
    word: &Path,
) -> Result<(&'places Place, TreePath), ReviewError> {
    let mut whole = normal(&directory.join(word));
    let mut found = innermost(places, &whole);
    if found.is_none() {
        // Perhaps a link leads there.
        whole = real(&whole);
        found = innermost(places, &whole);
    }
    if found.is_none()
        && word.is_relative()
        && let [only] = places
        && !directory.starts_with(only.path().as_path())
    {
        // From elsewhere: below the only directory that there is.
        whole = normal(&only.path().as_path().join(word));
        found = innermost(places, &whole);
    }
    let place = found.ok_or_else(|| ReviewError::Outside(word.to_owned()))?;
    let relative = whole.strip_prefix(place.path().as_path()).unwrap_or(Path::new(""));
    let bad = |why| ReviewError::BadPath { path: word.to_owned(), why };
    let path = TreePath::parse(relative.as_os_str().as_bytes()).map_err(bad)?;
    Ok((place, path))
}

fn innermost<'places>(places: &'places [Place], path: &Path) -> Option<&'places Place> {
    let around = places.iter().filter(|place| path.starts_with(place.path().as_path()));
    around.max_by_key(|place| place.path().as_bytes().len())
}

/// Without `.` and `..`, by its words alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// With the links followed that lead to the nearest directory which exists.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors().skip(1) {
        if let Ok(real) = above.canonicalize() {
            return real.join(path.strip_prefix(above).unwrap_or(Path::new("")));
        }
    }
    path.to_owned()
}
