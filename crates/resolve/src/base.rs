//! The base layer: what a cage shows of the system whatever its policy grants. One table; each
//! entry is opened once, and one that this host does not have is left out. Never holds a file with
//! secrets: where such lie beside data (`/etc/ssl`), the data is named alone.

use plan::{ByteString, GuestPath, HostPath};
use policy::Commands;
use policy::facts::BaseEntry;
use rustix::fs::{CWD, FileType};
use rustix::io::Errno;

use super::ResolveError;
use super::open::{OpenFailure, Opener};
use super::similar::names_in;
use super::sources::Sources;

#[cfg(test)]
mod tests;

/// Opens the base layer for a choice of commands.
pub(super) fn resolve(
    commands: &Commands,
    opener: &Opener,
    sources: &mut Sources,
) -> Result<Vec<BaseEntry>, ResolveError> {
    let mut layer = Layer { opener, sources, entries: Vec::new() };
    let breadth = match commands {
        Commands::None => Breadth::Data,
        Commands::Listed(_) => Breadth::Programs,
        Commands::Base => Breadth::System,
    };
    if breadth == Breadth::System {
        layer.bind("/usr")?;
        for name in MERGED_INTO_USR {
            layer.link_or_bind(name)?;
        }
    }
    for (needed_from, path) in CONFIGURATION {
        if breadth >= *needed_from {
            layer.bind(path)?;
        }
    }
    if breadth == Breadth::System {
        layer.java_configuration()?;
    }
    for device in DEVICES {
        layer.device(device)?;
    }
    Ok(layer.entries)
}

/// How much of the system a cage shows. Ordered: each includes the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Breadth {
    /// Data that any program may read.
    Data,
    /// And what the loader of listed programs reads.
    Programs,
    /// And all of `/usr`.
    System,
}

struct Layer<'a> {
    opener: &'a Opener,
    sources: &'a mut Sources,
    entries: Vec<BaseEntry>,
}

impl Layer<'_> {
    /// Shows a host path, wherever its links lead, at its own place.
    fn bind(&mut self, path: &str) -> Result<(), ResolveError> {
        let opened = match self.opener.anywhere(&host_path(path)?) {
            Ok(opened) => opened,
            Err(failure) => return absent(failure, path),
        };
        // A path that an administrator has switched off is often a link to `/dev/null`.
        if !opened.status.is_directory() && !opened.status.is_regular_file() {
            return Ok(());
        }
        // Links of a base path can lead anywhere the administrator chose; not to control sockets.
        if policy::ungrantable::check(&opened.path, &[]).is_err()
            && !opened.path.is_within(&host_path(path)?)
        {
            return Ok(());
        }
        let source = self.sources.add(opened)?;
        self.entries.push(BaseEntry::Bind { at: guest_path(path)?, source });
        Ok(())
    }

    /// `/bin` and its like are links into `/usr` on most systems, and directories on some.
    fn link_or_bind(&mut self, path: &str) -> Result<(), ResolveError> {
        match rustix::fs::readlinkat(CWD, path, Vec::new()) {
            Ok(target) => {
                let target = ByteString::from(target.into_bytes());
                self.entries.push(BaseEntry::Symlink { at: guest_path(path)?, target });
                Ok(())
            }
            Err(Errno::NOENT) => Ok(()),
            // Not a link.
            Err(Errno::INVAL) => self.bind(path),
            Err(errno) => Err(ResolveError::kernel("readlink", path, errno)),
        }
    }

    /// The one kind of entry whose name holds a version: that of each installed runtime, which
    /// stand in a far smaller directory than `/etc`.
    fn java_configuration(&mut self) -> Result<(), ResolveError> {
        let mut versions: Vec<String> = names_in("/usr/lib/jvm")
            .into_iter()
            .filter_map(|name| String::from_utf8(name).ok())
            .filter_map(|name| {
                let (version, _) = name.strip_prefix("java-")?.split_once("-openjdk")?;
                Some(version.to_owned())
            })
            .collect();
        versions.sort();
        versions.dedup();
        versions.iter().try_for_each(|version| self.bind(&format!("/etc/java-{version}-openjdk")))
    }

    fn device(&mut self, device: &Device) -> Result<(), ResolveError> {
        let refused = |why| ResolveError::Device { path: device.path, why };
        let opened = match self.opener.anywhere(&host_path(device.path)?) {
            Ok(opened) => opened,
            Err(OpenFailure::Missing) if device.presence == Presence::Optional => return Ok(()),
            Err(OpenFailure::Kernel { call, errno }) => {
                return Err(ResolveError::kernel(call, device.path, errno));
            }
            Err(_) => return Err(refused("it cannot be opened")),
        };
        if opened.status.file_type != FileType::CharacterDevice {
            return Err(refused("it is not a character device"));
        }
        // A node of this name can stand for any device: the numbers are what counts.
        let number = (
            rustix::fs::major(opened.status.represents),
            rustix::fs::minor(opened.status.represents),
        );
        if number != device.number {
            return Err(refused("it stands for another device"));
        }
        let source = self.sources.add(opened)?;
        self.entries.push(BaseEntry::Device { at: guest_path(device.path)?, source });
        Ok(())
    }
}

