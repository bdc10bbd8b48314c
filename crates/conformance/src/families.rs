//! The suite: a table for each family of system calls, in `families/`. Each case begins with an empty file system whose
//! root is root's, mode 0755.

use crate::operation::System;
use crate::script::{self, Case};

/// Every family and its table.
const FAMILIES: &[(&str, &str)] = &[
    ("chmod", include_str!("families/chmod.txt")),
    ("chown", include_str!("families/chown.txt")),
    ("errors", include_str!("families/errors.txt")),
    ("link", include_str!("families/link.txt")),
    ("mkdir", include_str!("families/mkdir.txt")),
    ("open", include_str!("families/open.txt")),
    ("rename", include_str!("families/rename.txt")),
    ("rmdir", include_str!("families/rmdir.txt")),
    ("symlink", include_str!("families/symlink.txt")),
    ("truncate", include_str!("families/truncate.txt")),
    ("unlink", include_str!("families/unlink.txt")),
    ("utimensat", include_str!("families/utimensat.txt")),
    ("xattr", include_str!("families/xattr.txt")),
];

/// What did not come as the tables say, of a system that `make` makes anew for each case.
pub fn failures<Made: System>(make: &mut dyn FnMut() -> Made) -> Vec<String> {
    let mut failures = Vec::new();
    for_each(|family, case| {
        let mut system = make();
        for step in &case.steps {
            let outcome = system.run(&step.operation);
            if !step.expected.fits(&outcome) {
                let name = &case.name;
                failures.push(format!("{family}: {name}: `{}` came to {outcome:?}", step.line));
            }
        }
    });
    failures
}

/// Holds a system to the tables.
///
/// # Panics
/// If anything else comes than they say.
pub fn check<Made: System>(what: &str, make: &mut dyn FnMut() -> Made) {
    let failures = failures(make);
    assert!(failures.is_empty(), "{what}:\n{}", failures.join("\n"));
}

/// How many operations there are in all.
pub fn length() -> usize {
    let mut length = 0;
    for_each(|_, case| length += case.steps.len());
    length
}

fn for_each(mut see: impl FnMut(&str, &Case)) {
    for (family, text) in FAMILIES {
        for case in script::read(text) {
            see(family, &case);
        }
    }
}
