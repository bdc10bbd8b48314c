//! Links by their text alone.

use super::link_leads_out;
use crate::path::TreePath;

/// T1: a link that leads out, or may, is flagged.
#[test]
fn links_that_may_lead_out_are_known_by_their_text() {
    let cases: [(&str, &[u8], bool); 9] = [
        ("link", b"file", false),
        ("a/link", b"../file", false),
        ("a/b/link", b"../../file", false),
        ("a/link", b"./b/c", false),
        ("link", b"../file", true),
        ("a/link", b"../../file", true),
        ("link", b"/etc/passwd", true),
        ("a/link", b"other/../..", true),
        ("a/b/link", b"other/../x", true),
    ];
    for (path, target, expected) in cases {
        let found = link_leads_out(&TreePath::parse(path.as_bytes()).unwrap(), target);
        assert_eq!(found, expected, "{path} -> {target:?}");
    }
}
