//! Kinds of clients, and whether what they say agrees with where they go.

use super::client_hello::HelloError;
use super::http::{Requests, Step};
use super::*;

fn kind(bytes: &[u8]) -> FirstBytes {
    let whole = Classifier::new().feed(bytes);
    let mut classifier = Classifier::new();
    let mut last = FirstBytes::NeedMore;
    for byte in bytes {
        last = classifier.feed(&[*byte]);
    }
    assert_eq!(whole, last, "{}", bytes.escape_ascii());
    whole
}

/// T39, T41: whatever a lenient server could take for HTTP is called that.
#[test]
fn attempts_at_http_are_http() {
    let http: &[&[u8]] = &[
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\n",
        b"get / http/1.1\r\n",
        b"\r\nGET / HTTP/1.1\r\n",
        b"\n\n  GET / HTTP/1.1\r\n",
        b"GET\t/\tHTTP/1.1\r\n",
        b"GET\x0b/\x0cHTTP/1.1\r\n",
        b"BREW /pot HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n",
        b"GET /\r\n",
        b"GET http://other.example/\n",
        b"GET /\0 HTTP/1.1\r\n",
        b"GET /\xff HTTP/1.1\r\n",
        b"X hhttp/\r\n",
        b"POST /x FOO/1.0 HTTP/1.1\r\n",
        b"GET /2 RTSP/1.1\r\n",
        b"SOURCE /x ICE/1.0\r\n",
        b"OPTIONS rtsp://h/x RTSP/1.0\r\n",
        b"GET / HTTPS/1.1\r\n",
        b"GET / XTTP/1.1\r\n",
        b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
        b"\"GET /x HTTP/1.1\r\n",
        b"GET@ /x HTTP/1.1\r\n",
        b"GE(T /x HTTP/1.1\r\n",
        b"{ /x HTTP/1.1\r\n",
        b"/ /x HTTP/1.1\r\n",
        b"\0GET /x HTTP/1.1\r\n",
        b"G\x01 /x HTTP/1.1\r\n",
        b"\x7f /x HTTP/1.1\n",
        b"GET\xff /x HTTP/1.1\r\n",
        b"\xc3\xa9 /x HTTP/1.1\r\n",
        b"\xef\xbb\xbfGET /x HTTP/1.1\r\n",
        b"GET\r /x HTTP/1.1\r\n",
        b"X \0 HTTP/1.1\r\n",
        b"X\0 /x RTSP/1.0\r\n",
        b"\r\n\r\n\0\r\nQUIT\n",
        b"GET /x HTTP/1.1\rHost: other.example\r\r",
        b"GET /x HTTP/1.0\r\r",
        b"GET /x\rx",
        b"hello\rGET /x HTTP/1.1\rx",
        b"hello\rGET /x HTTP/1.1\r\n",
        b"get /e b\r\n",
        b"get\t/e\r\n",
        b"PROPFIND /e b\r\n",
        b"m-search  /\n",
        b"get http://other.example/\r\n",
        b"Copy x+y://other.example\n",
        b"get /e\0b\n",
        b"get /e\rHost: other.example\r\n",
    ];
    for bytes in http {
        assert_eq!(kind(bytes), FirstBytes::Http, "{}", bytes.escape_ascii());
    }
    assert_eq!(kind(&[b'a'; 64 * 1024]), FirstBytes::Http);
    assert_eq!(kind(&[b'\n'; 64 * 1024]), FirstBytes::Http);
    assert_eq!(kind(&[0; 64 * 1024]), FirstBytes::Other);
    assert_eq!(kind(&[&b"\0 HTTP/1.1"[..], &[0; 64 * 1024]].concat()), FirstBytes::Http);
}

