//! Ways over real links.

use std::os::unix::fs::symlink;
use std::path::Path;

use policy::{FsAccess, FsRule};

use super::*;
use crate::fixture::{host_path, own_rule};

fn traversal(top: &Path, relative: &str) -> (String, bool, Vec<String>) {
    let below = |path: &HostPath| {
        path.as_path()
            .strip_prefix(top)
            .map_or_else(|_| path.to_string(), |below| below.display().to_string())
    };
    let traversal = Traversal::to(&host_path(top.join(relative)));
    (below(&traversal.place), traversal.is_whole, traversal.links.iter().map(below).collect())
}

#[test]
fn ways_lead_where_the_kernel_leads() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(top.join("real/below")).unwrap();
    std::fs::write(top.join("real/file"), "").unwrap();
    symlink("real", top.join("one")).unwrap();
    symlink("../one/below/..", top.join("real/two")).unwrap();
    symlink(top.join("real/two/file"), top.join("three")).unwrap();
    symlink("missing/name", top.join("dangling")).unwrap();
    symlink("circle", top.join("circle")).unwrap();
    let no_links = Vec::new;
    let links = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let cases = [
        ("real/below", ("real/below".to_owned(), true, no_links())),
        ("real/below/none/more", ("real/below".to_owned(), false, no_links())),
        ("real/file/none", ("real/file".to_owned(), false, no_links())),
        ("one/below", ("real/below".to_owned(), true, links(&["one"]))),
        ("one/two/file", ("real/file".to_owned(), true, links(&["one", "real/two", "one"]))),
        ("three", ("real/file".to_owned(), true, links(&["three", "real/two", "one"]))),
        ("dangling", (String::new(), false, links(&["dangling"]))),
    ];
    for (relative, expected) in cases {
        assert_eq!(traversal(&top, relative), expected, "{relative}");
        let real = top.join(relative).canonicalize();
        assert_eq!(real.is_ok(), expected.1, "{relative}");
    }
    let (_, is_whole, links) = traversal(&top, "circle");
    assert_eq!((is_whole, links.len()), (false, MOST_LINKS));
}

#[test]
fn a_link_is_loose_where_its_directory_can_be_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(top.join("open/closed")).unwrap();
    std::fs::create_dir(top.join("target")).unwrap();
    for link in ["open/link", "open/closed/link", "link"] {
        symlink(top.join("target"), top.join(link)).unwrap();
    }
    let rules: Vec<FsRule> = vec![
        own_rule(FsAccess::ReadWrite, top.join("open")),
        own_rule(FsAccess::ReadOnly, top.join("open/closed")),
    ];
    let access = AccessMap::new(&rules);
    let is_loose = |relative: &str| {
        Traversal::to(&host_path(top.join(relative))).loose_link(&access).is_some()
    };
    assert!(is_loose("open/link"));
    assert!(!is_loose("open/closed/link"));
    assert!(!is_loose("link"));
}
