//! Naming paths and changing the host on record, with layers written by hand.

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use audit::Log;
use plan::HostPath;
use session::{AreaKind, Roots, SessionId, Sessions};
use workspace::{Request, Selection};

use crate::{Found, Place, Purpose, ReviewError, named, of_session};

struct World {
    root: tempfile::TempDir,
    sessions: Sessions,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let sessions = Sessions::open(&host(&root.path().canonicalize().unwrap())).unwrap();
        Self { root, sessions }
    }

    /// A directory of the host, for which a session has a layer with one new file.
    fn workspace(&self, session: &str, directory: &str) -> PathBuf {
        let path = self.root.path().canonicalize().unwrap().join(directory);
        fs::create_dir_all(&path).unwrap();
        let session = self.sessions.enter(&SessionId::parse(session).unwrap()).unwrap();
        let area = session.areas().unwrap().open(AreaKind::Workspace, &host(&path)).unwrap();
        area.make_layers(Roots { mode: 0o755, owner: (0, 0) }).unwrap();
        std::thread::sleep(Duration::from_millis(15));
        workspace::mark_run(area.as_fd()).unwrap();
        fs::write(area.path().as_path().join("upper/new"), "new\n").unwrap();
        path
    }

    fn log(&self) -> Log {
        Log::open(&self.root.path().join("audit")).unwrap()
    }

    fn places(&self, session: &str) -> Vec<Place> {
        of_session(&self.sessions, SessionId::parse(session).unwrap()).unwrap().places
    }
}

fn host(path: &Path) -> HostPath {
    HostPath::new(path.as_os_str().to_owned()).unwrap()
}

#[test]
fn words_name_paths_in_the_innermost_workspace() {
    let world = World::new();
    let outer = world.workspace("work", "project");
    let inner = world.workspace("work", "project/inner");
    let places = world.places("work");
    let name = |from: &Path, word: &str| {
        let named = named(&places, from, &[OsString::from(word)])?;
        let [one] = named.as_slice() else { panic!("{word}") };
        Ok::<_, ReviewError>((one.place.path().as_path().to_owned(), one.paths[0].to_string()))
    };
    for (from, word, place, path) in [
        (&outer, "a", &outer, "a"),
        (&outer, "./a/../b/", &outer, "b"),
        (&outer, ".", &outer, "."),
        (&outer, "inner/a", &inner, "a"),
        (&inner, "../a", &outer, "a"),
        (&inner, "..", &outer, "."),
    ] {
        assert_eq!(name(from, word).unwrap(), (place.clone(), path.to_owned()), "{word}");
    }
    // A link that leads to a workspace leads to it.
    std::os::unix::fs::symlink(&outer, world.root.path().join("link")).unwrap();
    let linked = world.root.path().canonicalize().unwrap().join("link/new");
    assert_eq!(name(Path::new("/"), linked.to_str().unwrap()).unwrap(), (outer, "new".to_owned()));
    for word in ["/etc/passwd", "../../..", "a\0b"] {
        assert!(name(&inner, word).is_err(), "{word}");
    }
    assert_eq!(named(&places, &inner, &[]).unwrap().len(), 2);
}

#[test]
fn the_session_that_ran_last_and_has_something_is_found() {
    let world = World::new();
    let project = world.workspace("first", "project");
    world.workspace("second", "project");
    world.workspace("third", "other");
    let found = Found::newest(&world.sessions, &host(&project.join("below")), Purpose::Changes);
    let found = found.unwrap();
    assert_eq!((found.session.as_str(), found.others.len()), ("second", 1));
    found.places[0].discard(None, &world.log()).unwrap();
    let found = Found::newest(&world.sessions, &host(&project), Purpose::Changes).unwrap();
    assert_eq!((found.session.as_str(), found.others.len()), ("first", 0));
    let none = Found::newest(&world.sessions, &host(Path::new("/")), Purpose::Changes);
    let Err(ReviewError::NothingCovers { others, .. }) = none else { panic!("{none:?}") };
    assert_eq!(others.len(), 3);
}

/// K284: what cannot be recorded is not done.
#[test]
fn without_a_record_nothing_is_changed() {
    let world = World::new();
    let project = world.workspace("work", "project");
    let places = world.places("work");
    let [place] = places.as_slice() else { panic!() };
    let log = world.log();
    let changes = place.changes(&log).unwrap();
    let audit = world.root.path().join("audit");
    fs::remove_dir_all(&audit).unwrap();
    fs::write(&audit, "in the way").unwrap();
    let applied = place.apply(&changes, &Request::of(Selection::All), &log);
    assert!(matches!(applied, Err(ReviewError::Record(_))), "{applied:?}");
    assert!(matches!(place.discard(None, &log), Err(ReviewError::Record(_))));
    assert!(!project.join("new").exists());
    assert_eq!(place.changes(&log).unwrap().list.len(), 1);
}
