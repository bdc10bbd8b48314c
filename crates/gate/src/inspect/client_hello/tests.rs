//! Hellos built by hand, whole, broken and split.

use proptest::prelude::*;

use super::*;

fn vector16(content: &[u8]) -> Vec<u8> {
    [&u16::try_from(content.len()).unwrap().to_be_bytes(), content].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), vector16(content)].concat()
}

fn sni(name: &[u8]) -> Vec<u8> {
    extension(SERVER_NAME, &vector16(&[&[HOST_NAME], vector16(name).as_slice()].concat()))
}

fn body(extensions: Option<&[u8]>) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(extensions.map(vector16).unwrap_or_default());
    body
}

fn message(body: &[u8]) -> Vec<u8> {
    let [_, high, middle, low] = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[CLIENT_HELLO, high, middle, low], body].concat()
}

fn records(message: &[u8], size: usize) -> Vec<u8> {
    message
        .chunks(size)
        .flat_map(|part| [&[22, 3, 1], vector16(part).as_slice()].concat())
        .collect()
}

fn hello(extensions: &[u8]) -> Vec<u8> {
    records(&message(&body(Some(extensions))), MAX_RECORD)
}

fn read(bytes: &[u8]) -> Hello {
    ClientHelloReader::new().feed(bytes)
}

fn named(text: &str) -> Hello {
    Hello::Sni(Name::parse(text).unwrap())
}

/// T39: the name is found in its one form, whatever is around it.
#[test]
fn names_are_found() {
    let other = extension(0xfe0d, &[1; 200]);
    for bytes in [
        hello(&sni(b"example.com")),
        hello(&sni(b"EXAMPLE.com.")),
        hello(&[other.clone(), sni(b"example.com"), extension(21, &[])].concat()),
    ] {
        assert_eq!(read(&bytes), named("example.com"));
    }
    assert_eq!(read(&hello(&other)), Hello::NoSni);
    assert_eq!(read(&hello(&[])), Hello::NoSni);
    assert_eq!(read(&records(&message(&body(None)), MAX_RECORD)), Hello::NoSni);
}

/// T39: a hello may come in records and segments of any size; nothing before its end is an answer.
#[test]
fn splits_make_no_difference() {
    let whole = message(&body(Some(&sni(b"split.example"))));
    for size in 1..whole.len() {
        let bytes = records(&whole, size);
        assert_eq!(read(&bytes), named("split.example"), "records of {size}");
        let mut reader = ClientHelloReader::new();
        for (index, byte) in bytes.iter().enumerate() {
            let expected =
                if index + 1 == bytes.len() { named("split.example") } else { Hello::NeedMore };
            assert_eq!(reader.feed(&[*byte]), expected);
        }
        assert_eq!(reader.feed(b"what follows"), named("split.example"));
    }
}

/// What is no TLS is told from the first byte that shows it.
#[test]
fn other_protocols_are_not_tls() {
    assert_eq!(read(b""), Hello::NeedMore);
    assert_eq!(read(b"\x16"), Hello::NeedMore);
    assert_eq!(read(b"\x16\x03"), Hello::NeedMore);
    for bytes in [&b"GET / HTTP/1.1\r\n"[..], b"\x80", b"\x16\x02", b"SSH-2.0-x", b"\x17\x03\x03"] {
        assert_eq!(read(bytes), Hello::NotTls, "{bytes:?}");
    }
}

