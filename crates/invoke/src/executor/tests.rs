//! Where an executor's manifest and code may lie.

use std::os::unix::fs::symlink;

use super::*;

fn world() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir_all(root.join("tool")).unwrap();
    std::fs::write(root.join("tool/run.py"), "print('{}')").unwrap();
    std::fs::write(root.join("outside.py"), "print('{}')").unwrap();
    (directory, root)
}

fn manifest(code: &str) -> String {
    format!("name = \"tool\"\nversion = \"1\"\ncode = \"{code}\"\n")
}

#[test]
fn relative_paths_begin_at_the_manifest() {
    let (_directory, root) = world();
    let path = root.join("tool/manifest.toml");
    std::fs::write(&path, manifest("run.py")).unwrap();
    let executor = Executor::load(&path).unwrap();
    assert_eq!(executor.code.as_path(), root.join("tool/run.py"));
    assert_eq!(executor.code_directory.as_path(), root.join("tool"));
    let command = executor.command();
    assert_eq!(command, [OsString::from("python3"), root.join("tool/run.py").into_os_string()]);
    // The same as JSON, and through a link to the directory.
    let json = root.join("tool/manifest.json");
    std::fs::write(&json, r#"{"name":"tool","version":"1","code":"run.py"}"#).unwrap();
    symlink(root.join("tool"), root.join("alias")).unwrap();
    let same = Executor::load(&root.join("alias/manifest.json")).unwrap();
    assert_eq!(same.code, executor.code);
}

#[test]
fn code_that_is_not_there_or_elsewhere_is_refused() {
    let (_directory, root) = world();
    symlink(root.join("outside.py"), root.join("tool/out.py")).unwrap();
    symlink(root.join("tool/run.py"), root.join("tool/in.py")).unwrap();
    std::fs::create_dir(root.join("tool/dir.py")).unwrap();
    let path = root.join("tool/manifest.toml");
    let load = |code: &str| {
        std::fs::write(&path, manifest(code)).unwrap();
        Executor::load(&path)
    };
    load("in.py").unwrap();
    for (code, why) in
        [("none.py", "No such file"), ("out.py", "leads out"), ("dir.py", "not a file")]
    {
        let refused = load(code).unwrap_err().to_string();
        assert!(refused.contains(why), "{code}: {refused}");
    }
    assert!(matches!(Executor::load(&root), Err(LoadError::Unreadable { .. })));
    assert!(matches!(Executor::load(&root.join("none")), Err(LoadError::Unreadable { .. })));
    std::fs::write(&path, vec![b'#'; 2 << 20]).unwrap();
    assert!(matches!(Executor::load(&path), Err(LoadError::Unreadable { .. })));
    std::fs::write(&path, "name = [").unwrap();
    assert!(matches!(Executor::load(&path), Err(LoadError::Manifest(_))));
}

/// M25: a manifest's file shows nothing but its own directory, wherever links lead.
#[test]
fn code_lies_in_the_directory_of_its_manifest() {
    let (_directory, root) = world();
    let path = root.join("tool/manifest.toml");
    let load = |code: &str| {
        std::fs::write(&path, manifest(code)).unwrap();
        Executor::load(&path)
    };
    std::fs::create_dir(root.join("other")).unwrap();
    std::fs::write(root.join("other/run.py"), "").unwrap();
    symlink(root.join("other"), root.join("tool/linked")).unwrap();
    let absolute = root.join("other/run.py").display().to_string();
    for code in [absolute.as_str(), "linked/run.py"] {
        let refused = load(code).unwrap_err().to_string();
        assert!(refused.contains("directory of the manifest"), "{code}: {refused}");
    }
    // Who has the dictionary in hand may name any code.
    let value = serde_json::json!({ "code": absolute });
    let executor = Executor::from_value(&value, &root.join("tool")).unwrap();
    assert_eq!(executor.code_directory.as_path(), root.join("other"));
    // The manifest's own directory counts, not that of a link to it.
    load("run.py").unwrap();
    symlink(&path, root.join("other/alias.toml")).unwrap();
    let executor = Executor::load(&root.join("other/alias.toml")).unwrap();
    assert_eq!(executor.code_directory.as_path(), root.join("tool"));
}

/// M27: the manifest lies in what the executor cannot change, wherever its code does.
#[test]
fn the_directory_of_the_manifest_is_the_executors_own() {
    let (_directory, root) = world();
    std::fs::create_dir(root.join("tool/code")).unwrap();
    std::fs::write(root.join("tool/code/run.py"), "").unwrap();
    let path = root.join("tool/manifest.toml");
    std::fs::write(&path, manifest("code/run.py")).unwrap();
    let executor = Executor::load(&path).unwrap();
    assert_eq!(executor.code.as_path(), root.join("tool/code/run.py"));
    assert_eq!(executor.code_directory.as_path(), root.join("tool"));
}
