//! What the thread of a call keeps, by what its tool needs.

use std::fs;
use std::net::UdpSocket;
use std::process::Command;

use jail::within;
use tools::Needs;

/// What a thread can do: read, write anywhere, write where results go, start a program, make a socket.
fn can(needs: Needs) -> [bool; 5] {
    let place = tempfile::tempdir().unwrap();
    let (file, spill) = (place.path().join("file"), place.path().join("spill"));
    fs::write(&file, "x").unwrap();
    fs::create_dir(&spill).unwrap();
    // For good, and of this thread alone.
    let narrowed = std::thread::spawn(move || {
        super::to_needs(needs, std::slice::from_ref(&spill)).unwrap();
        [
            fs::read(&file).is_ok(),
            fs::write(&file, "y").is_ok(),
            fs::write(spill.join("result"), "y").is_ok(),
            Command::new("/bin/true").status().is_ok(),
            UdpSocket::bind("127.0.0.1:0").is_ok(),
        ]
    });
    narrowed.join().unwrap()
}

/// V22: each call has what its tool needs, and its own results.
#[test]
fn a_call_keeps_what_its_tool_needs() {
    if !within::can_narrow() {
        testing::skip("this kernel has no landlock of version 3");
        return;
    }
    assert_eq!(can(Needs::Nothing), [false, false, true, false, false]);
    assert_eq!(can(Needs::Read), [true, false, true, false, false]);
    assert_eq!(can(Needs::Network), [true, false, true, false, true]);
    assert_eq!(can(Needs::Write), [true, true, true, false, false]);
    assert_eq!(can(Needs::Run), [true; 5]);
}
