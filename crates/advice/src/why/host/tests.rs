//! Words that are hosts, and answers about them.

use std::path::Path;

use plan::HostPath;
use policy::{Cage, Place, Policy};

use super::{HostQuestion, about_host};

fn policy(words: &str) -> Policy {
    let place = Place {
        project: HostPath::new("/home/u/project").unwrap(),
        home: None,
        own_state: Vec::new(),
    };
    let text = format!("version = 1\n[cage.x]\n{words}");
    let document = policy::text::parse_project("stockade.toml", text.as_bytes(), &place).unwrap();
    match &document.cages["x"] {
        Cage::Enabled(policy) => policy.clone(),
        Cage::Disabled { .. } => panic!("disabled"),
    }
}

/// A path is what a word has always been; a host has to be clear.
#[test]
fn a_word_is_a_host_only_where_that_is_clear() {
    for (word, exists, host) in [
        ("example.com", false, true),
        ("example.com", true, false),
        ("example.com:443", false, true),
        ("Bücher.example", false, true),
        ("localhost", false, true),
        ("localhost:5432", false, true),
        ("db:5432", false, true),
        ("10.0.0.1", false, true),
        ("::1", false, true),
        ("[2001:db8::1]:443", false, true),
        ("src", false, false),
        ("./example.com", false, false),
        ("example.com/x", false, false),
        (".envrc", false, false),
        ("~/x.y", false, false),
        ("a b.txt", false, false),
        ("example.com:0", false, false),
        ("example.com:http", false, false),
        ("127.1", false, false),
        ("https://example.com/x/y", false, true),
        ("https://", false, false),
        ("https:///x", false, false),
    ] {
        assert_eq!(HostQuestion::meant_by(Path::new(word), exists).is_some(), host, "{word}");
    }
    for wrong in ["", "https://", "user@example.com", "*.example.com", "10.0.0.0/8", "a:1-2"] {
        let failure = HostQuestion::parse(wrong).unwrap_err();
        assert!(!failure.help.is_empty(), "{wrong}");
    }
}

/// What a client refused is a URL: it can be asked about as it stands.
#[test]
fn a_url_stands_for_its_host_and_port() {
    for (url, meant) in [
        ("https://example.com", "example.com:443"),
        ("HTTPS://Example.com/x?y=http://other.example/", "example.com:443"),
        ("http://user:secret@example.com/", "example.com:80"),
        ("https://example.com:8443#part", "example.com:8443"),
        ("ssh://git@example.com/a.git", "example.com:22"),
        ("http://[2001:db8::1]/", "[2001:db8::1]:80"),
        ("gopher://example.com/", "example.com"),
    ] {
        assert_eq!(HostQuestion::parse(url).unwrap().to_string(), meant, "{url}");
    }
}

/// K25, K60, K90, K91, K92, K93, K104, K105, K234, K235, T37: the verdict and what it names.
#[test]
fn the_gatekeepers_decision_is_told_with_its_rule() {
    let policy = policy(
        r#"net.allow = [
  "**.example.com:443",
  "*.one.example",
  "bücher.example:80-90",
  "10.1.0.0/16:5432",
]
net.deny = ["bad.example.com", "10.1.2.0/24", "bücher.example:85"]
net.reasons = { "example.org" = "use the mirror" }
net.host_ports = [5432]
net.publish = [8080]
"#,
    );
    for (asked, yes, parts) in [
        (
            "a.example.com:443",
            true,
            &["`**.example.com:443` in `net.allow` (stockade.toml:4)", "private"][..],
        ),
        ("A.B.Example.COM.:443", true, &["`a.b.example.com:443` can be reached"]),
        ("example.com:443", false, &["rule: none covers it", "--net example.com:443"]),
        (
            "a.example.com:80",
            false,
            &["not on port 80", "(stockade.toml:4)", "`--net a.example.com:80`"],
        ),
        ("a.example.com", true, &["can be reached on port 443"]),
        ("a.one.example", true, &["on every port"]),
        ("a.b.one.example:1", false, &["cannot be reached"]),
        ("bücher.example", true, &["on ports 80 to 84, ports 86 to 90", "stockade.toml:6"]),
        (
            "bücher.example:85",
            false,
            &["`xn--bcher-kva.example:85` in `net.deny` (stockade.toml:9)"],
        ),
        ("bad.example.com:443", false, &["`bad.example.com` in `net.deny`", "take that entry out"]),
        ("bad.example.com", false, &["denied by `bad.example.com`"]),
        (
            "example.org:443",
            false,
            &["the program is told: use the mirror", "net.allow = [\"example.org:443\"]"],
        ),
        (
            "10.1.0.1:5432",
            true,
            &["`10.1.0.0/16:5432` in `net.allow` (stockade.toml:7)", "private address"],
        ),
        ("10.1.0.1", true, &["on port 5432"]),
        ("10.1.2.3:5432", false, &["`10.1.2.0/24` in `net.deny`"]),
        ("[::ffff:10.1.0.1]:5432", true, &["`10.1.0.1:5432` can be reached"]),
        ("192.0.2.1:80", false, &["no address or network entry allows", "--net 192.0.2.1:80"]),
        ("169.254.169.254:80", false, &["metadata"]),
        ("224.0.0.1:80", false, &["multicast", "no entry can change that"]),
        ("localhost:5432", true, &["of the host's loopback", "net.host_ports` (stockade.toml:11)"]),
        ("[::1]:5432", true, &["of the host's loopback"]),
        (
            "127.0.0.1:6379",
            false,
            &["the cage's own", "`--host-port 6379`", "net.host_ports = [6379]"],
        ),
        ("localhost:8080", false, &["`8080` in `net.publish` (stockade.toml:12)"]),
        ("localhost:1080", false, &["the gatekeeper listens there"]),
        ("localhost", true, &["`5432` in `net.host_ports`"]),
    ] {
        let answer = about_host(&policy, &HostQuestion::parse(asked).unwrap());
        assert_eq!(answer.yes, yes, "{asked}: {}", answer.text);
        for part in parts {
            assert!(answer.text.contains(part), "{asked}: no `{part}` in: {}", answer.text);
        }
    }
}

/// K25, K49
#[test]
fn a_cage_without_network_says_so() {
    let closed = policy("net.deny = [\"a.example\"]\nnet.reasons = { \"b.example\" = \"never\" }");
    for asked in ["a.example:443", "b.example", "192.0.2.1", "localhost:80", "localhost"] {
        let answer = about_host(&closed, &HostQuestion::parse(asked).unwrap());
        assert!(!answer.yes, "{asked}: {}", answer.text);
    }
    let answer = about_host(&closed, &HostQuestion::parse("a.example:443").unwrap());
    assert!(answer.text.contains("no network but its own loopback"), "{}", answer.text);
}
