//! Questions and answers on loopback, over both families. Needs no privilege.

use std::net::{IpAddr, UdpSocket};

use super::{prepare, receive, send};

fn check(bound: &str, asked: &str) {
    let server = UdpSocket::bind(bound).unwrap();
    prepare(&server).unwrap();
    let asked: IpAddr = asked.parse().unwrap();
    let client = UdpSocket::bind((asked, 0)).unwrap();
    client.set_read_timeout(Some(testing::slowly(std::time::Duration::from_secs(5)))).unwrap();
    client.send_to(b"question", (asked, server.local_addr().unwrap().port())).unwrap();

    let mut buffer = [0; 16];
    let received = receive(&server, &mut buffer).unwrap();
    assert_eq!(&buffer[..received.length], b"question");
    assert_eq!(received.destination, asked);
    assert_eq!(received.peer, client.local_addr().unwrap());
    assert_eq!(receive(&server, &mut buffer).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);

    send(&server, b"answer", received.destination, received.peer).unwrap();
    let (length, from) = client.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"answer");
    assert_eq!(from.ip(), asked);
}

/// K68: whichever of its addresses a server is asked on, the answer comes from that one.
#[test]
fn an_answer_comes_from_the_address_that_was_asked() {
    check("0.0.0.0:0", "127.0.0.1");
    check("0.0.0.0:0", "127.9.8.7");
    check("[::]:0", "::1");
}

#[test]
fn what_is_no_internet_socket_is_refused() {
    let (one, _other) = std::os::unix::net::UnixDatagram::pair().unwrap();
    assert_eq!(prepare(&one).unwrap_err().raw_os_error(), Some(libc::EAFNOSUPPORT));
}
