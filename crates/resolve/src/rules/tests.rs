//! Every way in which a rule's path can be found or fail. Builds no cage.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::super::fixture::{Host, directory, file, host_path, own_rule};
use super::*;

/// The problem of the one rule that cannot be carried out.
fn problem(host: &Host, rule: FsRule) -> PathProblem {
    match host.resolve(vec![rule]) {
        Err(ResolveError::Rules(problems)) => {
            assert_eq!(problems.len(), 1);
            problems.into_iter().next().unwrap().problem
        }
        other => panic!("{other:?}"),
    }
}

/// K31, K33
#[test]
fn a_path_is_granted_where_it_is() {
    let host = Host::new();
    file(host.project("src/main.rs"), "");
    let rules = vec![host.readable(""), host.writable("src"), host.readable("src/main.rs")];
    let resolved = host.resolve(rules).unwrap();
    assert_eq!(resolved.rule_path(0), host.project(""));
    assert_eq!(resolved.rule_path(1), host.project("src"));
    assert_eq!(resolved.rule_path(2), host.project("src/main.rs"));
    assert_eq!(resolved.facts.sources.len(), resolved.sources.len());
    for (source, descriptor) in resolved.facts.sources.iter().zip(&resolved.sources) {
        let status = rustix::fs::fstat(descriptor).unwrap();
        assert_eq!((source.device, source.inode), (status.st_dev, status.st_ino));
    }
}

/// K236: two rules that mean one place share its descriptor.
#[test]
fn one_place_is_opened_once() {
    let host = Host::new();
    directory(host.project("data"));
    symlink("data", host.project("alias")).unwrap();
    let resolved = host.resolve(vec![host.readable("data"), host.readable("alias")]).unwrap();
    assert_eq!(resolved.rule_path(0), resolved.rule_path(1));
}

/// K184: all that is missing is named, with the rule.
#[test]
fn every_missing_path_is_told() {
    let host = Host::new();
    directory(host.project("source"));
    let rules = vec![
        host.readable("sorce"),
        host.readable("source"),
        host.writable("build/output"),
        own_rule(FsAccess::ReadOnly, host.outside("nothing")),
    ];
    let error = host.resolve(rules).unwrap_err();
    let ResolveError::Rules(problems) = &error else { panic!("{error}") };
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_path()).collect();
    assert_eq!(
        paths,
        [host.project("sorce"), host.project("build/output"), host.outside("nothing")]
    );
    let text = error.to_string();
    assert_eq!(text.lines().count(), 3);
    let first = text.lines().next().unwrap();
    assert!(first.contains("--ro") && first.contains("it does not exist"), "{first}");
    assert!(first.ends_with("/project/source`?"), "{first}");
    assert!(error.is_policy_fault());
}

#[test]
fn what_does_not_exist_need_not_be_hidden() {
    let host = Host::new();
    file(host.project("file"), "");
    symlink("nowhere", host.project("dangling")).unwrap();
    let rules = ["secrets", "file/below", "dangling"].map(|path| host.hidden(path)).to_vec();
    let resolved = host.resolve(rules).unwrap();
    assert!(resolved.facts.rules.iter().all(|rule| *rule == ResolvedRule::NothingToHide));
}

/// K32, K59, T1
#[test]
fn a_project_rule_never_leaves_the_project() {
    let host = Host::new();
    file(host.outside("file"), "");
    directory(host.project("deep/er"));
    symlink(host.outside(""), host.project("absolute")).unwrap();
    symlink("../../outside", host.project("relative")).unwrap();
    symlink("..", host.project("parent")).unwrap();
    symlink("/proc/self/root", host.project("magic")).unwrap();
    symlink("/proc/self/cwd", host.project("cwd")).unwrap();
    symlink("relative", host.project("chained")).unwrap();
    // Even a link that would come back is a step outside.
    symlink("../project/deep", host.project("returning")).unwrap();
    let leaving = [
        "absolute",
        "absolute/file",
        "relative",
        "parent",
        "magic",
        "cwd",
        "chained",
        "chained/file",
        "returning",
    ];
    for path in leaving {
        for access in [FsAccess::ReadOnly, FsAccess::ReadWrite, FsAccess::Hide] {
            let found = problem(&host, host.rule(access, path));
            assert_eq!(found, PathProblem::LeavesProject, "{path}");
        }
    }
    let above = FsRule { path: host_path(host.home("")), ..host.readable("") };
    assert_eq!(problem(&host, above), PathProblem::LeavesProject);
}

