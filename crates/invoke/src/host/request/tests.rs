//! What is written is read again, whatever bytes it has; nothing else is read.

use super::*;

fn caller(environment: &[(&[u8], &[u8])]) -> Caller {
    let word = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Caller {
        working_directory: HostPath::root(),
        environment: environment.iter().map(|(name, value)| (word(name), word(value))).collect(),
        umask: 0o027,
        locations: Locations::from_environment(|_| None, Account::User),
    }
}

#[test]
fn a_request_is_read_as_it_was_written() {
    let command = [OsString::from("sh"), OsString::new(), OsString::from_vec(vec![0xff, b'\n'])];
    let caller =
        caller(&[(b"HOME", b"/home/u"), (b"EMPTY", b""), (b"=odd", b"a=b"), (b"\xfe", b"\xff")]);
    let text = Request::write("1.sum.{}", &command, &caller).unwrap();
    let request = Request::parse(&text).unwrap();
    assert_eq!((request.sealed.as_str(), request.umask), ("1.sum.{}", 0o027));
    assert_eq!(request.command, command);
    assert_eq!(request.environment, caller.environment.to_vec());
    let again = request.caller(HostPath::root());
    assert_eq!(again.home(), HostPath::new("/home/u").ok());
    assert_eq!((again.umask, again.environment), (caller.umask, caller.environment));
}

#[test]
fn nothing_else_is_read() {
    let whole = Request::write("1.sum.{}", &["sh".into()], &caller(&[(b"A", b"B")])).unwrap();
    assert!(Request::parse(&whole).is_some());
    for end in 0..whole.len() {
        // Without its last variable it is a request of somebody who has none.
        let is_shorter = whole.len() - end == b"A=B\0".len();
        assert_eq!(Request::parse(&whole[..end]).is_some(), is_shorter, "{end}");
    }
    for text in
        [&b""[..], b"\0", b"x\0\0\0", b"x\x0018\x001\0", b"x\x0018\0x\0", b"x\x0018\x000\0A\0"]
    {
        assert_eq!(Request::parse(text), None, "{text:?}");
    }
    assert_eq!(Request::write("x", &["a\0b".into()], &caller(&[])), None);
}
