//! The base layer of this host: what it must show and must never show.

use std::collections::HashSet;

use super::*;

fn layer(commands: &Commands) -> (Vec<BaseEntry>, Vec<plan::Source>) {
    let opener = Opener::new().unwrap();
    let mut sources = Sources::default();
    let entries = resolve(commands, &opener, &mut sources).unwrap();
    (entries, sources.into_parts().1)
}

fn at(entry: &BaseEntry) -> &GuestPath {
    match entry {
        BaseEntry::Bind { at, .. }
        | BaseEntry::Symlink { at, .. }
        | BaseEntry::Device { at, .. } => at,
    }
}

fn shows(entries: &[BaseEntry], path: &str) -> bool {
    entries.iter().any(|entry| at(entry).as_bytes() == path.as_bytes())
}

/// K221
#[test]
fn the_whole_system_is_shown_with_its_links() {
    let (entries, _) = layer(&Commands::Base);
    assert!(shows(&entries, "/usr"));
    assert!(shows(&entries, "/bin"));
    assert!(shows(&entries, "/etc/ld.so.cache"));
    let places: HashSet<_> = entries.iter().map(at).collect();
    assert_eq!(places.len(), entries.len());
}

/// V11: nothing of `/usr` without all of it.
#[test]
fn a_list_of_commands_or_none_shows_no_tree_of_programs() {
    for commands in [Commands::None, Commands::Listed(["ls".to_owned()].into())] {
        let (entries, _) = layer(&commands);
        for absent in ["/usr", "/bin", "/lib", "/lib64", "/etc/alternatives"] {
            assert!(!shows(&entries, absent), "{absent}");
        }
        assert!(shows(&entries, "/dev/null"));
        let is_listed = matches!(commands, Commands::Listed(_));
        assert_eq!(shows(&entries, "/etc/ld.so.cache"), is_listed);
    }
}

/// T16: data, never what tells about users or holds keys.
#[test]
fn nothing_private_is_in_the_table() {
    let private = [
        "/etc",
        "/etc/ssl",
        "/etc/ssl/private",
        "/etc/passwd",
        "/etc/shadow",
        "/etc/group",
        "/etc/hosts",
        "/etc/hostname",
        "/etc/machine-id",
        "/etc/profile",
        "/etc/resolv.conf",
        "/etc/gitconfig",
        "/home",
        "/root",
        "/var",
        "/run",
    ];
    for path in private {
        assert!(!CONFIGURATION.iter().any(|(_, shown)| *shown == path), "{path}");
    }
}

/// V15
#[test]
fn devices_are_those_of_the_list() {
    let (entries, sources) = layer(&Commands::None);
    let devices = entries.iter().filter_map(|entry| match entry {
        BaseEntry::Device { at, source } => Some((at, source)),
        _ => None,
    });
    let devices: Vec<_> = devices.collect();
    assert!((5..=6).contains(&devices.len()));
    for (at, source) in devices {
        let source = &sources[usize::try_from(source.0).unwrap()];
        assert_eq!(source.kind, plan::FileKind::File);
        assert_eq!(source.path.as_bytes(), at.as_bytes());
    }
}

/// A time zone is a link into `/usr` on most systems; the file itself is shown.
#[test]
fn what_a_link_leads_to_is_shown_in_its_place() {
    let (entries, sources) = layer(&Commands::Base);
    let localtime = entries.iter().find(|entry| at(entry).as_bytes() == b"/etc/localtime");
    if let Some(BaseEntry::Bind { source, .. }) = localtime {
        let source = &sources[usize::try_from(source.0).unwrap()];
        let real = std::fs::canonicalize("/etc/localtime").unwrap();
        assert_eq!(source.path.as_path(), real);
        assert_eq!(source.kind, plan::FileKind::File);
    }
}