#[test]
fn a_link_inside_the_project_leads_to_the_real_path() {
    let host = Host::new();
    file(host.project("real/place/file"), "");
    directory(host.project("links"));
    symlink("../real", host.project("links/one")).unwrap();
    symlink("links/one/place", host.project("two")).unwrap();
    let resolved = host.resolve(vec![host.readable("two/file"), host.hidden("two")]).unwrap();
    assert_eq!(resolved.rule_path(0), host.project("real/place/file"));
    assert_eq!(resolved.rule_path(1), host.project("real/place"));
}

#[test]
fn the_users_own_rule_may_lead_anywhere_that_is_grantable() {
    let host = Host::new();
    file(host.outside("file"), "");
    symlink(host.outside(""), host.home("link")).unwrap();
    let rule = own_rule(FsAccess::ReadOnly, host.home("link/file"));
    let resolved = host.resolve(vec![rule]).unwrap();
    assert_eq!(resolved.rule_path(0), host.outside("file"));
    let ResolvedRule::Found { caller_owned, .. } = resolved.facts.rules[0] else { panic!() };
    assert!(!caller_owned);
}

/// T2: a link that an earlier cage left in the project is not what the user means by its name.
#[test]
fn a_path_in_the_project_stays_in_it_for_the_user_too() {
    let host = Host::new();
    file(host.outside("file"), "");
    symlink(host.outside(""), host.project("build")).unwrap();
    for path in ["build", "build/file"] {
        let found = problem(&host, own_rule(FsAccess::ReadWrite, host.project(path)));
        assert!(matches!(found, PathProblem::LeavesProject), "{path}: {found:?}");
    }
}

/// T8, T31, T57, V16: a link does not launder a path that no cage may have.
#[test]
fn a_link_to_an_ungrantable_path_is_refused() {
    let host = Host::new().with_own_state();
    for target in ["/run", "/proc", "/", "/dev", "/sys"] {
        let link = host.outside("link");
        let _ = std::fs::remove_file(&link);
        symlink(target, &link).unwrap();
        let found = problem(&host, own_rule(FsAccess::ReadOnly, &link));
        let PathProblem::Ungrantable { real, reason } = found else { panic!("{found:?}") };
        assert_eq!(real.as_path(), Path::new(target));
        assert!(!reason.is_empty());
    }
    directory(host.home(".local/state/stockade"));
    symlink(host.home(".local/state/stockade"), host.outside("state")).unwrap();
    let found = problem(&host, own_rule(FsAccess::ReadOnly, host.outside("state")));
    assert!(matches!(found, PathProblem::Ungrantable { .. }));
}

/// T8
#[test]
fn links_of_proc_are_not_followed() {
    let host = Host::new();
    for path in ["/proc/self/root", "/proc/self/cwd", "/proc/self/root/etc", "/proc/self/fd/0"] {
        let found = problem(&host, own_rule(FsAccess::ReadOnly, path));
        assert_eq!(found, PathProblem::MagicLink, "{path}");
    }
}

