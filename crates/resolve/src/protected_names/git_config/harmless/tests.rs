//! Which configurations start nothing, and every way to hide one that does.

use super::starts_nothing;

fn check(text: &str, expected: bool) {
    let is_inside = |path: &[u8]| path.starts_with(b"../");
    assert_eq!(starts_nothing(text.as_bytes(), is_inside), expected, "{text}");
}

/// K227: what `init`, `clone`, `worktree add` and `submodule add` write.
#[test]
fn new_repositories_start_nothing() {
    check("", true);
    check(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
         \tlogallrefupdates = true\n[remote \"origin\"]\n\turl = https://example.com/a.git\n\
         \tfetch = +refs/heads/*:refs/remotes/origin/*\n\
         [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        true,
    );
    check("[core]\n\tworktree = ../../../sub\n[submodule \"a.b\"]\n\tactive = true\n", true);
    check("[submodule \"x\"]\n\tpath = x\n\turl = ../x.git\n\tupdate = rebase\n", true);
    for url in ["git@example.com:a/b.git", "ssh://[::1]/a", "/srv/a::b", "../up", "C:/x"] {
        check(&format!("[remote \"o\"]\n\turl = {url}\n"), true);
    }
}

/// K227, T6
#[test]
fn what_starts_something_is_not_harmless() {
    for text in [
        "[core]\n\tfsmonitor = ./x\n",
        "[core]\n\tfsmonitor\n",
        "[core] fsmonitor = x",
        "[CORE]\n\tFsMonitor = x\n",
        "[core]\n\tbare = false\n\thooksPath = h\n",
        "[core \"x\"]\n\tsshCommand = x\n",
        "[include]\n\tpath = more\n",
        "[includeIf \"gitdir:/\"]\n\tpath = more\n",
        "[filter \"x\"]\n\tclean = x\n",
        "[alias]\n\tst = !x\n",
        "[credential]\n\thelper = x\n",
        "[core]\n\tworktree = /home/me\n",
        "[remote \"o\"]\n\turl = ext::sh -c x\n",
        "[remote \"o\"]\n\tpushurl = foo::x\n",
        "[remote \"o\"]\n\turl = -uexec\n",
        "[remote \"o\"]\n\turl = ssh://-oProxyCommand=x/y\n",
        "[remote \"o\"]\n\turl = https://x\n\tuploadpack = x\n",
        "[submodule \"x\"]\n\tupdate = !x\n",
        "[merge \"x\"]\n\tdriver = x\n",
        "[url \"ext::x\"]\n\tinsteadOf = https:\n",
        "[something]\n\tnew = x\n",
        "# [core]\n; x\n[core]\nbare = \"a\\\nb\"\npager = x\n",
        "changed",
    ] {
        check(text, false);
    }
}
