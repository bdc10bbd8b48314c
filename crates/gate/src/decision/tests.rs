//! Tables and properties of the decision.

use plan::GatekeeperPlan;
use plan::destination::Destination;
use proptest::prelude::*;

use super::*;
use crate::addresses::AddressClass;

fn rules(allow: &[&str], deny: &[&str]) -> Rules {
    rules_with_reasons(allow, deny, &[])
}

fn rules_with_reasons(allow: &[&str], deny: &[&str], reasons: &[(&str, &str)]) -> Rules {
    let parse = |texts: &[&str]| -> Vec<Destination> {
        texts.iter().map(|text| text.parse().unwrap_or_else(|_| panic!("{text}"))).collect()
    };
    Rules::new(&GatekeeperPlan {
        allow: parse(allow),
        deny: parse(deny),
        reasons: reasons.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
        ..GatekeeperPlan::default()
    })
}

/// What comes of a target: the entry that allows it, or the code of the refusal.
fn outcome(rules: &Rules, host: &str, port: u16) -> String {
    let target = match Target::parse(host.as_bytes()) {
        Ok(target) => target,
        Err(denial) => return denial.code.to_string(),
    };
    said(decide(rules, &target, port))
}

fn said(verdict: Verdict) -> String {
    match verdict {
        Verdict::Allow { rule } => format!("by {rule}"),
        Verdict::Deny(denial) => denial.code.to_string(),
    }
}

