//! Directories of the host with a layer of ours above them, whoever shows them: the kernel's overlayfs, or a process of
//! ours where the kernel cannot. Describes; never looks at the host.

use serde::{Deserialize, Serialize};

use crate::{ByteString, GuestPath, Mapping, MountOp, OverlayPurpose, ServedFrom, SourceIndex};

/// What a process of ours needs to show one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedLayers {
    /// The directory below, which is only read.
    pub lower: SourceIndex,
    /// The directory that holds the layer, in the form of the kernel's.
    pub area: SourceIndex,
    /// Whose files below are readable as their owner's, where a privileged launcher says so.
    pub mapping: Mapping,
    /// Why it is there.
    pub purpose: OverlayPurpose,
    /// Why the kernel does not show it.
    pub why: NotByKernel,
    /// What is not shown, by its path below.
    pub hidden: Vec<ByteString>,
    /// What can be read and not changed.
    pub read_only: Vec<ByteString>,
}

/// Why the kernel cannot lay a layer over a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum NotByKernel {
    /// It belongs to somebody else, whose files cannot be copied up with their owner.
    OtherOwner {
        /// Whom it belongs to.
        uid: u32,
    },
    /// It belongs to a group that the cage cannot have.
    OtherGroup {
        /// Which.
        gid: u32,
    },
    /// Layers whose owners are mapped came with a later kernel.
    OldKernel,
    /// The directory of layers lies on a file system that can be no upper layer.
    LayerPlace,
}

impl NotByKernel {
    /// As the end of a sentence.
    pub fn reason(self) -> String {
        match self {
            Self::OtherOwner { uid } => {
                format!("the kernel cannot copy files of user {uid}, whom it belongs to")
            }
            Self::OtherGroup { gid } => {
                format!("the kernel cannot copy files of group {gid}, which it belongs to")
            }
            Self::OldKernel => "overlayfs takes mapped owners from Linux 5.19 on".to_owned(),
            Self::LayerPlace => {
                "overlayfs cannot write to the file system of the state directory".to_owned()
            }
        }
    }
}

/// A view with a layer, whoever shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'plan> {
    /// Where.
    pub at: &'plan GuestPath,
    /// The directory below.
    pub lower: SourceIndex,
    /// Why it is there.
    pub purpose: OverlayPurpose,
    /// Why a process of ours shows it; none where the kernel does.
    pub served: Option<&'plan NotByKernel>,
}

impl MountOp {
    /// The directory that the operation shows with a layer above it, by the kernel or by a process of ours.
    pub fn view(&self) -> Option<View<'_>> {
        if let Some(overlay) = self.overlay() {
            let (lower, purpose) = (overlay.lower, overlay.purpose);
            return Some(View { at: &overlay.at, lower, purpose, served: None });
        }
        let served = self.served()?;
        let layers = served.from.layers()?;
        let (lower, purpose) = (layers.lower, layers.purpose);
        Some(View { at: &served.at, lower, purpose, served: Some(&layers.why) })
    }
}

impl ServedFrom {
    /// The layers, if it is a view with one.
    pub fn layers(&self) -> Option<&ServedLayers> {
        match self {
            Self::Layers(layers) => Some(layers),
            Self::Store { .. } | Self::Remote(_) | Self::Inside(_) => None,
        }
    }
}
