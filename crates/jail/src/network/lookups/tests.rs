//! Questions as programs send them, and everything else.

use super::*;

fn question(labels: &[&[u8]]) -> Vec<u8> {
    let mut packet = vec![0xAB, 0xCD, 0x01, 0x20, 0, 1, 0, 0, 0, 0, 0, 1];
    for label in labels {
        packet.push(u8::try_from(label.len()).unwrap());
        packet.extend(*label);
    }
    packet.extend([0, 0, 28, 0, 1]);
    packet
}

/// K49
#[test]
fn a_question_is_answered_with_no_such_name() {
    let mut packet = question(&[b"Api", b"Example", b"org"]);
    let asked = packet.len();
    // What an extension adds is not repeated.
    packet.extend([0, 0, 41, 4, 0xB0, 0, 0, 0, 0, 0, 0]);
    let parsed = Question::parse(&packet).unwrap();
    assert_eq!(parsed.name().as_deref(), Some("api.example.org"));
    let answer = parsed.answer();
    assert_eq!(answer[..12], [0xAB, 0xCD, 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(answer[12..], packet[12..asked]);
}

/// K49
#[test]
fn what_is_no_name_is_answered_and_not_named() {
    assert_eq!(Question::parse(&question(&[])).unwrap().name(), None);
    for label in [&b"a b"[..], b"a\n", b"a\x1b[2J", b"\xff", b"a.b"] {
        let packet = question(&[b"ok", label]);
        assert_eq!(Question::parse(&packet).unwrap().name(), None, "{label:?}");
    }
}

#[test]
fn what_is_no_question_is_passed_over() {
    let packet = question(&[b"example", b"org"]);
    for length in 0..packet.len() {
        assert!(Question::parse(&packet[..length]).is_none(), "{length}");
    }
    for (place, byte) in [(2, 0x81), (4, 1), (5, 0), (5, 2), (12, 0xC0), (12, 64), (12, 255)] {
        let mut changed = packet.clone();
        changed[place] = byte;
        assert!(Question::parse(&changed).is_none(), "{place} {byte}");
    }
    let long = question(&[&[b'a'; 63][..]; 6]);
    assert!(Question::parse(&long).is_none());
}

/// K49: a program that asks about many names takes no more room than one that asks about some.
#[test]
fn a_bounded_number_of_names_is_kept() {
    let (socket, _other) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let mut lookups = Lookups { socket: socket.into(), names: BTreeMap::new(), unnamed: 0 };
    for number in 0..1000 {
        lookups.note(Some(format!("n{number}")), None);
    }
    lookups.note(Some("n5".to_owned()), None);
    lookups.note(None, None);
    let told = lookups.told();
    assert_eq!(told.len(), MOST_NAMES + 1);
    assert_eq!(told[0], Lookup { name: Some("n5".to_owned()), count: 2 });
    let unnamed = 1000 - MOST_NAMES as u64 + 1;
    assert_eq!(told.last(), Some(&Lookup { name: None, count: unnamed }));
}

/// K49: what no rule could allow is not reported.
#[test]
fn names_of_the_cage_itself_are_passed_over() {
    for name in ["stockade-01m7", "localhost", "app.localhost"] {
        assert!(means_this_cage(name, b"stockade-01M7"), "{name}");
    }
    for name in ["stockade-01m8", "localhost.example", "notlocalhost"] {
        assert!(!means_this_cage(name, b"stockade-01M7"), "{name}");
    }
}