fn check(rules: &Rules, table: &[(&str, u16, &str)]) {
    for (host, port, expected) in table {
        assert_eq!(outcome(rules, host, *port), *expected, "{host}:{port}");
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap_or_else(|_| panic!("{text}"))
}

fn vetted(rules: &Rules, address: &str, port: u16) -> Result<String, DenialCode> {
    let host: HostAddresses = ["203.0.113.77".parse().unwrap()].into_iter().collect();
    vet(rules, &host, address.parse().unwrap(), port)
        .map(|vetted| vetted.socket_address().to_string())
        .map_err(|denial| denial.code)
}

/// T38: nothing allowed is everything denied.
#[test]
fn nothing_is_allowed_by_nothing() {
    let rules = rules(&[], &[]);
    assert!(rules.allow_nothing());
    check(&rules, &[("example.com", 443, "not_allowed"), ("203.0.113.1", 443, "not_allowed")]);
    assert_eq!(said(decide_question(&rules, &name("example.com"))), "not_allowed");
}

/// K90, K91, K92, T37: apex, one label, any labels.
#[test]
fn patterns_cover_what_they_say() {
    let rules = rules(&["one.example", "*.two.example", "**.three.example"], &[]);
    check(
        &rules,
        &[
            ("one.example", 1, "by one.example"),
            ("a.one.example", 1, "not_allowed"),
            ("xone.example", 1, "not_allowed"),
            ("two.example", 1, "not_allowed"),
            ("a.two.example", 1, "by *.two.example"),
            ("a.b.two.example", 1, "not_allowed"),
            ("atwo.example", 1, "not_allowed"),
            ("three.example", 1, "not_allowed"),
            ("a.three.example", 1, "by **.three.example"),
            ("a.b.c.three.example", 1, "by **.three.example"),
            ("one.example.evil.example", 1, "not_allowed"),
        ],
    );
}

/// K104: an entry with a port is for that port; port 0 is for nobody.
#[test]
fn ports_have_to_agree() {
    let rules =
        rules(&["a.example:443", "b.example:8000-8002", "c.example", "192.0.2.0/24:22"], &[]);
    check(
        &rules,
        &[
            ("a.example", 443, "by a.example:443"),
            ("a.example", 80, "port_not_allowed"),
            ("b.example", 7999, "port_not_allowed"),
            ("b.example", 8000, "by b.example:8000-8002"),
            ("b.example", 8002, "by b.example:8000-8002"),
            ("b.example", 8003, "port_not_allowed"),
            ("c.example", 1, "by c.example"),
            ("c.example", 65535, "by c.example"),
            ("c.example", 0, "port_not_allowed"),
            ("192.0.2.9", 22, "by 192.0.2.0/24:22"),
            ("192.0.2.9", 23, "port_not_allowed"),
        ],
    );
}

/// Deny wins, whichever is more specific.
#[test]
fn deny_wins() {
    let allow = ["**.example.com", "api.bad.example.com:443", "192.0.2.0/24", "d.example:1-100"];
    let deny = ["**.bad.example.com", "x.example.com:22", "192.0.2.7", "d.example:1-50"];
    let rules = rules(&allow, &deny);
    check(
        &rules,
        &[
            ("api.bad.example.com", 443, "denied_by_rule"),
            ("bad.example.com", 443, "by **.example.com"),
            ("x.example.com", 22, "denied_by_rule"),
            ("x.example.com", 23, "by **.example.com"),
            ("192.0.2.7", 1, "denied_by_rule"),
            ("::ffff:192.0.2.7", 1, "denied_by_rule"),
            ("192.0.2.8", 1, "by 192.0.2.0/24"),
            ("d.example", 50, "denied_by_rule"),
            ("d.example", 51, "by d.example:1-100"),
        ],
    );
    assert_eq!(vetted(&rules, "192.0.2.7", 5), Err(DenialCode::DeniedByRule));
    assert_eq!(vetted(&rules, "64:ff9b::192.0.2.7", 5), Err(DenialCode::DeniedByRule));
}

/// K235: an entry with a port answers questions about its name, unless every port is denied.
#[test]
fn questions_are_answered_for_any_port() {
    let rules = rules(
        &["a.example:443", "b.example:80", "c.example:1-100", "192.0.2.0/24"],
        &["b.example:80", "c.example:1-49", "c.example:50-99"],
    );
    let table = [
        ("a.example", "by a.example:443"),
        ("b.example", "denied_by_rule"),
        ("c.example", "by c.example:1-100"),
        ("d.example", "not_allowed"),
    ];
    for (host, expected) in table {
        assert_eq!(said(decide_question(&rules, &name(host))), expected, "{host}");
    }
}

/// K234, T37: one form for every way of writing a host, and no form for what is none.
#[test]
fn hosts_have_one_form() {
    let rules = rules(&["example.com", "xn--bcher-kva.example", "192.0.2.1", "2001:db8::1"], &[]);
    let long = format!("{}.example.com", "a.".repeat(150));
    check(
        &rules,
        &[
            ("EXAMPLE.com", 1, "by example.com"),
            ("example.com.", 1, "by example.com"),
            ("example.com..", 1, "bad_name"),
            (".example.com", 1, "bad_name"),
            ("example.com\0.evil.com", 1, "bad_name"),
            ("example.com\0", 1, "bad_name"),
            ("example.com\r\n", 1, "bad_name"),
            (" example.com", 1, "bad_name"),
            ("user@example.com", 1, "bad_name"),
            ("example.com:443", 1, "bad_name"),
            ("", 1, "bad_name"),
            (".", 1, "bad_name"),
            ("*", 1, "bad_name"),
            ("*.example.com", 1, "bad_name"),
            ("bücher.example", 1, "bad_name"),
            ("XN--bcher-kva.example", 1, "by xn--bcher-kva.example"),
            (&long, 1, "bad_name"),
            ("192.0.2.1", 1, "by 192.0.2.1"),
            ("::ffff:192.0.2.1", 1, "by 192.0.2.1"),
            ("[::ffff:192.0.2.1]", 1, "by 192.0.2.1"),
            ("[192.0.2.1]", 1, "bad_name"),
            ("192.0.2.1.", 1, "bad_name"),
            ("192.0.513", 1, "bad_name"),
            ("3221225985", 1, "bad_name"),
            ("0xc0000201", 1, "bad_name"),
            ("0300.0.2.1", 1, "bad_name"),
            ("[2001:DB8:0::1]", 1, "by 2001:db8::1"),
            ("2001:db8::1", 1, "by 2001:db8::1"),
            ("[2001:db8::1%eth0]", 1, "bad_name"),
            ("[2001:db8::1", 1, "bad_name"),
            ("fe80::1%1", 1, "bad_name"),
        ],
    );
}

/// What a refusal shows of a host is printable and short.
#[test]
fn bad_names_are_shown_safely() {
    let denial = Target::parse(&[b"\x1b[31m".as_slice(), &[0xff; 400]].concat()).unwrap_err();
    assert!(denial.reason.chars().all(|c| !c.is_control()), "{}", denial.reason);
    assert!(denial.reason.len() < 400, "{}", denial.reason);
}

/// K93, K105: a network says nothing about names, a name nothing about addresses.
#[test]
fn names_and_addresses_are_apart() {
    let rules = rules(&["192.0.2.0/24", "example.com"], &["198.51.100.0/24", "0.0.0.0/0:25"]);
    check(
        &rules,
        &[
            ("192.0.2.1", 1, "by 192.0.2.0/24"),
            ("other.example", 1, "not_allowed"),
            ("example.com", 25, "by example.com"),
            ("203.0.113.1", 1, "not_allowed"),
        ],
    );
    assert_eq!(said(decide_question(&rules, &name("other.example"))), "not_allowed");
    assert_eq!(said(decide_question(&rules, &name("example.com"))), "by example.com");
}

/// K223, T42: where an allowed name leads to a special address, only an entry that covers address and
/// port lets it be dialled.
#[test]
fn every_class_needs_an_entry_of_its_own() {
    let table = [
        ("127.0.0.1", "127.0.0.0/8", AddressClass::Loopback),
        ("::1", "::1", AddressClass::Loopback),
        ("0.0.0.0", "0.0.0.0/8", AddressClass::Unspecified),
        ("::", "::/128", AddressClass::Unspecified),
        ("169.254.1.1", "169.254.0.0/16", AddressClass::LinkLocal),
        ("fe80::1", "fe80::/10", AddressClass::LinkLocal),
        ("10.1.2.3", "10.0.0.0/8", AddressClass::Private),
        ("100.64.0.1", "100.64.0.0/10", AddressClass::CarrierShared),
        ("fd12::1", "fc00::/7", AddressClass::UniqueLocal),
        ("224.0.0.1", "224.0.0.0/4", AddressClass::Multicast),
        ("255.255.255.255", "255.255.255.255", AddressClass::Broadcast),
        ("169.254.169.254", "169.254.169.254", AddressClass::Metadata),
        ("fd00:ec2::254", "fd00:ec2::254", AddressClass::Metadata),
        ("198.18.0.1", "198.18.0.0/15", AddressClass::Synthetic),
        ("100::1", "100::/64", AddressClass::Synthetic),
        ("2002:808:808::1", "2002::/16", AddressClass::Translated),
        ("64:ff9b::10.0.0.1", "64:ff9b::/96", AddressClass::Private),
        ("240.0.0.1", "240.0.0.0/4", AddressClass::Reserved),
        ("203.0.113.77", "203.0.113.0/24", AddressClass::HostOwn),
    ];
    for (address, network, class) in table {
        let refused = Err(DenialCode::AddressClass(class));
        assert_eq!(vetted(&rules(&["name.example"], &[]), address, 80), refused, "{address}");
        let with_port = format!("[{network}]:80");
        let entry = if network.contains(':') { with_port } else { format!("{network}:80") };
        let covering = rules(&["name.example", &entry], &[]);
        let expected = SocketAddr::new(address.parse().unwrap(), 80).to_string();
        assert_eq!(vetted(&covering, address, 80), Ok(expected), "{address} by {entry}");
        assert_eq!(vetted(&covering, address, 81), refused, "{address} by {entry}");
    }
}

/// T42, T44: a mapped address is vetted and dialled as what it is; an entry for an IPv4 network does
/// not open the way through a translator.
#[test]
fn forms_of_an_address() {
    let rules = rules(&["10.0.0.0/8"], &[]);
    assert_eq!(vetted(&rules, "::ffff:10.0.0.1", 9), Ok("10.0.0.1:9".to_owned()));
    let private = Err(DenialCode::AddressClass(AddressClass::Private));
    assert_eq!(vetted(&rules, "64:ff9b::10.0.0.1", 9), private);
    assert_eq!(vetted(&rules, "64:ff9b::8.8.8.8", 9), Ok("[64:ff9b::808:808]:9".to_owned()));
    assert_eq!(vetted(&rules, "2001:db8::1", 9), Ok("[2001:db8::1]:9".to_owned()));
}

/// What the policy wants to be told about a host comes with its refusal, the most specific first.
#[test]
fn reasons_are_told() {
    let reasons = [
        ("**.example.com", "use the mirror"),
        ("db.example.com", "ask the operators"),
        ("10.0.0.0/8", "inside only"),
        ("10.1.0.0/16", "the laboratory"),
    ];
    let rules = rules_with_reasons(&["ok.example.com"], &["db.example.com"], &reasons);
    let told = |host: &str| match decide(&rules, &Target::parse(host.as_bytes()).unwrap(), 1) {
        Verdict::Deny(denial) => denial.to_string(),
        Verdict::Allow { .. } => panic!("{host}"),
    };
    let table = [
        ("a.example.com", "no entry allows `a.example.com` (use the mirror)"),
        ("db.example.com", "`db.example.com` is denied by `db.example.com` (ask the operators)"),
        ("10.1.1.1", "no address or network entry allows `10.1.1.1` (the laboratory)"),
        ("10.2.1.1", "no address or network entry allows `10.2.1.1` (inside only)"),
        ("else.example", "no entry allows `else.example`"),
    ];
    for (host, expected) in table {
        assert_eq!(told(host), expected);
    }
}

fn any_host() -> impl Strategy<Value = String> {
    "[ab]\\.([ab]\\.)?(x|y)\\.example"
}

fn any_entry() -> impl Strategy<Value = String> {
    let hosts = prop_oneof![
        "([ab]\\.)?[ab]\\.[xy]\\.example",
        "\\*\\.([ab]\\.)?[xy]\\.example",
        "\\*\\*\\.([ab]\\.)?[xy]\\.example",
        "192\\.0\\.2\\.[0-3]",
        Just("192.0.2.0/30".to_owned()),
    ];
    (hosts, prop_oneof![Just(""), Just(":1"), Just(":1-2")]).prop_map(|(h, p)| format!("{h}{p}"))
}

fn any_entries() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any_entry(), 0..5)
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

