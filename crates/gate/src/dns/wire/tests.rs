//! Names in messages: how they are spelled, compressed and shown.

use super::{Reader, WireError, WireName};

fn read(message: &[u8], at: usize) -> Result<(String, usize), WireError> {
    let mut reader = Reader { message, position: at };
    let name = reader.name()?;
    Ok((name.to_string(), reader.position))
}

#[test]
fn names_are_read_with_their_spelling() {
    let message = b"\x03WwW\x07example\x00\x04mail\xc0\x04\xc0\x0d\x00\x02a.\x03\x00\x20\xff\x00";
    assert_eq!(read(message, 0), Ok(("WwW.example".into(), 13)));
    assert_eq!(read(message, 13), Ok(("mail.example".into(), 20)));
    assert_eq!(read(message, 20), Ok(("mail.example".into(), 22)));
    assert_eq!(read(message, 22), Ok((".".into(), 23)));
    assert_eq!(read(message, 23), Ok(("a\\..\\000\\032\\255".into(), 31)));
}

/// A pointer that does not go back could be followed for ever.
#[test]
fn reading_a_name_always_ends() {
    let check = |message: &[u8], at: usize, expected: WireError| {
        assert_eq!(read(message, at), Err(expected), "{message:?} at {at}");
    };
    check(b"\xc0\x00", 0, WireError::BadPointer);
    check(b"\x01a\xc0\x00", 0, WireError::BadPointer);
    check(b"\x01a\xc0\x02", 0, WireError::BadPointer);
    check(b"\xc0\x02\xc0\x00", 0, WireError::BadPointer);
    check(b"\xc0\x02\xc0\x00", 2, WireError::BadPointer);
    check(b"\x40", 0, WireError::BadName);
    check(b"\x80\x00", 0, WireError::BadName);
    check(b"", 0, WireError::Short);
    check(b"\x03ab", 0, WireError::Short);
    check(b"\x02ab", 0, WireError::Short);
    check(b"\xc0", 0, WireError::Short);
    let label = [&[63][..], &[b'a'; 63]].concat();
    check(&[label.repeat(4), vec![0]].concat(), 0, WireError::BadName);
    check(&label.repeat(400), 0, WireError::BadName);
}

#[test]
fn the_longest_name_has_255_bytes() {
    let labels = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61)];
    let name = WireName::from_host(&labels.join(".")).unwrap();
    assert_eq!(name.as_bytes().len(), 255);
    assert_eq!(read(name.as_bytes(), 0).unwrap().1, 255);
    assert!(WireName::from_host(&format!("{}d", labels.join("."))).is_none());
    assert!(WireName::from_host(&"a".repeat(64)).is_none());
    assert!(WireName::from_host("a..b").is_none());
    assert!(WireName::from_host("").is_none());
}

#[test]
fn case_does_not_tell_names_apart() {
    let name = |text| WireName::from_host(text).unwrap();
    assert_eq!(name("ExAmple.com"), name("eXample.COM"));
    assert_ne!(name("example.com"), name("examp1e.com"));
    assert_ne!(name("ab.c"), name("a.bc"));
}

/// Data of one record never reaches into the next, even where it claims to.
#[test]
fn data_ends_where_its_record_ends() {
    let message = b"\x00\x00\x05\x00\x01\x00\x00\x00\x00\x00\x02\x01a\x00";
    let mut reader = Reader::new(message);
    let record = reader.record().unwrap();
    assert_eq!(record.data_reader().name().unwrap_err(), WireError::Short);
    assert!(!reader.is_at_end());
}
