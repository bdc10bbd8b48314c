//! The one line, exactly.

use super::*;
use crate::sample::{bind, directory, plan};
use crate::{Access, GatekeeperPlan, LimitsPlan};

/// K57
#[test]
fn the_line_says_it_all() {
    let closed = plan(Vec::new());
    assert_eq!(
        closed.one_line(),
        "cage[default@01JCQZX8] fs=none net=none state=ephemeral mem=unlimited walltime=unlimited"
    );
    let mut full = plan(vec![
        directory("/a"),
        bind(0, "/a", Access::ReadOnly, BindPurpose::Grant),
        bind(0, "/a/b", Access::ReadWrite, BindPurpose::Grant),
        bind(0, "/a/c", Access::ReadWrite, BindPurpose::Pin),
        directory("/scratch"),
        bind(3, "/scratch", Access::ReadWrite, BindPurpose::Scratch),
    ]);
    full.walls.network = NetworkPlan::Gatekeeper(GatekeeperPlan {
        allow: vec!["*.a.test:443".parse().unwrap(), "b.test".parse().unwrap()],
        deny: vec!["c.a.test".parse().unwrap()],
        reasons: [("c.a.test".to_owned(), "a reason".to_owned())].into(),
        host_ports: vec![5432],
        publish: vec![8080, 8081],
    });
    full.walls.limits =
        LimitsPlan { memory_mb: Some(512), walltime_sec: Some(60), ..LimitsPlan::default() };
    assert_eq!(
        full.one_line(),
        "cage[default@01JCQZX8] fs=ro:/a,rw:/a/b net=*.a.test:443,b.test,!c.a.test,\
         host[5432],publish[8080],publish[8081] state=scratch mem=512mb walltime=60s"
    );
}

/// K57, T52, T53
#[test]
fn odd_names_stay_in_their_field() {
    let word = |bytes: &[u8]| {
        let mut text = String::new();
        push_word(&mut text, bytes);
        text
    };
    for (name, shown) in [
        ("/a b", "/a\\x20b"),
        ("/a,rw:/b", "/a\\x2crw:/b"),
        ("/a\nb", "/a\\x0ab"),
        ("/a\u{202e}b", "/a\\xe2\\x80\\xaeb"),
        ("/a=b", "/a\\x3db"),
        ("/a\\x20b", "/a\\x5cx20b"),
        ("/é", "/é"),
    ] {
        assert_eq!(word(name.as_bytes()), shown);
    }
    assert_eq!(word(b"/\xff"), "/\\xff");
    assert_eq!(one_phrase("/a b\u{1b}[1m".as_bytes()), "/a b\\x1b[1m");
}
