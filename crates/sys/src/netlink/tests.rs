//! Messages byte for byte, and readers on anything.

use super::*;

#[test]
fn a_message_is_laid_out_as_the_kernel_reads_it() {
    let message = Message::new(0x0a06, REQUEST | ACK, &[1, 0, 0, 0])
        .attribute(1, b"ab\0")
        .nested(4, |list| list.attribute(2, &7_u32.to_be_bytes()));
    let mut expected = Vec::new();
    expected.extend(40_u32.to_ne_bytes());
    expected.extend(0x0a06_u16.to_ne_bytes());
    expected.extend(5_u16.to_ne_bytes());
    expected.extend(9_u32.to_ne_bytes());
    expected.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    expected.extend(7_u16.to_ne_bytes());
    expected.extend(1_u16.to_ne_bytes());
    expected.extend(b"ab\0\0");
    expected.extend(12_u16.to_ne_bytes());
    expected.extend(0x8004_u16.to_ne_bytes());
    expected.extend(8_u16.to_ne_bytes());
    expected.extend(2_u16.to_ne_bytes());
    expected.extend([0, 0, 0, 7]);
    assert_eq!(message.finish(9), expected);
}

#[test]
fn what_was_built_is_read_back() {
    let first = Message::new(20, 0, &[1, 2, 3]).attribute(5, b"odd").attribute(6, b"");
    let second = Message::new(21, 0, &[]).nested(7, |list| list.attribute(8, b"deep"));
    let packet = [first.finish(1), second.finish(2)].concat();
    let messages: Vec<_> = messages_in(&packet).collect();
    assert_eq!(messages.len(), 2);
    let attributes: Vec<_> = messages[0].attributes_after(3).collect();
    assert_eq!(attributes, [(5, b"odd".as_slice()), (6, b"".as_slice())]);
    let (kind, nested) = messages[1].attributes_after(0).next().unwrap();
    assert_eq!(kind, 7);
    assert_eq!(attributes_in(nested).next(), Some((8, b"deep".as_slice())));
}

#[test]
fn a_refusal_is_read_with_its_number() {
    let refused = |code: i32| {
        let packet = Message::new(ERROR, 0, &code.to_ne_bytes()).finish(3);
        messages_in(&packet).next().unwrap().verdict()
    };
    assert_eq!(refused(0), Answer::Verdict { sequence: 3, result: Ok(()) });
    assert_eq!(refused(-1), Answer::Verdict { sequence: 3, result: Err(Errno::PERM) });
    // No kernel sends these, and no error number may come of them that cannot be one.
    for code in [i32::MIN, i32::MAX, 1] {
        assert!(matches!(refused(code), Answer::Verdict { result: Err(_), .. }));
    }
}

/// Bytes that are no messages end the reading, wherever they begin.
#[test]
fn malformed_bytes_end_the_reading() {
    let good = Message::new(20, 0, &[]).attribute(1, b"x").finish(1);
    let table: &[&[u8]] = &[b"", &[0; 3], &[0; 16], &[255; 40], &[15, 0, 0, 0, 0, 0, 0, 0]];
    for bytes in table {
        assert_eq!(messages_in(bytes).count(), 0, "{bytes:?}");
        assert_eq!(messages_in(&[&good, *bytes].concat()).count(), 1, "{bytes:?}");
        assert_eq!(attributes_in(bytes).count(), 0, "{bytes:?}");
    }
    for cut in 0..good.len() {
        assert_eq!(messages_in(&good[..cut]).count(), 0);
    }
}
