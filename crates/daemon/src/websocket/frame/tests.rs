//! Heads of every form, each malformed form, and what is encoded is read back.

use super::{FrameError, Head, Opcode, Role, apply_mask, encode};

/// T52: every way in which a head can be wrong has its own refusal.
#[test]
fn malformed_heads_are_refused() {
    let table: &[(&[u8], Role, FrameError)] = &[
        (&[0xc1, 0x80], Role::Server, FrameError::ReservedBits),
        (&[0x83, 0x80], Role::Server, FrameError::UnknownOpcode),
        (&[0x8f, 0x80], Role::Server, FrameError::UnknownOpcode),
        (&[0x81, 0x05], Role::Server, FrameError::WrongMask),
        (&[0x81, 0x85], Role::Client, FrameError::WrongMask),
        (&[0x09, 0x80], Role::Server, FrameError::BadControl),
        (&[0x89, 0xfe], Role::Server, FrameError::BadControl),
        (&[0x81, 0xfe, 0, 125], Role::Server, FrameError::LongForm),
        (&[0x81, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff], Role::Server, FrameError::LongForm),
        (&[0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0], Role::Server, FrameError::NegativeLength),
    ];
    for (bytes, role, error) in table {
        assert_eq!(Head::read(bytes, *role), Err(*error), "{bytes:x?}");
    }
}

#[test]
fn a_head_is_read_when_all_of_it_is_there() {
    for length in [0_usize, 1, 125, 126, 65_535, 65_536] {
        let payload = vec![7; length];
        for (role, mask) in [(Role::Server, Some([1, 2, 3, 4])), (Role::Client, None)] {
            let frame = encode(Opcode::Binary, &payload, mask);
            let size = frame.len() - length;
            for cut in 0..size {
                assert_eq!(Head::read(&frame[..cut], role), Ok(None), "{length} {cut}");
            }
            let head = Head::read(&frame, role).unwrap().unwrap();
            assert_eq!((head.size, head.mask), (size, mask));
            assert_eq!(head.length, u64::try_from(length).unwrap());
            assert!(head.is_last);
            let mut copy = frame[size..].to_vec();
            apply_mask(&mut copy, mask.unwrap_or_default());
            assert_eq!(copy, payload);
        }
    }
}
