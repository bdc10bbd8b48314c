//! What appears behind links that were there: inside protected directories, and on the way to what
//! Git's configuration names.

use super::*;

/// A grant in which some links are older than the cage, and some paths had covers.
fn setting(files: &[&str], links: &[(&str, &str)], covered: &[&str]) -> Grant {
    let mut grant = Grant::with(files);
    for (target, path) in links {
        let path = grant.top.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }
    std::thread::sleep(Duration::from_millis(40));
    grant.began = Began::now();
    grant.at_start.covered = covered.iter().map(|path| host_path(&grant.top.join(path))).collect();
    grant
}

fn link(grant: &Grant, path: &str, target: &str) -> Link {
    let target = target.as_bytes().to_vec().into();
    Link { path: host_path(&grant.top.join(path)), target }
}

/// T79: a hook that leads nowhere is filled by whoever makes what it leads to.
#[test]
fn what_appears_behind_a_link_in_a_covered_directory_is_renamed() {
    let links = [
        ("../../scripts/hook", ".git/hooks/pre-commit"),
        ("../chain", ".claude/settings.json"),
        ("linked/settings", "chain"),
        ("real", "linked"),
        ("../tools", ".husky/tools"),
    ];
    let files = ["scripts/old", "real/old", ".git/HEAD"];
    let setting = || {
        let mut grant = setting(&files, &links, &[".git/hooks", ".claude", ".husky"]);
        let inside = [&links[..2], &links[4..]].concat();
        grant.at_start.links_inside =
            inside.iter().map(|(target, path)| link(&grant, path, target)).collect();
        grant
    };
    for (written, expected) in [
        ("scripts/hook", "moved scripts/hook"),
        ("scripts/other", ""),
        ("real/settings", "moved real/settings"),
        ("real/other", ""),
        ("tools/run", "moved tools"),
    ] {
        let grant = setting();
        write(&grant.top.join(written));
        assert_eq!(grant.sweep().join(","), expected, "{written}");
    }
    // A link on the way is led elsewhere, to something that is old.
    for (replaced, target) in [("chain", "scripts/old"), ("linked", "scripts")] {
        let grant = setting();
        std::fs::remove_file(grant.top.join(replaced)).unwrap();
        symlink(target, grant.top.join(replaced)).unwrap();
        assert_eq!(grant.sweep().join(","), format!("moved {replaced}"), "{replaced}");
    }
    assert!(setting().sweep().is_empty());
}

/// T79: links that a start did not come to, and those under a cover on the way to what is named.
#[test]
fn links_under_covers_are_followed() {
    let links = [
        ("../../../scripts/hook", ".claude/deep/er/link"),
        ("../../scripts/hooks", "vendor/git/hooks"),
    ];
    for (written, expected) in [
        ("scripts/hook", "moved scripts/hook"),
        ("scripts/hooks/pre-commit", "moved scripts/hooks"),
        ("scripts/other", ""),
    ] {
        let covered = [".claude", ".git/config", "vendor"];
        let grant = setting(&["scripts/old", ".git/config"], &links, &covered);
        let configuration = "[core]\nhooksPath = vendor/git/hooks\n";
        std::fs::write(grant.top.join(".git/config"), configuration).unwrap();
        write(&grant.top.join(written));
        assert_eq!(grant.sweep().join(","), expected, "{written}");
    }
}

/// T79: links of a directory that had no cover, for it lies deep.
#[test]
fn what_appears_behind_a_chain_is_renamed() {
    let links = [("../one", "a/b/c/d/e/.vscode/tasks.json"), ("two", "a/b/c/d/e/one")];
    let grant = setting(&["a/b/c/d/e/old"], &links, &[]);
    write(&grant.top.join("a/b/c/d/e/two"));
    assert_eq!(grant.sweep(), ["moved a/b/c/d/e/two"]);
}

