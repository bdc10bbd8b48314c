//! Where this process's own control groups are: `/proc/self/cgroup` and `/proc/self/mountinfo`, read
//! together. Pure; what it finds still has to be opened, and may turn out to be something else.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

#[cfg(test)]
mod tests;

/// What this process belongs to, and where that is mounted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hierarchies {
    memberships: Vec<Membership>,
    mounts: Vec<Mount>,
}

/// A process's own group in one hierarchy: where that is mounted, and the way from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) mount_point: PathBuf,
    pub(crate) relative: PathBuf,
}

impl Place {
    /// For a person.
    pub(crate) fn path(&self) -> PathBuf {
        if self.relative.as_os_str().is_empty() {
            self.mount_point.clone()
        } else {
            self.mount_point.join(&self.relative)
        }
    }
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The kernel does not have the controller in such a hierarchy.
    Unknown,
    /// The hierarchy is not mounted, or not the part of it in which this process is.
    NotMounted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Membership {
    /// Empty for version 2.
    controllers: Vec<String>,
    path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    root: PathBuf,
    point: PathBuf,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    One { options: Vec<String> },
    Two,
}

impl Hierarchies {
    /// Reads the two texts. Lines that it does not understand are not used.
    pub(crate) fn parse(cgroup: &[u8], mountinfo: &[u8]) -> Self {
        let lines = |text: &[u8]| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let (groups, mounts): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (lines(cgroup), lines(mountinfo));
        Self {
            memberships: groups.iter().filter_map(|line| membership(line)).collect(),
            mounts: mounts.iter().filter_map(|line| mount(line)).collect(),
        }
    }

    /// This process's own group in the hierarchy of version 1 that has the controller.
    pub(crate) fn version_one(&self, controller: &str) -> Result<Place, Absent> {
        let has = |names: &[String]| names.iter().any(|name| name == controller);
        let membership = self.memberships.iter().find(|one| has(&one.controllers));
        let membership = membership.ok_or(Absent::Unknown)?;
        self.place(membership, |kind| matches!(kind, Kind::One { options } if has(options)))
    }

    /// This process's own group of version 2.
    pub(crate) fn version_two(&self) -> Result<Place, Absent> {
        let membership = self.memberships.iter().find(|one| one.controllers.is_empty());
        let membership = membership.ok_or(Absent::Unknown)?;
        self.place(membership, |kind| *kind == Kind::Two)
    }

    fn place(
        &self,
        membership: &Membership,
        fits: impl Fn(&Kind) -> bool,
    ) -> Result<Place, Absent> {
        // A later mount covers an earlier one.
        let mounts = self.mounts.iter().rev().filter(|mount| fits(&mount.kind));
        let place = mounts.filter_map(|mount| {
            let relative = membership.path.strip_prefix(&mount.root).ok()?;
            // Outside of the group namespace the kernel writes a path with `..`.
            let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
            let (mount_point, relative) = (mount.point.clone(), relative.to_owned());
            is_plain.then_some(Place { mount_point, relative })
        });
        place.into_iter().next().ok_or(Absent::NotMounted)
    }
}

/// `4:memory:/path`, or `0::/path` for version 2.
fn membership(line: &[u8]) -> Option<Membership> {
    let mut fields = line.splitn(3, |byte| *byte == b':');
    let _hierarchy = fields.next()?;
    let controllers = words(fields.next()?);
    let path = path(fields.next()?)?;
    Some(Membership { controllers, path })
}

/// `32 31 0:29 ROOT POINT options … - cgroup source super,options`, with blanks of paths as octal
/// escapes (proc_pid_mountinfo(5)).
fn mount(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let root = path(&unescaped(fields.get(3)?))?;
    let point = path(&unescaped(fields.get(4)?))?;
    let separator = fields.iter().skip(6).position(|field| *field == b"-")?.checked_add(6)?;
    let after = |offset: usize| fields.get(separator.checked_add(offset)?).copied();
    let kind = match after(1)? {
        b"cgroup" => Kind::One { options: words(after(3)?) },
        b"cgroup2" => Kind::Two,
        _ => return None,
    };
    Some(Mount { root, point, kind })
}

/// Only an absolute path is one.
fn path(bytes: &[u8]) -> Option<PathBuf> {
    let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
    Path::is_absolute(&path).then_some(path)
}

fn words(bytes: &[u8]) -> Vec<String> {
    let words = bytes.split(|byte| *byte == b',').filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                let digit = |byte: &u8| byte.wrapping_sub(b'0');
                plain.push(digit(a) << 6 | digit(b) << 3 | digit(c));
                rest = after.get(3..).unwrap_or_default();
            }
            _ => plain.push(*first),
        }
    }
    plain
}
