//! `net` through defaults, `extends` and flags, and `[network]`.

use super::{codes, policy, project, user};
use crate::network_settings::{NetworkSettings, Proxy};
use crate::text::WrittenRules;
use crate::{Network, Policy};

fn ports(net: &Network) -> (Vec<u16>, Vec<u16>) {
    (net.host_ports.keys().copied().collect(), net.publish.keys().copied().collect())
}

/// K19: lists of `[defaults]` are joined with a cage's own.
#[test]
fn defaults_reach_every_cage() {
    let document = project(
        r#"version = 1
[defaults]
net = { host_ports = [1], publish = [2], reasons = { "a.example" = "one", "b.example" = "two" } }
[cage.x]
net = { host_ports = [3], reasons = { "a.example" = "own" } }
[cage.y]
net.publish = [1]
"#,
    );
    assert_eq!(codes(document.clone()), ["conflicting-rules"], "1 leads outward and inward in `y`");
    let text = "version = 1\n[defaults]\nnet = { host_ports = [1], publish = [2], reasons = { \"a.example\" = \"one\", \"b.example\" = \"two\" } }\n[cage.x]\nnet = { host_ports = [3], reasons = { \"a.example\" = \"own\" } }";
    let net = policy(&project(text).unwrap(), "x").net;
    assert_eq!(ports(&net), (vec![1, 3], vec![2]));
    assert_eq!(net.reasons.values().collect::<Vec<_>>(), ["own", "two"]);
}

/// V19: an extending cage has the other's ports or fewer; sentences add up.
#[test]
fn extending_only_takes_ports_away() {
    let document = project(
        r#"version = 1
[cage.wide]
net = { host_ports = [1, 2], publish = [3], reasons = { "a.example" = "one", "b.example" = "two" } }
[cage.same]
extends = "wide"
[cage.less]
extends = "wide"
net = { host_ports = [2], publish = [], reasons = { "a.example" = "own" } }
"#,
    )
    .unwrap();
    assert_eq!(policy(&document, "same").net, policy(&document, "wide").net);
    let less = policy(&document, "less").net;
    assert_eq!(ports(&less), (vec![2], vec![]));
    assert_eq!(less.reasons.values().collect::<Vec<_>>(), ["own", "two"]);
    for more in ["host_ports = [3]", "publish = [1]"] {
        let text = format!(
            "version = 1\n[cage.wide]\nnet = {{ host_ports = [1, 2], publish = [3] }}\n[cage.more]\nextends = \"wide\"\nnet.{more}"
        );
        assert_eq!(codes(project(&text)), ["extends-widens"], "{more}");
    }
}

/// K19, K25: several in one flag, and a flag wins over the file's other direction.
#[test]
fn flags_take_lists() {
    let read = |net: &[&str], host_ports: &[&str], publish: &[&str]| {
        let [net, host_ports, publish] = [net, host_ports, publish]
            .map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let written = WrittenRules { net, host_ports, publish, ..WrittenRules::default() };
        written.read(&super::path("/"), None, &[]).map_err(|error| error.to_string())
    };
    let hosts = "example.com:443,*.bücher.example";
    let flags = read(&[hosts], &["5432,6379"], &["8080"]).unwrap();
    let document =
        project("version = 1\n[cage.x]\nnet = { host_ports = [8080, 1], publish = [6379] }");
    let joined = policy(&document.unwrap(), "x").with_user_flags(&flags).net;
    let allowed: Vec<String> = joined.allow.keys().map(ToString::to_string).collect();
    assert_eq!(allowed, ["example.com:443", "*.xn--bcher-kva.example"]);
    assert_eq!(ports(&joined), (vec![1, 5432, 6379], vec![8080]));
    assert_eq!(joined.host_ports[&5432].to_string(), "--host-port 5432");
    let refused = read(&[], &["8080"], &["8080"]).unwrap_err();
    assert_eq!(refused, "`--host-port 8080` and `--publish 8080` contradict each other");
    for wrong in ["0", "65536", "1080", "", "1,", "80-90", "http", "+1"] {
        assert!(read(&[], &[wrong], &[]).is_err(), "{wrong}");
        assert!(read(&[], &[], &[wrong]).is_err(), "{wrong}");
    }
    for wrong in ["", "example.com,", "example.com, b.example"] {
        assert!(read(&[wrong], &[], &[]).is_err(), "{wrong}");
    }
}

