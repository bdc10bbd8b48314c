//! Lists of a rebase, with and without commands. Starts no Git.

use policy::protected::table;

use super::*;

/// K227, T6
#[test]
fn only_what_runs_a_command_counts() {
    for (kind, text, expected) in [
        (Kind::List, "pick 1234 exec\nfixup 1\n", false),
        (Kind::List, "pick 1234\nexec make\n", true),
        (Kind::List, "  \tx make", true),
        (Kind::List, "x\tmake\r\n", true),
        (Kind::List, "# x make\nexecute\n", false),
        (Kind::List, "", false),
        (Kind::Options, "ours\n", false),
        (Kind::Options, "[options]\n\tstrategy = a/b\n", true),
    ] {
        assert_eq!(runs_something(kind, text.as_bytes()), expected, "{kind:?} {text:?}");
    }
}

#[test]
fn the_table_names_all_of_them() {
    for (pattern, expected) in [
        (".git/rebase-merge/git-rebase-todo", true),
        (".git/rebase-merge/strategy", true),
        (".git/sequencer/todo", true),
        (".git/sequencer/opts", true),
        (".git/worktrees/*/rebase-merge/git-rebase-todo", true),
        (".git/rebase-apply", false),
        (".git/hooks", false),
        (".vscode", false),
    ] {
        let entry = table().iter().find(|entry| entry.pattern == pattern).unwrap();
        assert_eq!(kind(entry).is_some(), expected, "{pattern}");
    }
}
