//! `wasi:http` as traits, made from the files in `wit`; what it uses of the other interfaces is what those have.
#![allow(missing_docs, clippy::all, reason = "made by a macro")]

use super::super::codes::{HeaderFault, HttpFault};

wasmtime::component::bindgen!({
    path: "wit",
    world: "stockade:guest/requests",
    imports: { default: trappable },
    trappable_error_type: {
        "wasi:http/types.error-code" => HttpFault,
        "wasi:http/types.header-error" => HeaderFault,
    },
    with: {
        "wasi:io": super::super::bindings::wasi::io,
        "wasi:clocks": super::super::bindings::wasi::clocks,
        "wasi:http/types.fields": super::fields::Fields,
        "wasi:http/types.outgoing-request": super::outgoing::OutgoingRequest,
        "wasi:http/types.request-options": super::outgoing::Options,
        "wasi:http/types.outgoing-body": super::outgoing::OutgoingBody,
        "wasi:http/types.future-incoming-response": super::incoming::FutureResponse,
        "wasi:http/types.incoming-response": super::incoming::IncomingResponse,
        "wasi:http/types.incoming-body": super::incoming::IncomingBody,
        "wasi:http/types.future-trailers": super::incoming::FutureTrailers,
        "wasi:http/types.incoming-request": super::servers::Nothing,
        "wasi:http/types.response-outparam": super::servers::Nothing,
        "wasi:http/types.outgoing-response": super::servers::Nothing,
    },
});
