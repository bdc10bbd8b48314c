//! How much of the gatekeeper one cage can have, and how long anything may take. Every bound of the
//! process is a constant of this file; nothing here is configuration.

use std::time::Duration;

/// Descriptors that the process wants to have: enough for as many cages as a daemon has by default, and
/// for several with all their connections.
pub const DESCRIPTORS: u64 = 1 << 17;
/// Of those, at most, descriptors that are not shared out among connections.
pub const DESCRIPTORS_UNCOUNTED: usize = 4_096;
/// Connections of one cage that no other can keep it from.
pub const OWN_CONNECTIONS: usize = 8;
/// How long a connection waits before it asks for its place again.
pub const NO_PLACE: Duration = Duration::from_millis(5);
/// Connections of one cage at a time, in whatever state.
pub const CONNECTIONS: usize = 16_384;
/// Of those, connections whose other side is still being looked up or dialled.
pub const DIALS: usize = 512;
/// Questions about names that may wait for an answer at a time.
pub const QUERIES_IN_FLIGHT: usize = 1_024;
/// Questions about names in one second for which the host's resolvers are asked; more are refused.
pub const ASKED_PER_SECOND: u32 = 2_000;
/// Questions about names in one second, whoever knows the answer; more wait in the kernel, which drops
/// what it has no room for.
pub const QUERIES_PER_SECOND: u32 = 50_000;
/// Questions that one socket takes before others get their turn.
pub const QUERIES_PER_TURN: u32 = 16;
/// How long a cage rests that has asked too much.
pub const REST: Duration = Duration::from_millis(1);
/// Connections for questions about names at a time; more wait in the listener's queue.
pub const QUERY_CONNECTIONS: usize = 64;
/// Events in one second; more are counted and not told.
pub const EVENTS_PER_SECOND: u32 = 100;
/// Different refused targets that are remembered for the summary.
pub const DENIED_TARGETS: usize = 128;
/// Connections that one listener takes before others get their turn.
pub const ACCEPTS_PER_TURN: usize = 4;
/// Connections in one second that a listener takes without leaving the processor between its turns.
pub const CONNECTIONS_IN_PASSING: u64 = 4_000;
/// How long it leaves the processor: as long as it takes to be seen to have left.
pub const BREATH: Duration = Duration::from_micros(10);
/// Chunks that one direction of a connection moves before others get their turn.
pub const CHUNKS_PER_TURN: usize = 8;
/// Pipes with data in them, of all cages together. Beyond that data is copied.
pub const PIPES: usize = 512;
/// Empty pipes that are kept for the next data.
pub const SPARE_PIPES: usize = 32;
/// What a pipe is asked to hold.
pub const PIPE_BYTES: usize = 512 * 1024;
/// What one call moves at most: as many whole packets of a cage's loopback as a pipe holds, because
/// what is left over would go as a small packet of its own.
pub const CHUNK: usize = 8 * 65_463;
/// What the kernel may hold back for a program that is slow to read, where it would by itself hold
/// megabytes: they leave the processor's cache before they are read, and the way there has no delay
/// that would need them.
pub const SEND_BUFFER: usize = 256 * 1024;
/// The same for the first connections of a cage: where few share the processors, the gatekeeper should
/// not have to wait for the program while the other side sends.
pub const SEND_BUFFER_OF_FEW: usize = 1024 * 1024;
/// How many connections of a cage are few.
pub const FEW: usize = 64;
/// A proxy client's words before the connection is made: a SOCKS request or an HTTP head.
pub const GREETING_BYTES: usize = 64 * 1024;
/// The head of an HTTP request, and a TLS hello.
pub const OPENING_BYTES: usize = 64 * 1024;

/// What the connections of one cage may hold back together, to look at it before it is passed on.
pub const HELD_BACK: usize = 16 * 1024 * 1024;
/// What each of them may hold back even so.
pub const HELD_BACK_ALWAYS: usize = 4 * 1024;

/// How long a connection for questions may be silent, or take for one of them.
pub const QUERY_IDLE: Duration = Duration::from_secs(10);
/// How long it is not told again that no resolver answers.
pub const UNREACHABLE_AGAIN: Duration = Duration::from_secs(10);
/// How long one address is dialled.
pub const CONNECT: Duration = Duration::from_secs(10);
/// How long a dial is alone before the next address is tried beside it (RFC 8305).
pub const NEXT_ADDRESS: Duration = Duration::from_millis(250);
/// How long all addresses of a target may take together.
pub const CONNECT_ALL: Duration = Duration::from_secs(30);
/// How long a proxy client may take to say what it wants.
pub const GREETING: Duration = Duration::from_secs(30);
/// How long a connection may stay silent in both directions.
pub const IDLE: Duration = Duration::from_secs(600);
/// How long a refused client may take to read its answer.
pub const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long the supervisor may take to read the account of a cage that is let go.
pub const ACCOUNT: Duration = Duration::from_secs(2);

/// How often a supervisor is told how much went through a cage's network, while that changes.
pub(crate) const PROGRESS: Duration = Duration::from_secs(1);