/// T7
#[test]
fn each_way_to_fail_has_its_own_name() {
    let host = Host::new();
    file(host.project("file"), "");
    symlink("loop", host.project("loop")).unwrap();
    symlink("pong", host.project("ping")).unwrap();
    symlink("ping", host.project("pong")).unwrap();
    let long = "x".repeat(256);
    let table = [
        ("file/below", PathProblem::NotADirectory),
        ("loop", PathProblem::SymlinkLoop),
        ("ping/below", PathProblem::SymlinkLoop),
        (long.as_str(), PathProblem::TooLong),
    ];
    for (path, expected) in table {
        assert_eq!(problem(&host, host.readable(path)), expected, "{path}");
        let own = own_rule(FsAccess::ReadOnly, host.project(path));
        assert_eq!(problem(&host, own), expected, "{path}");
    }
}

/// T31: a socket is a door, whatever the mount says.
#[test]
fn sockets_devices_and_fifos_are_not_granted() {
    let host = Host::new();
    let _socket = std::os::unix::net::UnixListener::bind(host.project("socket")).unwrap();
    let fifo = host.project("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    for (path, expected) in [("socket", "a socket"), ("fifo", "a FIFO")] {
        for access in [FsAccess::ReadOnly, FsAccess::ReadWrite] {
            let found = problem(&host, host.rule(access, path));
            assert_eq!(found, PathProblem::WrongKind { kind: expected });
        }
        let resolved = host.resolve(vec![host.hidden(path)]).unwrap();
        assert_eq!(resolved.rule_path(0), host.project(path));
    }
}

/// T4
#[test]
fn a_hidden_file_with_another_name_is_refused() {
    let host = Host::new();
    file(host.project("secret"), "");
    std::fs::hard_link(host.project("secret"), host.project("copy")).unwrap();
    let rules = vec![host.readable(""), host.hidden("secret")];
    let error = host.resolve(rules).unwrap_err();
    let ResolveError::Rules(problems) = &error else { panic!("{error}") };
    assert_eq!(problems[0].problem, PathProblem::HardLinks { links: 2 });
    assert_eq!(problems[0].access, FsAccess::Hide);
    assert!(error.to_string().contains("cp -p"), "{error}");
    // Without a grant there is nothing to see it by.
    assert!(host.resolve(vec![host.hidden("secret")]).is_ok());
    // A directory has many links by nature.
    directory(host.project("directory/below"));
    assert!(host.resolve(vec![host.readable(""), host.hidden("directory")]).is_ok());
}

/// T7
#[test]
fn names_are_bytes() {
    let host = Host::new();
    let names: [&[u8]; 6] =
        [b"\xff\xfe", b"new\nline", b"back\\slash", b"[glob]*?", b"sp ace", b"end (deleted)"];
    for name in names {
        let name = Path::new(OsStr::from_bytes(name));
        file(host.project(name).join("file"), "");
        let resolved = host.resolve(vec![host.writable(name)]).unwrap();
        assert_eq!(resolved.rule_path(0), host.project(name));
        let link = host.project("link");
        let _ = std::fs::remove_file(&link);
        symlink(name, &link).unwrap();
        let resolved = host.resolve(vec![host.writable("link")]).unwrap();
        assert_eq!(resolved.rule_path(0), host.project(name));
    }
}

/// T53: an error cannot play tricks on the terminal.
#[test]
fn errors_show_control_characters_escaped() {
    let host = Host::new();
    let name = Path::new(OsStr::from_bytes(b"\x1b]0;title\x07\xe2\x80\xae"));
    let error = host.resolve(vec![host.readable(name)]).unwrap_err().to_string();
    assert!(!error.chars().any(|character| character.is_control() || character == '\u{202e}'));
}

/// The project itself may be reached by a link; its rules then mean the real place.
#[test]
fn a_project_behind_a_link_is_resolved() {
    let mut host = Host::new();
    file(host.project("src/lib.rs"), "");
    symlink(host.project(""), host.outside("work")).unwrap();
    host.surroundings.project = host_path(host.outside("work"));
    let rule = FsRule { path: host_path(host.outside("work/src")), ..host.readable("") };
    let resolved = host.resolve(vec![rule]).unwrap();
    assert_eq!(resolved.rule_path(0), host.project("src"));
    assert_eq!(resolved.facts.project.as_path(), host.top.join("home/project"));
}

