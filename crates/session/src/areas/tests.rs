//! Areas that are made, found again, shared, and kept as long as they are needed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use plan::HostPath;

use crate::{AreaKind, Life, Projects, Roots, SessionError, SessionId, Sessions, Use};

fn host(path: impl AsRef<std::path::Path>) -> HostPath {
    HostPath::new(path.as_ref().as_os_str().to_owned()).unwrap()
}

fn like_now() -> Roots {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    Roots { mode: 0o755, owner: (uid.as_raw(), gid.as_raw()) }
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

/// K38: a path has the same area in every run of a session, and two paths never have.
#[test]
fn an_area_is_found_again_by_its_path() {
    let root = tempfile::tempdir().unwrap();
    let sessions = Sessions::open(&host(root.path())).unwrap();
    let session = sessions.enter(&id("work")).unwrap();
    let areas = session.areas().unwrap();
    let (one, other) = (host("/srv/one"), host("/srv/other"));
    let made = areas.open(AreaKind::Workspace, &one).unwrap();
    made.make_layers(like_now()).unwrap();
    assert!(made.is_new());
    assert_eq!((made.kind(), made.of()), (AreaKind::Workspace, &one));
    let mode = |name: &str| {
        let path = made.path().as_path().join(name);
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!((mode("."), mode("upper"), mode("work")), (0o700, 0o755, 0o700));
    assert!(areas.open(AreaKind::Home, &one).unwrap().is_new());
    assert!(areas.open(AreaKind::Workspace, &other).unwrap().is_new());
    let again = areas.open(AreaKind::Workspace, &one).unwrap();
    assert_eq!((again.is_new(), again.path()), (false, made.path()));
    let listed: Vec<_> = sessions.areas(&id("work")).unwrap();
    let mut listed: Vec<_> =
        listed.iter().map(|area| (area.kind(), area.of().to_string())).collect();
    listed.sort();
    let (one, other) = (one.to_string(), other.to_string());
    assert_eq!(
        listed,
        [(AreaKind::Workspace, one.clone()), (AreaKind::Workspace, other), (AreaKind::Home, one)]
    );
}

/// An area whose name somebody gave to another path is not used for it.
#[test]
fn an_area_of_another_path_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let sessions = Sessions::open(&host(root.path())).unwrap();
    let areas = sessions.enter(&id("work")).unwrap().areas().unwrap();
    let area = areas.open(AreaKind::Workspace, &host("/srv/one")).unwrap();
    fs::write(area.path().as_path().join("of"), "/srv/two").unwrap();
    assert!(areas.open(AreaKind::Workspace, &host("/srv/one")).is_err());
    fs::write(area.path().as_path().join("of"), [b'/'; 5000]).unwrap();
    assert!(areas.list().is_err());
}

#[test]
fn who_uses_an_area_alone_keeps_others_out() {
    let root = tempfile::tempdir().unwrap();
    let projects = Projects::open(&host(root.path())).unwrap();
    let project = projects.enter(&host("/srv/project")).unwrap();
    let of = host("/home/somebody/.cache");
    let first = project.areas().open(AreaKind::Cache, &of).unwrap();
    first.occupy(Use::Alone).unwrap();
    let second = project.areas().open(AreaKind::Cache, &of).unwrap();
    let refused = second.occupy(Use::Shared).unwrap_err();
    assert!(matches!(&refused, SessionError::AreaInUse(path) if *path == of), "{refused}");
    // Others of the same path are as good.
    let third = project.areas().open_free(AreaKind::Cache, &of).unwrap();
    assert_ne!(third.path(), first.path());
    assert!(matches!(projects.forget(project), Err(SessionError::AreaInUse(_))));
    drop((first, second, third));
    let project = projects.enter(&host("/srv/project")).unwrap();
    let again = project.areas().open_free(AreaKind::Cache, &of).unwrap();
    assert!(!again.is_new());
    let home = project.areas().open(AreaKind::Home, &of).unwrap();
    let made = home.make_home().unwrap();
    assert_eq!(fs::metadata(made.as_path()).unwrap().permissions().mode() & 0o777, 0o700);
    home.occupy(Use::Shared).unwrap();
    project.areas().open(AreaKind::Home, &of).unwrap().occupy(Use::Shared).unwrap();
    drop((again, home));
    let roots: Vec<_> =
        projects.list().unwrap().iter().map(|project| project.root().clone()).collect();
    assert_eq!(roots, [host("/srv/project")]);
    projects.forget(project).unwrap();
    assert!(projects.list().unwrap().is_empty());
    assert_eq!(fs::read_dir(root.path().join("projects")).unwrap().count(), 0);
}

/// What a program changed is not lost with its run, and a run that changed nothing leaves nothing.
#[test]
fn a_session_for_changes_stays_where_there_are_some() {
    let root = tempfile::tempdir().unwrap();
    let sessions = Sessions::open(&host(root.path())).unwrap();
    let begin = || {
        let session = sessions.begin_for_changes("My Project!").unwrap();
        let areas = session.areas().unwrap();
        let area = areas.open(AreaKind::Workspace, &host("/srv/one")).unwrap();
        area.make_layers(like_now()).unwrap();
        (session, area.path().as_path().join("upper"))
    };
    let (session, _) = begin();
    assert_eq!(session.life(), Life::IfChanged);
    assert!(session.id().as_str().starts_with("my-project-"), "{}", session.id());
    assert!(session.leave().unwrap());
    assert!(sessions.list().unwrap().is_empty());

    let (session, upper) = begin();
    fs::write(upper.join("file"), "changed").unwrap();
    let name = session.id().clone();
    assert!(!session.leave().unwrap());
    assert!(sessions.sweep().unwrap().is_empty());
    assert_eq!(sessions.look(&name).unwrap().life, Life::IfChanged);
    // Somebody goes on in it, throws the change away, and it goes.
    let session = sessions.enter(&name).unwrap();
    assert!(!session.is_new());
    fs::remove_file(upper.join("file")).unwrap();
    assert!(session.leave().unwrap());
    assert!(sessions.list().unwrap().is_empty());

    // As after a kill: nobody is in it, and its file is not locked.
    let (session, upper) = begin();
    fs::write(upper.join("file"), "changed").unwrap();
    drop(session);
    let (session, _) = begin();
    let unchanged = session.id().clone();
    drop(session);
    assert_eq!(sessions.sweep().unwrap(), [unchanged]);
    assert_eq!(sessions.list().unwrap().len(), 1);
}
