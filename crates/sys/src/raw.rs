//! Calls that only an attacker makes: forbidden, foreign or malformed ones, for the attack suite.
//!
//! Every function here is safe to call and harmless where it succeeds: arguments that could load,
//! reboot, unmount or kill something are fixed to values that the kernel refuses on its own. The
//! launcher never uses this module.

mod abi;
mod handle;
mod ipc;
mod keys;
mod limits;
mod probe;
mod process;
mod terminal;

pub use abi::{call_through_i386, call_through_x32};
pub use handle::{FileHandle, name_to_handle, open_by_handle};
pub use ipc::{
    MessageQueue, PosixQueue, SharedMemory, read_message_queue, read_posix_queue,
    read_shared_memory,
};
pub use keys::{SessionKey, read_session_key};
pub use limits::{IDLE_IO, LimitCall, idle_io_of_user, io_priority, set_core_limit};
pub use probe::{Probe, landlock_version};
pub use process::{
    UpperBits, leave_namespaces, own_listener, queue_signal, raise_capabilities, read_memory,
    seize, signal_everything, signal_thread, socket, start_in_user_namespace, write_memory,
};
pub use terminal::{TerminalTrick, play_terminal_trick};

#[cfg(test)]
mod tests;
