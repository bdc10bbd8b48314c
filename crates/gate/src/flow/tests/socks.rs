//! SOCKS clients of versions 5, 4 and 4a: what they may have, and the codes for what they may not.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::support::{Gate, TestCage, ask, echo_server};

fn request_5(command: u8, host: &str, port: u16) -> Vec<u8> {
    let mut words = vec![5, 1, 0, 5, command, 0, 3, u8::try_from(host.len()).unwrap()];
    words.extend(host.as_bytes());
    words.extend(port.to_be_bytes());
    words
}

/// Greets and asks, and returns the answer's code.
async fn asks_5(cage: &TestCage, words: &[u8]) -> (u8, TcpStream) {
    let mut stream = TcpStream::connect(cage.socks).await.unwrap();
    let answer = ask(&mut stream, words, 12).await;
    assert_eq!((answer[0], answer[1], answer[2]), (5, 0, 5));
    (answer[3], stream)
}

/// K101, K106: a name is resolved here and relayed.
#[tokio::test]
async fn an_allowed_name_is_reached() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["a.test", "127.0.0.0/8"]).await;
    let (code, mut stream) = asks_5(&cage, &request_5(1, "A.Test.", port)).await;
    assert_eq!(code, 0);
    assert_eq!(ask(&mut stream, b"hello", 5).await, b"hello");
    assert!(gate.asked.lock().unwrap().iter().all(|name| name == "a.test"));
    drop(stream);
    let counters = cage.unregister().await.counters;
    assert_eq!((counters.tcp_allowed, counters.tcp_denied), (1, 0));
    assert_eq!((counters.bytes_out, counters.bytes_in), (5, 5));
}

/// K101: SOCKS 4a, and 4 by address; words behind the request are not lost.
#[tokio::test]
async fn version_4_is_understood() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["a.test", "127.0.0.0/8"]).await;
    let [high, low] = port.to_be_bytes();
    let by_name = [&[4, 1, high, low, 0, 0, 0, 1, b'm', b'e', 0][..], b"a.test\0early"].concat();
    let by_address = [&[4, 1, high, low, 127, 0, 0, 1, 0][..], b"early"].concat();
    for words in [by_name, by_address] {
        let mut stream = TcpStream::connect(cage.socks).await.unwrap();
        let answer = ask(&mut stream, &words, 13).await;
        assert_eq!((answer[0], answer[1], &answer[8..]), (0, 90, &b"early"[..]));
    }
}

/// K103, K104, K105, K107, K108, K110, T40: what is refused is refused with the right code, on record,
/// and nobody is asked about the name.
#[tokio::test]
async fn refusals_have_their_codes() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let unused = super::support::listener().1.port();
    let cage = gate.cage(&["a.test:1-65000", "127.0.0.0/8", "192.0.2.0/24:80"]).await;
    let cases: [(&str, Vec<u8>, u8, Option<&str>); 8] = [
        ("another name", request_5(1, "b.test", port), 2, Some("b.test")),
        ("another port", request_5(1, "a.test", 65_001), 2, Some("a.test")),
        ("no name", request_5(1, "a\0.test", port), 2, Some("-")),
        ("an address as a name", request_5(1, "10.0.0.1", port), 2, Some("10.0.0.1")),
        ("bind", request_5(2, "a.test", port), 7, Some("-")),
        ("udp associate", request_5(3, "a.test", port), 7, Some("-")),
        ("address type", vec![5, 1, 0, 5, 1, 0, 9, 1, 1, 1, 1, 0, 80], 8, Some("-")),
        ("nobody listens", request_5(1, "a.test", unused), 5, None),
    ];
    for (what, words, expected, target) in cases {
        let (code, mut stream) = asks_5(&cage, &words).await;
        assert_eq!(code, expected, "{what}");
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0, "{what}");
        if let Some(target) = target {
            assert_eq!(cage.denied().await.0, target, "{what}");
        }
    }
    assert!(gate.asked.lock().unwrap().iter().all(|name| name == "a.test"));
}

/// K102, K105: an address entry allows an address, and a name entry does not allow where it leads.
#[tokio::test]
async fn addresses_need_address_entries() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["a.test"]).await;
    let [high, low] = port.to_be_bytes();
    let literal = [5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, high, low];
    assert_eq!(asks_5(&cage, &literal).await.0, 2);
    // T42: the allowed name leads to loopback, which nobody means by a name.
    assert_eq!(asks_5(&cage, &request_5(1, "a.test", port)).await.0, 2);
    let reasons = [cage.denied().await.2, cage.denied().await.2];
    assert!(reasons[0].contains("no address or network entry"), "{reasons:?}");
    assert!(reasons[1].contains("loopback"), "{reasons:?}");
    let cage = gate.cage(&["127.0.0.1"]).await;
    assert_eq!(asks_5(&cage, &literal).await.0, 0);
}
