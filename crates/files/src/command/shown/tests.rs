//! How files look to a person.

use super::{amount, date, drawn, lines};
use crate::command::progress::line;
use crate::copy::Copied;
use crate::entry::Entry;

fn entry(name: &str, kind: &'static str, size: u64) -> Entry {
    Entry {
        name: name.into(),
        kind,
        size,
        mode: if kind == "directory" { 0o1777 } else { 0o4640 },
        uid: 1,
        gid: 1,
        modified: 1_763_539_200,
        target: (kind == "link").then(|| "a".into()),
    }
}

#[test]
fn lists_and_trees_are_drawn() {
    let all = [
        entry("d", "directory", 0),
        entry("d/a\u{1b}[2J", "file", 12),
        entry("d/e", "directory", 0),
        entry("d/e/f", "file", 1),
        entry("l", "link", 1),
    ];
    let drawn = drawn(&all);
    assert_eq!(
        drawn,
        format!("├── d/\n│   ├── {}\n│   └── e/\n│       └── f\n└── l -> a\n", r"a\\x1b[2J")
            .replace(r"\\x1b", &policy::shown::shown(plan::ByteString::from("\u{1b}")).to_string())
    );
    assert!(!drawn.contains('\u{1b}'));
    let listed = lines(&all);
    assert!(listed.starts_with("drwxrwxrwt  0 2025-11-19 08:00 d/\n-rwSr-----"), "{listed}");
}

#[test]
fn amounts_and_dates_are_readable() {
    assert_eq!(amount(1023), "1023 B");
    assert_eq!(amount(1536), "1.5 KiB");
    assert_eq!(amount(5 << 30), "5.0 GiB");
    assert_eq!(date(0), "1970-01-01 00:00");
    assert_eq!(date(951_782_400), "2000-02-29 00:00");
    assert_eq!(date(-1), "1969-12-31 23:59");
    let copied = Copied { bytes: 512, files: 1, ..Copied::default() };
    assert!(line(&copied, Some(1024)).starts_with("[###############               ] 512 B of"));
    assert_eq!(line(&copied, None), "512 B, 1 files");
}
