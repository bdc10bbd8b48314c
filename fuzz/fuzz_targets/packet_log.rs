//! Any bytes as a packet of the kernel's packet log: datagrams come of it or none, never a panic,
//! and never more than the bytes could hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let datagrams = sys::packet_log::refused_datagrams(data);
    assert!(datagrams.count() <= data.len() / 16);
});