/// Other protocols that talk first are let alone as soon as it is clear that they are others.
#[test]
fn others_are_let_alone() {
    let other: &[&[u8]] = &[
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"EHLO me.example\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"PING\r\n",
        b"get key\r\n",
        b"get key/part\r\n",
        b"gets a:b:c://d\r\n",
        b"STAT ls:/\r\n",
        b"/path\r\n",
        b"/W user\r\n",
        b"1get /x\r\n",
        b"a.b /x\r\n",
        b"0032git-upload-pack /x\0host=h\0\n",
        b"{\"id\":1,\"url\":\"http://h/\"}\n",
        b"\0\0\0\x08\x04\xd2\x16\x2f\n",
        b"\x80\x2e\x02\n",
        b"\r\n\r\n\0\r\nQUIX\n",
        b"\r\n\r\n\0 QUIT\n",
    ];
    for bytes in other {
        assert_eq!(kind(bytes), FirstBytes::Other, "{}", bytes.escape_ascii());
    }
    let tls: &[&[u8]] = &[
        b"\x16\x03",
        b"\x16\x02\0",
        b"\x16\x04\0",
        b"\x15\x03\x01\0\x02\x01\x5a",
        b"\x14\x03",
        b"\x17\x03",
        b"\x18\x03",
        b"\x80\x2e\x01\x03",
    ];
    for bytes in tls {
        assert_eq!(kind(bytes), FirstBytes::Tls, "{}", bytes.escape_ascii());
    }
    assert_eq!(kind(b"\x16\x03\x01\x02\x00\x01"), FirstBytes::Tls);
}

/// As long as a line could still become a request, nothing is said.
#[test]
fn too_little_is_too_little() {
    let beginnings: &[&[u8]] = &[
        b"",
        b"\x80",
        b"G",
        b"GET",
        b"GET ",
        b"GET / HTTP/1.1",
        b"GET / HTTP/1.1\r",
        b"hello\rworld",
        b"\r\n",
        b"hello world",
        b"\x10\x0c\0\x04MQTT",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"\r\n\r\n\0\r\nQUIT",
    ];
    for bytes in beginnings {
        assert_eq!(kind(bytes), FirstBytes::NeedMore, "{}", bytes.escape_ascii());
    }
}

/// T41: a line that ends with the connection is a line.
#[test]
fn half_a_request_is_one_at_its_end() {
    let at_end = |bytes: &[u8]| {
        let mut classifier = Classifier::new();
        assert_eq!(classifier.feed(bytes), FirstBytes::NeedMore);
        classifier.at_end()
    };
    for bytes in [&b"GET http://other.example/ HTTP/1.1"[..], b"GET /", b"\"GET / HTTP/1.1\r"] {
        assert_eq!(at_end(bytes), FirstBytes::Http, "{}", bytes.escape_ascii());
    }
    for bytes in [&b""[..], b"\r\n", b"PING", b"hello world", b"\x80\x2e", b"\0\0\0\x08"] {
        assert_eq!(at_end(bytes), FirstBytes::Other, "{}", bytes.escape_ascii());
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// T39: the server name is the name of the connection, or there is no connection.
#[test]
fn server_names_have_to_agree() {
    let expected = name("example.com");
    let code = |hello: Hello| check_server_name(&expected, &hello).map_err(|denial| denial.code);
    assert_eq!(code(Hello::Sni(name("EXAMPLE.com."))), Ok(()));
    assert_eq!(code(Hello::Sni(name("a.example.com"))), Err(DenialCode::ServerNameDiffers));
    assert_eq!(code(Hello::NoSni), Err(DenialCode::ServerNameMissing));
    assert_eq!(code(Hello::Malformed(HelloError::TooLong)), Err(DenialCode::TlsMalformed));
    assert_eq!(code(Hello::NeedMore), Err(DenialCode::TlsMalformed));
}

/// T39, T41: the host of a request is that of the connection; its port too, where it is written.
#[test]
fn hosts_have_to_agree() {
    let table = [
        ("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", Ok(())),
        ("GET / HTTP/1.1\r\nHost: Example.COM.:8080\r\n\r\n", Ok(())),
        ("GET / HTTP/1.1\r\nHost: example.com:80\r\n\r\n", Err(DenialCode::HostDiffers)),
        ("GET / HTTP/1.1\r\nHost: other.example\r\n\r\n", Err(DenialCode::HostDiffers)),
        ("GET / HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", Err(DenialCode::HostDiffers)),
        ("GET http://example.com:8080/ HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", Ok(())),
        (
            "GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n",
            Err(DenialCode::HostDiffers),
        ),
        ("CONNECT example.com:8080 HTTP/1.1\r\n\r\n", Err(DenialCode::HttpRefused)),
    ];
    for (text, expected) in table {
        let Ok(Step::Head { head, .. }) = Requests::new().next(text.as_bytes()) else {
            panic!("{text}")
        };
        let found = check_request(&name("example.com"), 8080, &head).map_err(|denial| denial.code);
        assert_eq!(found, expected, "{text}");
    }
}
