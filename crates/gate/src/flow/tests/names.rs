//! What is said to a host by name has to be for that name.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::support::{Gate, TestCage, ask, echo_server, is_reset, server};

/// A connection to a name through the HTTP proxy's `CONNECT`.
async fn tunnel(cage: &TestCage, host: &str, port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(cage.http).await.unwrap();
    let words = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
    let expected = b"HTTP/1.1 200 Connection established\r\n\r\n";
    let answer = ask(&mut stream, words.as_bytes(), expected.len()).await;
    assert_eq!(answer, expected);
    stream
}

async fn end_of(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// A TLS 1.2 ClientHello in records of at most `record` bytes.
fn hello(name: Option<&str>, record: usize) -> Vec<u8> {
    let mut extensions = Vec::new();
    if let Some(name) = name {
        let length = u16::try_from(name.len()).unwrap();
        extensions.extend([0, 0]);
        extensions.extend((length + 5).to_be_bytes());
        extensions.extend((length + 3).to_be_bytes());
        extensions.push(0);
        extensions.extend(length.to_be_bytes());
        extensions.extend(name.as_bytes());
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
    body.extend(extensions);
    let mut message = vec![1, 0];
    message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    message.extend(body);
    let mut out = Vec::new();
    for fragment in message.chunks(record) {
        out.extend([22, 3, 1]);
        out.extend(u16::try_from(fragment.len()).unwrap().to_be_bytes());
        out.extend(fragment);
    }
    out
}

/// T39: TLS for the name, in any split, is passed on; for another name or none it is reset before a
/// byte has gone out.
#[tokio::test]
async fn tls_has_to_name_the_host() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["a.test", "b.test", "127.0.0.0/8"]).await;
    for record in [5, 1000] {
        let words = hello(Some("a.test"), record);
        let mut stream = tunnel(&cage, "a.test", port).await;
        for piece in words.chunks(11) {
            stream.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(ask(&mut stream, b"", words.len()).await, words);
        assert_eq!(ask(&mut stream, b"anything", 8).await, b"anything");
    }
    let refused = [
        ("another name", hello(Some("b.test"), 1000)),
        ("another name, split", hello(Some("b.test"), 7)),
        ("no name", hello(None, 1000)),
        ("no hello", vec![22, 3, 1, 0, 4, 2, 0, 0, 0]),
    ];
    for (what, words) in refused {
        let mut stream = tunnel(&cage, "a.test", port).await;
        stream.write_all(&words).await.unwrap();
        assert!(is_reset(&mut stream).await, "{what}");
        let (target, denied, _) = cage.denied().await;
        assert_eq!((target.as_str(), denied), ("a.test", port), "{what}");
    }
}

/// T39, T41: every request has to be for the host, the first and those behind it, and whatever could be
/// read in two ways is not passed on.
#[tokio::test]
async fn every_http_request_has_to_name_the_host() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["a.test", "b.test", "127.0.0.0/8"]).await;
    let good = "POST /1 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = "POST /2 HTTP/1.1\r\nHost: A.test.\r\nTransfer-Encoding: chunked\r\n\r\n\
                   5\r\nhello\r\n0\r\n\r\n";
    let mut stream = tunnel(&cage, "a.test", port).await;
    for words in [good, chunked, good] {
        let answer = ask(&mut stream, words.as_bytes(), words.len()).await;
        assert_eq!(String::from_utf8(answer).unwrap(), words);
    }
    let smuggled = [
        "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test:1\r\n\r\n",
        "GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\nHost: a.test\n\n",
        "\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
    ];
    for words in smuggled {
        let mut stream = tunnel(&cage, "a.test", port).await;
        stream.write_all(words.as_bytes()).await.unwrap();
        let answer = end_of(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{words:?}: {answer}");
        assert!(answer.contains("X-Stockade-Reason: "), "{words:?}: {answer}");
        assert_eq!(cage.denied().await.0, "a.test", "{words:?}");
        // The same behind a good request, where the answer to that is on its way.
        let mut stream = tunnel(&cage, "a.test", port).await;
        let answer = ask(&mut stream, good.as_bytes(), good.len()).await;
        assert_eq!(answer, good.as_bytes());
        stream.write_all(words.as_bytes()).await.unwrap();
        assert!(is_reset(&mut stream).await, "{words:?}");
        assert_eq!(cage.denied().await.0, "a.test", "{words:?}");
    }
}

