//! The reader of the log on good, cut and hostile bytes.

use super::*;

fn logged(payload: &[u8]) -> Vec<u8> {
    let header = [10, 0, 0, 1];
    let message = Message::new(SUBSYSTEM << 8 | LOGGED, 0, &header)
        .attribute(1, &[8, 0, 3, 0])
        .attribute(PAYLOAD, payload);
    // Built as the kernel does: the length is the only field that `finish` would add.
    message.finish(0)
}

fn v4(protocol: u8, fragment: u16, options: usize) -> Vec<u8> {
    let mut packet = vec![0_u8; 20 + options];
    packet[0] = 0x45 + u8::try_from(options / 4).unwrap();
    packet[6..8].copy_from_slice(&fragment.to_be_bytes());
    packet[9] = protocol;
    packet[12..16].copy_from_slice(&[192, 0, 0, 8]);
    packet[16..20].copy_from_slice(&[203, 0, 113, 9]);
    packet.extend([0x9c, 0x40, 0x01, 0xbb, 0, 8, 0, 0]);
    packet
}

fn v6() -> Vec<u8> {
    let mut packet = vec![0_u8; 40];
    packet[0] = 0x60;
    packet[6] = UDP;
    packet[23] = 1;
    packet[24] = 0x20;
    packet.extend([0x9c, 0x40, 0x01, 0xbb, 0, 8, 0, 0]);
    packet
}

/// K116
#[test]
fn addresses_and_ports_are_read() {
    let expected = RefusedDatagram {
        source: "192.0.0.8:40000".parse().unwrap(),
        destination: "203.0.113.9:443".parse().unwrap(),
    };
    for options in [0, 4, 40] {
        let packet = logged(&v4(UDP, 0x4000, options));
        assert_eq!(refused_datagrams(&packet).collect::<Vec<_>>(), [expected]);
    }
    let packet = [logged(&v4(UDP, 0, 0)), logged(&v6())].concat();
    let found: Vec<_> = refused_datagrams(&packet).collect();
    assert_eq!(found[0], expected);
    assert_eq!(found[1].destination, "[2000::]:443".parse().unwrap());
}

/// K116
#[test]
fn what_is_not_a_datagram_is_passed_over() {
    let tcp = v4(6, 0, 0);
    let later_fragment = v4(UDP, 0x0003, 0);
    let short_header = [&[0x41], &v4(UDP, 0, 0)[1..]].concat();
    let whole = v4(UDP, 0, 0);
    let mut table = vec![tcp, later_fragment, short_header, vec![], vec![0xff; 64]];
    table.extend((0..24).map(|cut| whole[..cut].to_vec()));
    table.extend((0..44).map(|cut| v6()[..cut].to_vec()));
    for payload in table {
        assert_eq!(refused_datagrams(&logged(&payload)).count(), 0, "{payload:?}");
    }
    let packet = logged(&whole);
    for cut in 0..packet.len() {
        assert_eq!(refused_datagrams(&packet[..cut]).count(), 0);
    }
}
