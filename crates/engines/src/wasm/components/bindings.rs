//! The interfaces of WASI preview 2 as traits, made from the files in `wit`. What each handle stands for is a type beside this
//! file; whoever names a handle that is not there, or is something else, is ended by the engine.
#![allow(missing_docs, clippy::all, reason = "made by a macro")]

use super::codes::{FileFault, SocketFault, StreamFault};

wasmtime::component::bindgen!({
    path: "wit",
    world: "wasi:cli/command",
    imports: { default: trappable },
    trappable_error_type: {
        "wasi:io/streams.stream-error" => StreamFault,
        "wasi:filesystem/types.error-code" => FileFault,
        "wasi:sockets/network.error-code" => SocketFault,
    },
    with: {
        "wasi:io/error.error": super::codes::Failed,
        "wasi:io/poll.pollable": super::pollables::Pollable,
        "wasi:io/streams.input-stream": super::streams::InputStream,
        "wasi:io/streams.output-stream": super::streams::OutputStream,
        "wasi:filesystem/types.descriptor": super::descriptors::Descriptor,
        "wasi:filesystem/types.directory-entry-stream": super::listing::Listing,
        "wasi:cli/terminal-input.terminal-input": super::cli::Terminal,
        "wasi:cli/terminal-output.terminal-output": super::cli::Terminal,
        "wasi:sockets/network.network": super::network::Network,
        "wasi:sockets/tcp.tcp-socket": super::tcp::TcpSocket,
        "wasi:sockets/udp.udp-socket": super::udp::UdpSocket,
        "wasi:sockets/udp.incoming-datagram-stream": super::udp::Incoming,
        "wasi:sockets/udp.outgoing-datagram-stream": super::udp::Outgoing,
        "wasi:sockets/ip-name-lookup.resolve-address-stream": super::names::Addresses,
    },
});