/// A server that speaks first is heard at once, and what is no TLS and no HTTP is passed on.
#[tokio::test]
async fn other_protocols_are_not_held_back() {
    let gate = Gate::start().await;
    let port = server(|mut stream| async move {
        stream.write_all(b"SSH-2.0-server\r\n").await.unwrap();
        let mut line = [0; 16];
        stream.read_exact(&mut line).await.unwrap();
        stream.write_all(&line).await.unwrap();
    })
    .await;
    let cage = gate.cage(&["a.test", "127.0.0.0/8"]).await;
    let mut stream = tunnel(&cage, "a.test", port).await;
    assert_eq!(ask(&mut stream, b"", 16).await, b"SSH-2.0-server\r\n");
    assert_eq!(ask(&mut stream, b"SSH-2.0-client\r\n", 16).await, b"SSH-2.0-client\r\n");
    assert_eq!(stream.read(&mut [0; 4]).await.unwrap(), 0);
}

/// T41: after an answer of 101 the connection is no longer HTTP, and after any other it still is.
#[tokio::test]
async fn an_upgrade_is_followed_and_nothing_else_is_taken_for_one() {
    let gate = Gate::start().await;
    let answers = |answer: &'static str| {
        server(move |mut stream| async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            let (mut read, mut write) = stream.split();
            let _gone = tokio::io::copy(&mut read, &mut write).await;
        })
    };
    let switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    let ordinary = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let cage = gate.cage(&["a.test", "127.0.0.0/8"]).await;
    let offer = "GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\n\
                 Upgrade: websocket\r\n\r\n";
    let frames = b"\x81\x05hello GET / HTTP/1.1\r\nHost: b.test\r\n\r\n";
    let mut stream = tunnel(&cage, "a.test", answers(switching).await).await;
    let answer = ask(&mut stream, offer.as_bytes(), switching.len()).await;
    assert_eq!(answer, switching.as_bytes());
    assert_eq!(ask(&mut stream, frames, frames.len()).await, frames);
    let mut stream = tunnel(&cage, "a.test", answers(ordinary).await).await;
    let answer = ask(&mut stream, offer.as_bytes(), ordinary.len()).await;
    assert_eq!(answer, ordinary.as_bytes());
    stream.write_all(frames).await.unwrap();
    assert!(is_reset(&mut stream).await);
}

/// T40: a whole URL is decided on like everything else; the server gets the request in its own form,
/// without what was for the proxy.
#[tokio::test]
async fn a_request_with_a_url_is_passed_on() {
    let gate = Gate::start().await;
    let port = server(|mut stream| async move {
        let mut request = Vec::new();
        while !request.ends_with(b"end") {
            request.push(stream.read_u8().await.unwrap());
        }
        let request = String::from_utf8(request).unwrap();
        assert!(request.starts_with("POST /path?query HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nConnection: close\r\n"), "{request}");
        assert!(!request.to_lowercase().contains("proxy"), "{request}");
        let answer = "HTTP/1.1 100 Continue\r\n\r\n\
                      HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nall of it";
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let cage = gate.cage(&["a.test", "127.0.0.0/8"]).await;
    let mut stream = TcpStream::connect(cage.http).await.unwrap();
    let request = format!(
        "POST http://a.test:{port}/path?query HTTP/1.1\r\nHost: a.test:{port}\r\n\
         Proxy-Connection: keep-alive\r\nProxy-Authorization: x\r\nContent-Length: 3\r\n\r\nend"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = end_of(&mut stream).await;
    assert!(answer.ends_with("\r\n\r\nall of it"), "{answer}");
    assert!(answer.contains("Connection: close\r\n") && !answer.contains("alive"), "{answer}");
}

/// K107's like for HTTP: a refusal is an answer that says why.
#[tokio::test]
async fn proxy_clients_are_told_why() {
    let gate = Gate::start().await;
    let unused = super::support::listener().1.port();
    let cage = gate.cage(&["a.test", "127.0.0.0/8"]).await;
    let cases = [
        ("CONNECT b.test:443 HTTP/1.1\r\n\r\n".to_owned(), "403", Some("b.test")),
        ("GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n".to_owned(), "403", Some("b.test")),
        ("GET http://10.0.0.1/ HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n".to_owned(), "403", None),
        ("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned(), "400", None),
        ("nonsense\r\n\r\n".to_owned(), "400", None),
        (format!("CONNECT a.test:{unused} HTTP/1.1\r\n\r\n"), "502", None),
    ];
    for (words, status, target) in cases {
        let mut stream = TcpStream::connect(cage.http).await.unwrap();
        stream.write_all(words.as_bytes()).await.unwrap();
        let answer = end_of(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{words}: {answer}");
        assert!(answer.contains("X-Stockade-Reason: "), "{words}: {answer}");
        if let Some(target) = target {
            assert_eq!(cage.denied().await.0, target);
        } else if status != "502" {
            cage.denied().await;
        }
    }
}
