//! Addresses as the kernel tells them; closing a namespace is tested in namespaces of `jail`.

use super::*;

#[test]
fn this_host_has_loopback() {
    let addresses = HostAddresses::open().unwrap();
    let current = addresses.current().unwrap();
    assert!(current.contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)), "{current:?}");
    assert_eq!(addresses.have_changed(), Ok(false));
    assert_eq!(addresses.current().unwrap(), current, "asking again gives the same");
}

/// The other end of a point-to-point link is not an address of this host.
#[test]
fn the_local_end_counts() {
    let [own, other] = [[10, 0, 0, 1], [10, 0, 0, 2]];
    let message = |kind, attributes: &[(u16, [u8; 4])]| {
        let start = Message::new(kind, 0, &[0; ADDRESS_HEADER]);
        let add =
            |message: Message, (kind, value): &(u16, [u8; 4])| message.attribute(*kind, value);
        attributes.iter().fold(start, add)
    };
    let both = [(libc::IFA_ADDRESS, other), (libc::IFA_LOCAL, own)];
    let table = [
        (message(libc::RTM_NEWADDR, &both), Some(own)),
        (message(libc::RTM_NEWADDR, &both[..1]), Some(other)),
        (message(libc::RTM_NEWADDR, &[]), None),
        (message(libc::RTM_DELADDR, &both), None),
    ];
    for (message, expected) in table {
        let packet = message.finish(1);
        let found = address_of(messages_in(&packet).next().unwrap());
        assert_eq!(found, expected.map(|octets| IpAddr::V4(octets.into())));
    }
}

/// Without the privilege over the namespace nothing is changed.
#[test]
fn the_subject_of_a_refusal_is_named() {
    if testing::is_root() {
        return testing::skip("root would change this machine's addresses");
    }
    let refused = make_every_address_own(Reach::V4AndV6).unwrap_err();
    assert_eq!(refused.errno, Errno::PERM);
    assert_eq!(refused.subject, "address 192.0.0.8/32 dev lo");
}
