//! Which paths of an index count. Starts no Git.

use policy::protected::Object;

use super::*;

/// T78
#[test]
fn neighbours_are_recognised_as_each_alone() {
    let paths = [
        ".envrc",
        ".git/hooks/x",
        ".gitignore",
        ".vscode/a/b",
        ".vscode/settings.json",
        ".vscodes",
        "a/.cargo/config.toml",
        "a/.cargo/other",
        "a/.cargo/x/config.toml",
        "a/.vscode",
        "a/b",
        "a/b/c/.envrc",
        "a/b/c/.envrc.bak",
        "a/b/c/d/e",
        "ab/.mvn/jvm.config",
        "ab/.mvn/wrapper/x",
        "project.code-workspace",
        "tools/bazel",
        "tools/x/bazel",
    ];
    let names = ProtectedNames::shared();
    for order in [paths.to_vec(), paths.iter().rev().copied().collect()] {
        let mut matcher = Matcher::new();
        for path in order {
            let expected = names.covering(path.as_bytes(), Object::File).is_some();
            assert_eq!(matcher.is_protected(path.as_bytes()), expected, "{path}");
        }
    }
}
