//! The peer of a socket whose both ends are here.

use std::os::unix::net::UnixStream;

use super::process_of_peer;

#[test]
fn the_peer_of_an_own_socket_is_this_process() {
    let (one, _other) = UnixStream::pair().unwrap();
    assert_eq!(process_of_peer(&one).unwrap(), Some(rustix::process::getpid()));
    let file = std::fs::File::open("/dev/null").unwrap();
    assert!(process_of_peer(&file).is_err());
}
