//! Tables of addresses and their classes.

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// K223, T42: every class by its first, last and best known addresses.
#[test]
fn every_special_address_has_its_class() {
    use AddressClass::*;
    let table: &[(AddressClass, &[&str])] = &[
        (Loopback, &["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"]),
        (Unspecified, &["0.0.0.0", "0.255.255.255", "::"]),
        (LinkLocal, &["169.254.0.0", "169.254.255.255", "fe80::", "febf:ffff::1"]),
        (Private, &["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255"]),
        (Private, &["192.168.0.0", "192.168.255.255", "fec0::1", "feff::1"]),
        (CarrierShared, &["100.64.0.0", "100.127.255.255"]),
        (UniqueLocal, &["fc00::", "fdff:ffff::1"]),
        (Multicast, &["224.0.0.0", "239.255.255.255", "ff00::", "ff02::1"]),
        (Broadcast, &["255.255.255.255"]),
        (Metadata, &["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"]),
        (Metadata, &["fd20:ce::254", "192.0.0.192", "169.254.170.2"]),
        (Synthetic, &["198.18.0.0", "198.19.255.255", "100::", "100::ffff:ffff:ffff:ffff"]),
        (Reserved, &["240.0.0.0", "255.255.255.254", "192.0.0.1", "4000::1", "100:0:0:1::"]),
        (Translated, &["192.88.99.1", "2002:808:808::1", "2001::f7f7:f7f7", "::8.8.8.8"]),
        (Translated, &["64:ff9b:1::8.8.8.8", "::ffff:0:808:808"]),
    ];
    for (expected, texts) in table {
        for text in *texts {
            assert_eq!(class(address(text)), Some(*expected), "{text}");
        }
    }
}

/// K223, T44: an IPv4 address is what it is in every form it can hide in.
#[test]
fn hidden_addresses_are_seen() {
    use AddressClass::*;
    let table = [
        ("::ffff:127.0.0.1", Loopback),
        ("::ffff:169.254.169.254", Metadata),
        ("::ffff:0:127.0.0.1", Loopback),
        ("::127.0.0.1", Loopback),
        ("64:ff9b::10.0.0.1", Private),
        ("64:ff9b::169.254.169.254", Metadata),
        ("64:ff9b:1::192.168.0.1", Private),
        ("2002:7f00:1::", Loopback),
        ("2002:a9fe:a9fe::1", Metadata),
        // Teredo stores the address inverted.
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", Loopback),
        ("2001:0:4136:e378:8000:63bf:5601:5601", Metadata),
    ];
    for (text, expected) in table {
        assert_eq!(class(address(text)), Some(expected), "{text}");
    }
}

/// K223: what is on the internet, or reserved for documentation, has no class.
#[test]
fn ordinary_addresses_have_none() {
    let ordinary = [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "128.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.2.1",
        "192.0.1.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.100.7",
        "203.0.113.9",
        "223.255.255.255",
        "2001:db8::1",
        "2606:4700::1111",
        "3fff::1",
        "2001:4860:4860::8888",
        "64:ff9b::8.8.8.8",
        "::ffff:8.8.8.8",
    ];
    for text in ordinary {
        assert_eq!(class(address(text)), None, "{text}");
    }
}

/// K223: the host's addresses are known in every form, whichever form they were given in.
#[test]
fn the_hosts_addresses_are_known_in_every_form() {
    let host: HostAddresses =
        ["::ffff:203.0.113.5", "2001:db8::5"].map(address).into_iter().collect();
    for own in ["203.0.113.5", "::ffff:203.0.113.5", "64:ff9b::203.0.113.5", "2001:db8::5"] {
        assert!(host.contains(address(own)), "{own}");
    }
    assert!(!host.contains(address("203.0.113.6")));
}

/// The words are different from each other and can be used as a part of a code.
#[test]
fn words_are_plain_and_different() {
    let words: BTreeSet<&str> = AddressClass::ALL.into_iter().map(AddressClass::name).collect();
    assert_eq!(words.len(), AddressClass::ALL.len());
    assert!(words.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')));
}
