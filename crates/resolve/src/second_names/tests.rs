//! Which files may have other names, and where. Builds no cage.

use std::path::{Path, PathBuf};

use super::super::fixture::{Host, file, host_path, own_rule};
use super::*;

/// Gives a file a second name.
fn link(first: impl AsRef<Path>, second: PathBuf) {
    std::fs::create_dir_all(second.parent().unwrap()).unwrap();
    std::fs::hard_link(first, second).unwrap();
}

fn host() -> Host {
    let host = Host::new();
    for path in ["secret/deep/key", "frozen/deep/file", "src/main", ".vscode/tasks.json"] {
        file(host.project(path), path);
    }
    host
}

/// Which file is refused, and for which other name.
fn refused(resolved: Result<super::super::Resolved, ResolveError>) -> Option<(PathBuf, PathBuf)> {
    let Err(error) = resolved else { return None };
    let ResolveError::Uncoverable(problems) = &error else { panic!("{error}") };
    let PathProblem::SecondName { other } = &problems[0].problem else { panic!("{error}") };
    Some((problems[0].path.as_path().to_owned(), other.as_path().to_owned()))
}

/// T73
#[test]
fn a_file_of_a_hidden_directory_is_reached_by_no_other_name() {
    for (shown, hidden) in [("src/second", "secret"), ("frozen/second", "secret")] {
        let host = host();
        let rules = || vec![host.readable(""), host.hidden(hidden), host.writable("src")];
        assert_eq!(refused(host.resolve(rules())), None);
        link(host.project("secret/deep/key"), host.project("secret/again"));
        assert_eq!(refused(host.resolve(rules())), None);
        link(host.project("secret/deep/key"), host.outside("elsewhere"));
        assert_eq!(refused(host.resolve(rules())), None);
        link(host.project("secret/deep/key"), host.project(shown));
        let (_, other) = refused(host.resolve(rules())).expect(shown);
        assert_eq!(other, host.project(shown));
        // By a name that the cage is not shown, nothing is reached.
        let rules = vec![host.writable(""), host.hidden("secret"), host.hidden("src")];
        assert_eq!(refused(host.resolve(rules)).is_none(), shown == "src/second");
    }
}

/// T73
#[test]
fn a_file_of_a_read_only_directory_is_written_by_no_other_name() {
    let host = host();
    let rules = || vec![host.writable(""), host.readable("frozen")];
    assert_eq!(refused(host.resolve(rules())), None);
    link(host.project("frozen/deep/file"), host.project("frozen/again"));
    link(host.project("frozen/deep/file"), host.outside("elsewhere"));
    assert_eq!(refused(host.resolve(rules())), None);
    link(host.project("frozen/deep/file"), host.project("node_modules/x/second"));
    let (_, other) = refused(host.resolve(rules())).unwrap();
    assert_eq!(other, host.project("node_modules/x/second"));
    let rules = vec![host.writable(""), host.readable("frozen"), host.readable("node_modules")];
    assert_eq!(refused(host.resolve(rules)), None);
    let file = host.project("frozen/deep/file");
    let rules = vec![host.writable(""), host.readable("frozen/deep/file")];
    assert_eq!(refused(host.resolve(rules)).map(|(path, _)| path), Some(file));
    // What is only read can be read by every name.
    assert_eq!(refused(host.resolve(vec![host.readable(""), host.readable("frozen")])), None);
}

/// T73: directories that are covered without a rule.
#[test]
fn secrets_and_protected_directories_count() {
    let host = host();
    link(host.project(".vscode/tasks.json"), host.project("src/second"));
    let (path, other) = refused(host.resolve(vec![host.writable("")])).unwrap();
    assert_eq!((path, other), (host.project(".vscode/tasks.json"), host.project("src/second")));
    assert_eq!(refused(host.resolve(vec![host.readable("")])), None);
    let host = Host::new();
    file(host.home(".ssh/id"), "");
    link(host.home(".ssh/id"), host.home("backup/id"));
    let home = own_rule(FsAccess::ReadOnly, host.home(""));
    let (path, other) = refused(host.resolve(vec![home])).unwrap();
    assert_eq!((path, other), (host.home(".ssh/id"), host.home("backup/id")));
}

/// T73: a hidden file has no name in a directory that is only protected.
#[test]
fn what_may_be_read_hides_nothing() {
    let host = host();
    link(host.project("secret/deep/key"), host.project(".vscode/key"));
    let rules = vec![host.writable(""), host.hidden("secret")];
    let (path, other) = refused(host.resolve(rules)).unwrap();
    assert_eq!((path, other), (host.project("secret/deep/key"), host.project(".vscode/key")));
}

/// T73: ordinary trees of linked files are no reason to refuse anything.
#[test]
fn files_with_names_outside_of_all_grants_are_harmless() {
    let host = Host::new();
    for number in 0..300 {
        file(host.outside(format!("store/{number}")), "");
        link(
            host.outside(format!("store/{number}")),
            host.project(format!("node_modules/{number}/index.js")),
        );
        file(host.project(format!("src/{number}")), "");
    }
    let rules = vec![host.writable(""), host.readable("node_modules")];
    host.resolve(rules).unwrap();
}

/// T74
#[test]
fn the_program_that_starts_cages_is_protected_by_all_its_names() {
    let mut host = Host::new();
    file(host.project("bin/stockade"), "");
    host.surroundings.executable = Some(host_path(host.project("bin/stockade")));
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    assert_eq!(resolved.protected_paths(), [host.project("bin/stockade")]);
    assert_eq!(resolved.between_paths(), [host.project("bin")]);
    link(host.project("bin/stockade"), host.project("bin/deps/stockade-1"));
    link(host.project("bin/stockade"), host.project("a/b/c/d/e/f"));
    link(host.project("bin/stockade"), host.outside("installed"));
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    let expected = ["a/b/c/d/e/f", "bin/deps/stockade-1", "bin/stockade"];
    assert_eq!(resolved.protected_paths(), expected.map(|path| host.project(path)));
    // One that lies outside can have a name inside.
    host.surroundings.executable = Some(host_path(host.outside("installed")));
    let resolved = host.resolve(vec![host.writable("bin")]).unwrap();
    let expected = ["bin/deps/stockade-1", "bin/stockade"];
    assert_eq!(resolved.protected_paths(), expected.map(|path| host.project(path)));
    assert!(host.resolve(vec![host.readable("")]).unwrap().protected_paths().is_empty());
}

/// T74: the user may name it to be replaced, and a project may not.
#[test]
fn only_the_user_can_make_the_program_that_starts_cages_writable() {
    let mut host = Host::new();
    file(host.project("stockade"), "");
    host.surroundings.executable = Some(host_path(host.project("stockade")));
    let own = own_rule(FsAccess::ReadWrite, host.project("stockade"));
    let resolved = host.resolve(vec![host.writable(""), own]).unwrap();
    assert!(resolved.protected_paths().is_empty());
    let error = host.resolve(vec![host.writable(""), host.writable("stockade")]).unwrap_err();
    assert!(matches!(error, ResolveError::Rules(_)), "{error}");
}
