//! What a compiled cage has at one path: the last mount that covers it decides, as it will in the
//! kernel. Reads the Plan; never looks at the host.

use cage::prepare::explain::PathVerdict;
use plan::{
    Access, BindPurpose, ByteString, GuestPath, HostPath, MountOp, OverlayPurpose, Plan,
    ServedLayers, TmpfsPurpose,
};

/// What the program inside finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// What the host has there.
    Host {
        /// How it may be used.
        verdict: PathVerdict,
    },
    /// Something that the cage's own tree is made of.
    Made {
        /// What it is, for a person.
        what: &'static str,
    },
    /// A memory file system of the cage's own, or its processes and devices.
    Own,
    /// A place inside a memory file system of the cage's own, which is empty at first.
    InsideOwn,
    /// Empty, in place of what the host has.
    Hidden,
    /// Nothing.
    Absent,
}

/// What the cage has at a path.
pub fn view(plan: &Plan, path: &HostPath) -> View {
    let at = GuestPath::same_as(path);
    let covering = plan.walls.mounts.iter().rfind(|operation| {
        if operation.is_mount() { at.is_within(operation.at()) } else { at == *operation.at() }
    });
    match covering {
        None if at == GuestPath::root() => View::Made { what: "the cage's own root, read-only" },
        None => View::Absent,
        Some(MountOp::Directory { .. }) => View::Made {
            what: "a directory of the cage's own, with nothing else of the host in it",
        },
        Some(MountOp::File { .. } | MountOp::Hosts { .. }) => {
            View::Made { what: "a file that the cage is given" }
        }
        Some(MountOp::Symlink { .. }) => View::Made { what: "a link of the base layer" },
        Some(MountOp::Bind(bind)) => of_bind(bind.purpose, bind.access),
        Some(MountOp::Overlay(overlay)) => View::Host { verdict: of_layer(overlay.purpose) },
        Some(MountOp::Tmpfs { purpose: TmpfsPurpose::Hidden, .. }) => View::Hidden,
        Some(MountOp::Tmpfs { at: tree, .. }) if at != *tree => View::InsideOwn,
        Some(MountOp::Served(served)) => match served.from.layers() {
            Some(layers) => in_layers(layers, &at, &served.at),
            None => View::Own,
        },
        Some(MountOp::Tmpfs { .. } | MountOp::Proc { .. } | MountOp::Devpts { .. }) => View::Own,
        Some(MountOp::SealReadOnly { .. }) => View::Own,
        Some(MountOp::Mask { .. } | MountOp::MaskIfPresent { .. }) => View::Hidden,
    }
}

fn of_layer(purpose: OverlayPurpose) -> PathVerdict {
    match purpose {
        OverlayPurpose::Workspace => PathVerdict::Cow,
        OverlayPurpose::Cache => PathVerdict::Cache,
    }
}

/// What a process of ours shows in a view: the deepest of the paths in it decides.
fn in_layers(layers: &ServedLayers, at: &GuestPath, top: &GuestPath) -> View {
    let around = |paths: &[ByteString]| {
        let places = paths.iter().filter_map(|path| top.join(path.as_bytes()).ok());
        places.filter(|place| at.is_within(place)).map(|place| place.as_bytes().len()).max()
    };
    let (hidden, read_only) = (around(&layers.hidden), around(&layers.read_only));
    if hidden.is_some() && hidden >= read_only {
        return View::Hidden;
    }
    let verdict = match read_only {
        Some(_) => PathVerdict::ReadOnly,
        None => of_layer(layers.purpose),
    };
    View::Host { verdict }
}

fn of_bind(purpose: BindPurpose, access: Access) -> View {
    let verdict = match (purpose, access) {
        (BindPurpose::Protected, _) => PathVerdict::Protected,
        (BindPurpose::Base | BindPurpose::Command, _) => PathVerdict::Base,
        (BindPurpose::Device, _) => PathVerdict::Private,
        (BindPurpose::Scratch | BindPurpose::Home, _) => return View::Own,
        (BindPurpose::Grant | BindPurpose::Pin, Access::ReadOnly) => PathVerdict::ReadOnly,
        (BindPurpose::Grant | BindPurpose::Pin, Access::ReadWrite) => PathVerdict::ReadWrite,
    };
    View::Host { verdict }
}