fn is_allowed(rules: &Rules, target: &Target, port: u16) -> bool {
    matches!(decide(rules, target, port), Verdict::Allow { .. })
}

proptest! {
    /// More allow entries never take away, more deny entries never give, and what one denies stays
    /// denied.
    #[test]
    fn entries_only_work_their_own_way(
        allow in any_entries(), deny in any_entries(), more in any_entry(),
        host in any_host(), last in 0u8..4, port in 1u16..4,
    ) {
        let plain = rules(&borrowed(&allow), &borrowed(&deny));
        let more_allow = rules(&[borrowed(&allow), vec![&more]].concat(), &borrowed(&deny));
        let more_deny = rules(&borrowed(&allow), &[borrowed(&deny), vec![&more]].concat());
        let denier: Destination = more.parse().unwrap();
        let address = IpAddr::from([192, 0, 2, last]);
        for target in [Target::Name(name(&host)), Target::Address(address)] {
            let before = is_allowed(&plain, &target, port);
            prop_assert!(!before || is_allowed(&more_allow, &target, port));
            prop_assert!(before || !is_allowed(&more_deny, &target, port));
            let covered = match &target {
                Target::Name(name) => denier.covers_name(name, port),
                Target::Address(address) => denier.covers_address(*address, port),
            };
            prop_assert!(!covered || !is_allowed(&more_deny, &target, port));
        }
    }

    /// K93: taking every network out changes nothing for names, taking every name out nothing for
    /// addresses.
    #[test]
    fn names_and_networks_do_not_touch(
        allow in any_entries(), deny in any_entries(), host in any_host(), last in 0u8..4, port in 1u16..4,
    ) {
        let is_network = |text: &&str| text.starts_with("192");
        let keep = |texts: &[String], networks: bool| -> Vec<String> {
            borrowed(texts).into_iter().filter(|t| is_network(t) == networks).map(str::to_owned).collect()
        };
        let all = rules(&borrowed(&allow), &borrowed(&deny));
        let named = rules(&borrowed(&keep(&allow, false)), &borrowed(&keep(&deny, false)));
        let numbered = rules(&borrowed(&keep(&allow, true)), &borrowed(&keep(&deny, true)));
        let host = name(&host);
        prop_assert_eq!(decide_question(&all, &host), decide_question(&named, &host));
        let target = Target::Name(host);
        prop_assert_eq!(decide(&all, &target, port), decide(&named, &target, port));
        let target = Target::Address(IpAddr::from([192, 0, 2, last]));
        prop_assert_eq!(decide(&all, &target, port), decide(&numbered, &target, port));
    }

    /// K235: a question is answered exactly if some port may be reached.
    #[test]
    fn a_question_is_answered_if_a_port_is_open(
        allow in any_entries(), deny in any_entries(), host in any_host(),
    ) {
        let rules = rules(&borrowed(&allow), &borrowed(&deny));
        let target = Target::Name(name(&host));
        let open = [1, 2, 3, 65535].into_iter().any(|port| is_allowed(&rules, &target, port));
        let answered = matches!(decide_question(&rules, &name(&host)), Verdict::Allow { .. });
        prop_assert_eq!(open, answered);
    }

    /// K223: no special address gets through without a network entry, in whatever form it comes.
    #[test]
    fn special_addresses_never_pass_unallowed(bits: u128, high in prop::sample::select(&[
        0u16, 0x64, 0x100, 0x2001, 0x2002, 0xfc00, 0xfe80, 0xff02, 0x2606,
    ]), port: u16) {
        let v6 = IpAddr::V6(Ipv6Addr::from_bits(u128::from(high) << 112 | bits >> 16));
        let v4 = IpAddr::from(bits.to_be_bytes()[..4].first_chunk::<4>().copied().unwrap());
        let rules = rules(&["**.example.com"], &[]);
        for address in [v4, v6] {
            let special = crate::addresses::class(address).is_some();
            prop_assert_eq!(vet(&rules, &HostAddresses::default(), address, port).is_err(), special);
        }
    }
}

/// M49, T42: the whole public network is every name, and no address that nobody means by a name.
#[test]
fn every_name_leads_to_public_addresses_alone() {
    let rules = Rules::new(&GatekeeperPlan {
        allow: vec![Destination::every_name()],
        deny: vec!["bad.example".parse().unwrap()],
        ..GatekeeperPlan::default()
    });
    check(
        &rules,
        &[
            ("example.com", 443, "by **"),
            ("a.b.example.org", 22, "by **"),
            ("bad.example", 443, "denied_by_rule"),
            ("192.0.2.1", 443, "not_allowed"),
            ("10.0.0.1", 443, "not_allowed"),
        ],
    );
    assert!(vetted(&rules, "93.184.216.34", 443).is_ok());
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "203.0.113.77", "::1", "fe80::1"] {
        assert!(vetted(&rules, address, 443).is_err(), "{address}");
    }
}
