//! Tables of hints.

use super::*;

fn host(path: &str) -> HostPath {
    HostPath::new(path).unwrap()
}

/// M37, M38, M43: where a hint is cut, and whether it means a directory.
#[test]
fn a_hint_has_a_root() {
    for (text, root, directory) in [
        ("/a/b", "/a/b", false),
        ("/a/b/", "/a/b", true),
        ("//a//./b", "/a/b", false),
        ("/a/*/b", "/a", true),
        ("/a/b*", "/a", true),
        ("/a/?x/y", "/a", true),
        ("/a/[xy]", "/a", true),
        ("/a/{x,y}/z", "/a", true),
        ("/**", "/", true),
        ("/", "/", true),
        ("~", "/home/u", false),
        ("~/", "/home/u", true),
        ("~/**", "/home/u", true),
        ("~/a b/c", "/home/u/a b/c", false),
        ("/a/~/b", "/a/~/b", false),
        ("host:/tmp/x", "/tmp/x", false),
    ] {
        let ReadPath::Hint(hint) = read_path(text) else { panic!("{text}") };
        assert_eq!(hint.root(Some(&host("/home/u"))), Some(host(root)), "{text}");
        assert_eq!(hint.directory, directory, "{text}");
        assert_eq!(hint.written, text);
    }
}

/// M46
#[test]
fn some_hints_say_nothing_and_some_are_refused() {
    for text in ["", "a", "./a", "*", "**/a", "~u", "~u/a", "$HOME/a", "host:a", "host:"] {
        assert!(matches!(read_path(text), ReadPath::Ignored(_)), "{text}");
    }
    let long = format!("/{}", "a/".repeat(3000));
    for text in ["/..", "/a/../b", "~/..", "~/a/**/../b", "/a\0", "/a\nb", "/\u{85}", &long] {
        assert!(matches!(read_path(text), ReadPath::Refused(_)), "{text}");
    }
}

/// M23
#[test]
fn what_lies_under_tmp_is_private() {
    for (text, private) in [
        ("/tmp", true),
        ("/tmp/**", true),
        ("/tmp/x", true),
        ("/var/tmp/x", true),
        ("/tmpx", false),
        ("/var", false),
        ("~/tmp", false),
        ("host:/tmp/x", false),
    ] {
        let ReadPath::Hint(hint) = read_path(text) else { panic!("{text}") };
        assert_eq!(hint.is_private(), private, "{text}");
    }
}

#[test]
fn without_a_home_nothing_in_it_has_a_root() {
    let ReadPath::Hint(hint) = read_path("~/notes/**") else { panic!() };
    assert_eq!(hint.root(None), None);
    assert_eq!(roots([&hint], None), Vec::<HostPath>::new());
}