/// T79, K227: a chain of links to a file that is not there yet; the reason is that of the name.
#[test]
fn the_reason_is_that_of_the_name_that_led_there() {
    let grant = setting(&["env/old"], &[("one", ".envrc"), ("env/dev", "one")], &[]);
    write(&grant.top.join("env/dev"));
    let found = sweep(
        &[host_path(&grant.top)],
        &grant.at_start,
        grant.began,
        "X",
        &mut Unreviewed::default(),
    );
    let text = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(found.len(), 1, "{text}");
    assert!(text.contains("env/dev") && text.contains("direnv"), "{text}");
}

/// T79, T6: a path of Git's configuration that is made during the run, behind a link.
#[test]
fn what_configuration_names_through_a_link_is_judged() {
    let configuration = "[core]\nhooksPath = linked/hooks\nfsmonitor = linked/../watch\n\
                         [include]\npath = ../more.conf\n[gpg]\nprogram = linked/sub/../sign\n";
    let links = [("real/deep", "linked"), ("settings/git", "more.conf")];
    for (written, expected) in [
        ("real/deep/hooks/pre-commit", "moved real/deep/hooks"),
        ("real/deep/other", ""),
        ("real/watch", "moved real/watch"),
        ("watch", ""),
        ("settings/git", "moved settings/git"),
        ("real/deep/sign", "moved real/deep/sign"),
    ] {
        let files = ["real/deep/sub/old", "settings/old", ".git/config"];
        let grant = setting(&files, &links, &[".git/config"]);
        std::fs::write(grant.top.join(".git/config"), configuration).unwrap();
        write(&grant.top.join(written));
        assert_eq!(grant.sweep().join(","), expected, "{written}");
    }
}

/// T79, T6: what a file behind a link names in turn.
#[test]
fn configuration_behind_a_link_is_read() {
    let files = ["settings/git", "real/old", ".git/config"];
    let grant = setting(&files, &[("settings", "linked")], &[".git/config", "settings/git"]);
    std::fs::write(grant.top.join(".git/config"), "[include]\npath = ../linked/git\n").unwrap();
    std::fs::write(grant.top.join("settings/git"), "[core]\nfsmonitor = ./watch\n").unwrap();
    write(&grant.top.join("watch"));
    assert_eq!(grant.sweep(), ["moved watch"]);
}

/// T79, T6: a repository that a `.git` file names through a link.
#[test]
fn a_repository_behind_a_link_is_judged() {
    for (written, expected) in [
        ("real/store/config.worktree", "moved real/store/config.worktree"),
        ("real/store/hooks/pre-commit", "moved real/store/hooks"),
        ("real/store/index.lock", ""),
    ] {
        let grant = setting(&["real/store/old", ".git"], &[("real", "linked")], &[".git"]);
        std::fs::write(grant.top.join(".git"), "gitdir: linked/store\n").unwrap();
        write(&grant.top.join(written));
        assert_eq!(grant.sweep().join(","), expected, "{written}");
    }
}

/// T79: a way that begins outside of the grant can lead into it.
#[test]
fn a_way_from_outside_is_followed_into_the_grant() {
    let mut grant = setting(&["scripts/old"], &[], &[]);
    let outside = grant.top.parent().unwrap().to_owned();
    symlink("grant", outside.join("alias")).unwrap();
    let target = outside.join("alias/scripts/hook");
    let path = host_path(&outside.join("hooks/pre-commit"));
    let target = target.as_os_str().as_bytes().to_vec().into();
    grant.at_start.links_inside = vec![Link { path, target }];
    write(&grant.top.join("scripts/hook"));
    assert_eq!(grant.sweep(), ["moved scripts/hook"]);
}

/// T7: links in a circle end, and a link that leads out of the grant is nobody's finding.
#[test]
fn circles_end() {
    let links = [("b", "a"), ("a", "b"), ("a", ".envrc"), ("/etc/passwd", ".bashrc")];
    let grant = setting(&["x"], &links, &[]);
    assert!(grant.sweep().is_empty());
}