/// K25, K49
#[test]
fn what_asks_for_nothing_is_not_connected() {
    for (words, nothing) in [
        ("", true),
        ("net = {}", true),
        ("net.allow = []", true),
        ("net.deny = [\"a.example\"]", true),
        ("net.reasons = { \"a.example\" = \"x\" }", true),
        ("net.allow = [\"a.example\"]", false),
        ("net.host_ports = [1]", false),
        ("net.publish = [1]", false),
    ] {
        let document = project(&format!("version = 1\n[cage.x]\n{words}")).unwrap();
        let mut net = policy(&document, "x").net;
        assert_eq!(net.asks_for_nothing(), nothing, "{words}");
        net.disconnect();
        assert!(net.asks_for_nothing());
    }
    assert!(Policy::closed("x").net.asks_for_nothing());
}

/// K69, K206
#[test]
fn the_user_says_how_the_network_is_reached() {
    assert_eq!(user("version = 1").unwrap().network, NetworkSettings::default());
    let document = user(
        r#"version = 1
[network]
resolvers = ["10.0.0.2", "10.0.0.3:5353", "::1", "[2001:db8::1]:5353"]
proxy = "http://user:pass@proxy.corp:3128"
log_allowed = 0.25
"#,
    )
    .unwrap();
    let NetworkSettings { resolvers, proxy, log_allowed_per_million } = document.network;
    let resolvers: Vec<String> = resolvers.iter().map(ToString::to_string).collect();
    assert_eq!(resolvers, ["10.0.0.2:53", "10.0.0.3:5353", "[::1]:53", "[2001:db8::1]:5353"]);
    let Proxy::At(address) = proxy else { panic!("{proxy:?}") };
    assert_eq!(address.to_string(), "proxy.corp:3128");
    assert_eq!(address.credentials, Some(("user".to_owned(), "pass".to_owned())));
    assert_eq!(log_allowed_per_million, 250_000);
    for (word, expected) in [("proxy = \"environment\"", Proxy::Environment), ("", Proxy::None)] {
        let document = user(&format!("version = 1\n[network]\n{word}")).unwrap();
        assert_eq!(document.network.proxy, expected);
    }
}

/// All at once, each with its code.
#[test]
fn wrong_settings_are_refused() {
    for (words, expected) in [
        ("resolver = []", vec!["unknown-word"]),
        ("resolvers = \"10.0.0.2\"", vec!["wrong-type"]),
        ("resolvers = [\"dns.example\"]", vec!["network-setting"]),
        ("resolvers = [\"0.0.0.0\"]", vec!["network-setting"]),
        ("resolvers = [\"10.0.0.2:0\"]", vec!["network-setting"]),
        ("resolvers = [\"224.0.0.1\"]", vec!["network-setting"]),
        ("proxy = \"socks5://proxy:1080\"", vec!["network-setting"]),
        ("proxy = true", vec!["wrong-type"]),
        ("log_allowed = 1.5", vec!["out-of-range"]),
        ("log_allowed = -1", vec!["out-of-range"]),
        ("log_allowed = nan", vec!["out-of-range"]),
        ("log_allowed = \"all\"", vec!["wrong-type"]),
        (
            "resolvers = [\"x\"]\nproxy = \"x\"\nlog_allowed = 2",
            vec!["network-setting", "network-setting", "out-of-range"],
        ),
    ] {
        assert_eq!(codes(user(&format!("version = 1\n[network]\n{words}"))), expected, "{words}");
    }
}