/// Whether an entry that could not be opened may be left out: it is not there, or not for this
/// user. Anything else is told.
fn absent(failure: OpenFailure, path: &str) -> Result<(), ResolveError> {
    match failure {
        OpenFailure::Kernel { call, errno } => Err(ResolveError::kernel(call, path, errno)),
        _ => Ok(()),
    }
}

fn host_path(path: &str) -> Result<HostPath, ResolveError> {
    HostPath::new(path).map_err(|_| ResolveError::kernel("open", path, Errno::INVAL))
}

fn guest_path(path: &str) -> Result<GuestPath, ResolveError> {
    GuestPath::new(path).map_err(|_| ResolveError::kernel("open", path, Errno::INVAL))
}

/// The names beside `/usr` that belong to it.
const MERGED_INTO_USR: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// What of `/etc` is data that programs need and that tells nothing about the user. The rest of
/// `/etc` (passwd, group, hosts, …) is written for each cage by the compiler.
const CONFIGURATION: &[(Breadth, &str)] = &[
    // Certificates and the choice of ciphers; never `/etc/ssl/private`.
    (Breadth::Data, "/etc/ssl/certs"),
    (Breadth::Data, "/etc/ssl/openssl.cnf"),
    (Breadth::Data, "/etc/ca-certificates"),
    (Breadth::Data, "/etc/pki"),
    (Breadth::Data, "/etc/crypto-policies"),
    // Time, numbers and types.
    (Breadth::Data, "/etc/localtime"),
    (Breadth::Data, "/etc/timezone"),
    (Breadth::Data, "/etc/services"),
    (Breadth::Data, "/etc/protocols"),
    (Breadth::Data, "/etc/mime.types"),
    (Breadth::Data, "/etc/terminfo"),
    // The loader of dynamically linked programs.
    (Breadth::Programs, "/etc/ld.so.cache"),
    (Breadth::System, "/etc/ld.so.conf"),
    (Breadth::System, "/etc/ld.so.conf.d"),
    // Defaults of programs in `/usr`. A list of commands brings the links of its own programs.
    (Breadth::System, "/etc/alternatives"),
    (Breadth::System, "/etc/inputrc"),
    (Breadth::System, "/etc/bash.bashrc"),
    (Breadth::System, "/etc/fonts"),
    (Breadth::System, "/etc/vim"),
];

/// A device node of the minimal `/dev`, with the numbers of the kernel's `devices.txt`. V15
struct Device {
    path: &'static str,
    number: (u32, u32),
    presence: Presence,
}

#[derive(PartialEq, Eq)]
enum Presence {
    Required,
    /// Some containers have none.
    Optional,
}

const DEVICES: &[Device] = &[
    Device { path: "/dev/null", number: (1, 3), presence: Presence::Required },
    Device { path: "/dev/zero", number: (1, 5), presence: Presence::Required },
    Device { path: "/dev/full", number: (1, 7), presence: Presence::Required },
    Device { path: "/dev/random", number: (1, 8), presence: Presence::Required },
    Device { path: "/dev/urandom", number: (1, 9), presence: Presence::Required },
    Device { path: "/dev/tty", number: (5, 0), presence: Presence::Optional },
];
