//! The filters of processes of ours beside a cage, one for each kind. No policy can ask for one.

use super::{
    Arch, DIALER_AARCH64_WITHOUT_NOTIFY, DIALER_X86_64_WITHOUT_NOTIFY,
    GATEKEEPER_AARCH64_WITHOUT_NOTIFY, GATEKEEPER_X86_64_WITHOUT_NOTIFY,
    LAYER_SERVER_AARCH64_WITHOUT_NOTIFY, LAYER_SERVER_X86_64_WITHOUT_NOTIFY, Program,
    REMOTE_SERVER_AARCH64_WITHOUT_NOTIFY, REMOTE_SERVER_X86_64_WITHOUT_NOTIFY,
    STORE_SERVER_AARCH64_WITHOUT_NOTIFY, STORE_SERVER_X86_64_WITHOUT_NOTIFY,
};

/// A process of ours beside a cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// Serves the sockets of cages, and dials for them.
    Gatekeeper,
    /// Serves a mount from a store in a file.
    StoreServer,
    /// Serves a directory with a layer above it.
    LayerServer,
    /// Serves a mount from a store far away, on connections that it is handed.
    RemoteServer,
    /// Connects to that store.
    Dialer,
}

impl Helper {
    /// Its name, in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gatekeeper => "gatekeeper",
            Self::StoreServer | Self::LayerServer | Self::RemoteServer => "file server",
            Self::Dialer => "dialer",
        }
    }

    /// Its filter for the architecture that this program was compiled for.
    pub fn filter(self) -> Program {
        self.filter_for(Arch::NATIVE)
    }

    pub(super) fn filter_for(self, arch: Arch) -> Program {
        Program::embedded(match (self, arch) {
            (Self::Gatekeeper, Arch::X86_64) => GATEKEEPER_X86_64_WITHOUT_NOTIFY,
            (Self::Gatekeeper, Arch::Aarch64) => GATEKEEPER_AARCH64_WITHOUT_NOTIFY,
            (Self::StoreServer, Arch::X86_64) => STORE_SERVER_X86_64_WITHOUT_NOTIFY,
            (Self::StoreServer, Arch::Aarch64) => STORE_SERVER_AARCH64_WITHOUT_NOTIFY,
            (Self::LayerServer, Arch::X86_64) => LAYER_SERVER_X86_64_WITHOUT_NOTIFY,
            (Self::LayerServer, Arch::Aarch64) => LAYER_SERVER_AARCH64_WITHOUT_NOTIFY,
            (Self::RemoteServer, Arch::X86_64) => REMOTE_SERVER_X86_64_WITHOUT_NOTIFY,
            (Self::RemoteServer, Arch::Aarch64) => REMOTE_SERVER_AARCH64_WITHOUT_NOTIFY,
            (Self::Dialer, Arch::X86_64) => DIALER_X86_64_WITHOUT_NOTIFY,
            (Self::Dialer, Arch::Aarch64) => DIALER_AARCH64_WITHOUT_NOTIFY,
        })
    }
}