/// K58
#[test]
fn the_project_must_be_a_directory() {
    let mut host = Host::new();
    file(host.outside("file"), "");
    for (path, expected) in
        [("missing", PathProblem::Missing { similar: None }), ("file", PathProblem::NotADirectory)]
    {
        host.surroundings.project = host_path(host.outside(path));
        match host.resolve(Vec::new()) {
            Err(ResolveError::Project { problem, .. }) => assert_eq!(problem, expected),
            other => panic!("{other:?}"),
        }
    }
}

/// What the caller may not reach is told as such. Root may reach everything.
#[test]
fn a_closed_directory_is_told() {
    let host = Host::new();
    file(host.project("closed/file"), "");
    let closed = host.project("closed");
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let outcome = host.resolve(vec![host.readable("closed/file")]);
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).unwrap();
    match outcome {
        Ok(_) => assert!(rustix::process::geteuid().is_root()),
        Err(ResolveError::Rules(problems)) => {
            assert_eq!(problems[0].problem, PathProblem::PermissionDenied);
        }
        Err(other) => panic!("{other}"),
    }
}

/// Grants of root map the owner of the project, and no one else's files.
#[test]
fn the_owner_is_that_of_the_project() {
    let host = Host::new();
    file(host.project("file"), "");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(host.project(""), Some(4242), Some(4343)).unwrap();
    }
    let status = rustix::fs::stat(host.project("").as_path()).unwrap();
    let resolved = host.resolve(vec![host.readable("file")]).unwrap();
    let ResolvedRule::Found { owner, caller_owned, .. } = resolved.facts.rules[0] else { panic!() };
    assert!(caller_owned);
    assert_eq!(owner, (status.st_uid, status.st_gid));
}

/// T7: what a rule names through a link stays what it is only as long as the link does.
#[test]
fn a_link_that_the_program_could_lead_elsewhere_is_refused() {
    let host = Host::new();
    file(host.project("real/key"), "key");
    symlink("real", host.project("link")).unwrap();
    symlink("missing", host.project("dangling")).unwrap();
    let cases = [
        (host.hidden("link"), "real"),
        (host.hidden("link/key"), "real/key"),
        (host.readable("link"), "real"),
        (host.writable("link"), "real"),
        (host.hidden("dangling"), ""),
    ];
    for (rule, leads_to) in cases {
        let written = rule.path.clone();
        let error = host.resolve(vec![host.writable(""), rule.clone()]).unwrap_err();
        let ResolveError::Rules(problems) = error else { panic!("{error:?}") };
        let [RuleProblem { problem: PathProblem::LooseLink { leads_to: place, .. }, path, .. }] =
            problems.as_slice()
        else {
            panic!("{problems:?}")
        };
        assert_eq!((path, place), (&written, &host_path(host.project(leads_to))));
        host.resolve(vec![host.readable(""), rule]).unwrap();
    }
    // By its own name it is hidden whatever becomes of the link.
    host.resolve(vec![host.writable(""), host.hidden("real")]).unwrap();
}

/// A link that lies outside of what the program may change is nobody's to lead elsewhere.
#[test]
fn links_above_the_project_are_as_good_as_directories() {
    let mut host = Host::new();
    file(host.project("real/key"), "key");
    symlink(host.project(""), host.outside("project")).unwrap();
    host.surroundings.project = host_path(host.outside("project"));
    let below = |relative: &str| host_path(host.outside("project").join(relative));
    let rule = |access, path| FsRule { path, ..host.rule(access, "") };
    let rules = vec![
        rule(FsAccess::ReadWrite, host_path(host.outside("project"))),
        rule(FsAccess::Hide, below("real/key")),
    ];
    let resolved = host.resolve(rules).unwrap();
    assert_eq!(resolved.rule_path(1), host.project("real/key"));
}
