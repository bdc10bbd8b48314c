//! What the table covers, at any depth and of which kind.

use plan::HostPath;

use super::{Object, directories_to_list, is_repository, matches, matches_inside, table};
use crate::{FsAccess, FsRule, Reach, RuleOrigin};

fn pattern(relative: &str, object: Object) -> Option<&'static str> {
    matches(relative.as_bytes(), object).map(|entry| entry.pattern)
}

/// K227, T5, T6
#[test]
fn names_that_run_code_are_found_at_any_depth() {
    for (relative, expected) in [
        (".git/hooks/pre-commit", Some(".git/hooks")),
        ("sub/dir/.git/hooks", Some(".git/hooks")),
        (".git/config", Some(".git/config")),
        (".git/configx", None),
        (".git/objects/ab/cd", None),
        (".git/refs/heads/config", None),
        (".git/config.worktree", Some(".git/config.worktree")),
        (".git/commondir", Some(".git/commondir")),
        (".git/modules/a/config", Some(".git/modules/**/config")),
        (".git/modules/deep/er/hooks/post-checkout", Some(".git/modules/**/hooks")),
        (".git/modules/config", None),
        (".git/worktrees/w/gitdir", Some(".git/worktrees/*/gitdir")),
        (".gitmodules", Some(".gitmodules")),
        (".claude/settings.json", Some(".claude")),
        ("a/.mcp.json", Some(".mcp.json")),
        (".vscode/tasks.json", Some(".vscode")),
        ("team.code-workspace", Some("*.code-workspace")),
        (".envrc", Some(".envrc")),
        (".ENVRC", Some(".envrc")),
        (".envrc.example", None),
        (".bashrc", Some(".bashrc")),
        (".config/fish/config.fish", Some(".config/fish")),
        ("config/fish", None),
        ("stockade.toml", Some("stockade.toml")),
        (".tool-versions", Some(".tool-versions")),
        (".config/mise.toml", Some("mise.toml")),
        (".config/direnv/direnvrc", Some(".config/direnv")),
        (".mvn/jvm.config", Some(".mvn/jvm.config")),
        (".mvn/extensions.xml", Some(".mvn/extensions.xml")),
        (".mvn/wrapper/maven-wrapper.properties", None),
        (".trae/settings.json", Some(".trae")),
        (".clinerules/hooks/PreToolUse", Some(".clinerules/hooks")),
        (".clinerules/style.md", None),
        (".cursorrules", None),
        (".windsurfrules", None),
        (".aider.chat.history.md", None),
        (".lefthook-local.yml", Some(".lefthook-local.yml")),
        (".git/rebase-merge/git-rebase-todo", Some(".git/rebase-merge/git-rebase-todo")),
        (".git/rebase-merge/done", None),
        ("AGENTS.md", None),
        ("CLAUDE.md", None),
        (".pnp.cjs", None),
        ("Makefile", None),
        ("package.json", None),
        (".github/workflows/ci.yml", None),
        ("", None),
    ] {
        assert_eq!(pattern(relative, Object::Any), expected, "{relative}");
        assert_eq!(pattern(&format!("x/y/{relative}"), Object::Any), expected, "{relative}");
    }
}

/// T6: a directory `.git` is for working in; a file `.git` sends Git elsewhere.
#[test]
fn a_git_file_is_protected_and_a_git_directory_is_not() {
    for (relative, object, expected) in [
        (".git", Object::File, Some(".git")),
        (".git", Object::Directory, None),
        (".git/index", Object::File, None),
        ("sub/.git", Object::File, Some(".git")),
        (".jj/repo", Object::File, Some(".jj/repo")),
        (".jj/repo", Object::Directory, None),
    ] {
        assert_eq!(pattern(relative, object), expected, "{relative} {object:?}");
    }
}

/// K227, T6: a repository without the name, in one piece or in two.
#[test]
fn a_repository_is_known_by_what_it_holds() {
    for (names, expected) in [
        (["HEAD", "config", "objects", "refs"].as_slice(), true),
        (&["HEAD", "commondir"], true),
        (&["head", "Objects", "REFS"], true),
        (&["HEAD", "objects"], false),
        (&["commondir", "objects", "refs"], false),
        (&[], false),
    ] {
        assert_eq!(is_repository(names.iter().map(|name| name.as_bytes())), expected, "{names:?}");
    }
}

#[test]
fn every_pattern_stands_once() {
    let mut patterns: Vec<_> = table().iter().map(|entry| entry.pattern).collect();
    patterns.sort_unstable();
    let twice: Vec<_> = patterns.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn what_cannot_be_probed_is_listed() {
    for entry in table() {
        let listed =
            directories_to_list().iter().any(|directory| entry.pattern.starts_with(directory));
        let by_suffix = entry.pattern.starts_with('*');
        assert_eq!(entry.probe_path().is_none(), listed || by_suffix, "{}", entry.pattern);
    }
}

/// K227, T50: a project's own file cannot name a protected path and so make it writable.
#[test]
fn only_the_user_can_name_a_protected_path() {
    for (granted, reach, path, expected) in [
        ("/p", Reach::BeneathProject, "/p/.git/hooks/x", Some(".git/hooks")),
        ("/p/.git", Reach::BeneathProject, "/p/.git/hooks/x", Some(".git/hooks")),
        ("/p/.git", Reach::Anywhere, "/p/.git/hooks/x", Some(".git/hooks")),
        ("/p/.git/hooks", Reach::BeneathProject, "/p/.git/hooks/x", Some(".git/hooks")),
        ("/p/.git/hooks", Reach::Anywhere, "/p/.git/hooks/x", None),
        ("/h/.config/nvim/lua/p", Reach::BeneathProject, "/h/.config/nvim/lua/p/a", None),
        (
            "/h/.claude/worktrees/p",
            Reach::BeneathProject,
            "/h/.claude/worktrees/p/.envrc",
            Some(".envrc"),
        ),
    ] {
        let rule = FsRule {
            access: FsAccess::ReadWrite,
            path: HostPath::new(granted).unwrap(),
            reach,
            origin: RuleOrigin::BuiltIn("test"),
        };
        let found = matches_inside(&rule, &HostPath::new(path).unwrap(), Object::File);
        assert_eq!(found.map(|entry| entry.pattern), expected, "{path} in {granted} {reach:?}");
    }
}