/// T39: what begins as TLS and could be read in another way is refused.
#[test]
fn malformed_hellos_are_refused() {
    let good = message(&body(Some(&sni(b"example.com"))));
    let with_list = |list: &[u8]| hello(&extension(SERVER_NAME, &vector16(list)));
    let entry = |kind: u8, name: &[u8]| [&[kind], vector16(name).as_slice()].concat();
    let mut cut = body(Some(&sni(b"example.com")));
    cut.pop();
    let mut longer = body(Some(&sni(b"example.com")));
    longer.push(0);
    let mut server_hello = good.clone();
    server_hello[0] = 2;
    let half = records(&good[..20], 20);
    let table: Vec<(&str, Vec<u8>, HelloError)> = vec![
        ("version", b"\x16\x03\x05".to_vec(), HelloError::BadRecord),
        ("empty record", b"\x16\x03\x01\0\0".to_vec(), HelloError::BadRecord),
        ("long record", b"\x16\x03\x01\x40\x01".to_vec(), HelloError::BadRecord),
        ("alert between", [half.clone(), b"\x15".to_vec()].concat(), HelloError::BadRecord),
        ("text between", [half, b"GET /".to_vec()].concat(), HelloError::BadRecord),
        ("server hello", records(&server_hello, MAX_RECORD), HelloError::NotAHello),
        ("two in one", records(&[good.clone(), good].concat(), MAX_RECORD), HelloError::NotAHello),
        ("too long", records(&[1, 1, 0, 0], 4), HelloError::TooLong),
        ("much too long", records(&[1, 255, 255, 255], 4), HelloError::TooLong),
        ("empty", records(&[1, 0, 0, 0], 4), HelloError::BadLength),
        ("cut", records(&message(&cut), MAX_RECORD), HelloError::BadLength),
        ("trailing", records(&message(&longer), MAX_RECORD), HelloError::BadLength),
        (
            "twice",
            hello(&[sni(b"a.example"), sni(b"b.example")].concat()),
            HelloError::SeveralNames,
        ),
        (
            "same twice",
            hello(&[sni(b"a.example"), sni(b"a.example")].concat()),
            HelloError::SeveralNames,
        ),
        ("no name", with_list(&[]), HelloError::SeveralNames),
        ("other kind", with_list(&entry(1, b"a.example")), HelloError::SeveralNames),
        (
            "list of two",
            with_list(&[entry(0, b"a.example"), entry(0, b"b.example")].concat()),
            HelloError::SeveralNames,
        ),
        ("empty name", hello(&sni(b"")), HelloError::BadName(NameError::Empty)),
        ("NUL", hello(&sni(b"a.example\0.b.example")), HelloError::BadName(NameError::BadLabel)),
        (
            "not ASCII",
            hello(&sni("bücher.example".as_bytes())),
            HelloError::BadName(NameError::BadLabel),
        ),
        ("bytes", hello(&sni(b"\xff.example")), HelloError::BadName(NameError::BadLabel)),
        ("address", hello(&sni(b"192.0.2.1")), HelloError::BadName(NameError::LooksLikeAddress)),
        ("long", hello(&sni(&[b'a'; 300])), HelloError::BadName(NameError::TooLong)),
    ];
    for (what, bytes, expected) in table {
        assert_eq!(read(&bytes), Hello::Malformed(expected), "{what}");
    }
}

/// A hello in the smallest records ends at the cap, and nothing is kept beyond it.
#[test]
fn the_cap_counts_everything() {
    let long = message(&body(Some(&extension(21, &[0; 30_000]))));
    assert_eq!(read(&records(&long, MAX_RECORD)), Hello::NoSni);
    let mut reader = ClientHelloReader::new();
    assert_eq!(reader.feed(&records(&long, 1)), Hello::Malformed(HelloError::TooLong));
    assert_eq!(reader.message.capacity(), 0);
}

proptest! {
    /// Any bytes, any split: the same answer.
    #[test]
    fn any_split_gives_the_same(
        mut bytes in prop::collection::vec(any::<u8>(), 0..40),
        record in 1usize..80, at in 0usize..100, split in 0usize..200,
    ) {
        let good = records(&message(&body(Some(&sni(b"example.com")))), record);
        let at = at.min(good.len());
        let mut all = good[..at].to_vec();
        all.append(&mut bytes);
        all.extend(&good[at..]);
        let split = split.min(all.len());
        let mut reader = ClientHelloReader::new();
        reader.feed(&all[..split]);
        prop_assert_eq!(reader.feed(&all[split..]), read(&all));
    }
}
