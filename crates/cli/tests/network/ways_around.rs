//! Ways around the rules, from inside a cage that allows one name: each works uncaged, fails at once
//! in the cage, and reaches no server on the way.

use std::fs;

use serde_json::Value;

use super::world::{World, data};

/// T36, T37, K6, K81, K112, K115, K117, K223: an address is not a name, however it is written.
#[test]
fn addresses_instead_of_names() {
    let ways = [
        "direct_v4",
        "direct_v6",
        "direct_mapped",
        "direct_private",
        "direct_metadata",
        "direct_decimal",
        "direct_octal",
        "direct_host",
    ];
    closed(&["web.example"], &ways);
}

/// T43, K80, K97, K98, K111: names are asked of the gatekeeper alone, whoever they are sent to.
#[test]
fn names_by_other_ways() {
    let ways = [
        "dns_elsewhere",
        "dns_elsewhere_v6",
        "dns_over_tcp",
        "dns_over_tls",
        "dns_over_https",
        "dns_over_https_by_name",
        "multicast_dns",
    ];
    let Some(world) = closed(&["web.example"], &ways) else { return };
    let asked = world.names_asked();
    assert!(!asked.iter().any(|name| name.contains("exfiltration")), "{asked:?}");
}

/// T44, K115, K116: what is not TCP is refused, not dropped.
#[test]
fn what_is_not_tcp() {
    closed(&["web.example"], &["udp_443", "udp_443_v6", "udp_any", "echo_request"]);
}

/// T44, K116: refused datagrams are reported.
#[test]
fn refused_datagrams_are_reported() {
    let Some(world) = World::new() else { return };
    fs::copy(data("ways.py"), world.place.project.join("ways.py")).unwrap();
    let done = world.shell(&["web.example"], "/usr/bin/python3 ways.py udp_443");
    done.is_refused(super::world::FAR, 443);
}

/// T39: the name inside TLS is the name that was connected to.
#[test]
fn other_names_inside_tls() {
    let ways = ["other_server_name", "no_server_name", "server_name_in_pieces"];
    closed(&["web.example"], &ways);
}

/// T41: every request of a connection is for the host that it was made for.
#[test]
fn other_hosts_inside_http() {
    let ways = [
        "other_host",
        "no_host",
        "two_hosts",
        "absolute_address",
        "second_request",
        "pipelined_request",
        "smuggled_request",
        "http2_without_asking",
        "line_feeds_alone",
    ];
    closed(&["web.example"], &ways);
}

/// T42, K223: an allowed name that leads inward leads nowhere.
#[test]
fn names_that_lead_inward() {
    let ways = [
        "name_of_loopback",
        "name_of_private",
        "name_of_metadata",
        "name_of_unspecified",
        "name_of_mapped",
        "name_through_alias",
        "name_of_host",
        "rebinding",
    ];
    let allowed = [
        "web.example",
        "loop.example",
        "internal.example",
        "metadata.example",
        "unspecified.example",
        "mapped.example",
        "inward.example",
        "host.example",
        "rebind.example",
    ];
    let Some(world) = closed(&allowed, &ways) else { return };
    // All its addresses had their turn.
    let asked = world.names_asked();
    assert!(asked.iter().filter(|name| *name == "rebind.example").count() >= 4, "{asked:?}");
}

/// T42, K223: an entry for the address opens what the entry for the name does not.
#[test]
fn an_entry_for_the_address_lets_a_name_lead_inward() {
    let Some(world) = World::new() else { return };
    let line = "curl -sSf -m 20 http://internal.example/";
    world.shell(&["internal.example"], line).is_refused("internal.example", 80);
    world.shell(&["internal.example", "10.99.0.2:80"], line).works();
    world.shell(&["internal.example", "10.99.0.2:443"], line).is_refused("internal.example", 80);
}

/// T45, K113: the host's own loopback is another one.
#[test]
fn loopback_of_the_host() {
    closed(&["web.example"], &["host_loopback", "host_loopback_v6", "host_localhost"]);
}

/// T46: whoever connects, the answer is the same.
#[test]
fn another_process_of_the_cage() {
    closed(&["web.example"], &["in_child"]);
}

/// T45, K114: what another cage listens on is out of reach.
#[test]
fn another_cage() {
    let Some(world) = World::new() else { return };
    let listen = "python3 -m http.server 9000 >/dev/null 2>&1 & \
         until curl -sSf -m 20 --noproxy '*' http://127.0.0.1:9000/ >/dev/null; do sleep 0.1; done; \
         touch listening; sleep 600";
    let report = world.file("other.json");
    let mut other = world.caged(&["--net", "web.example"], &report);
    let mut other = other.args(["--", "sh", "-c", listen]).spawn().unwrap();
    while !world.place.project.join("listening").exists() {
        assert!(other.try_wait().unwrap().is_none(), "the other cage has ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for address in ["127.0.0.1", "[::1]", "203.0.113.1", "198.18.0.1", "localhost"] {
        let line = format!("curl -sSf -m 10 --noproxy '*' http://{address}:9000/");
        world.shell(&["web.example"], &line).fails_at_once();
        let line = format!("curl -sSf -m 10 --proxytunnel --noproxy '' http://{address}:9000/");
        world.shell(&["web.example"], &line).fails_at_once();
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

/// T38, K49: no entry at all is no network at all.
#[test]
fn nothing_allowed() {
    let Some(world) = World::new() else { return };
    let line = "test \"$(ls /sys/class/net 2>/dev/null)\" = '' && \
         ! curl -sSf -m 5 http://web.example/ && ! curl -sSf -m 5 http://203.0.113.2/ && \
         ! curl -sSf -m 5 http://127.0.0.1:3128/ && ! curl -sSf -m 5 http://127.0.0.1:1080/ && \
         test -z \"$HTTP_PROXY\"";
    world.run(&["--no-net"], &["sh", "-c", line]).works();
    assert_eq!(world.contacts("far"), Vec::<Value>::new());
    assert_eq!(world.names_asked(), Vec::<String>::new());
}

/// Tries each way uncaged, where it must lead through, and in a cage, where it must not.
fn closed(allowed: &[&str], ways: &[&str]) -> Option<World> {
    let world = World::new()?;
    fs::copy(data("ways.py"), world.place.project.join("ways.py")).unwrap();
    let line = |way: &str| format!("/usr/bin/python3 ways.py {way}");
    let mut faults = Vec::new();
    for way in ways {
        let twin = world.uncaged_shell(&line(way));
        if twin.code != 0 {
            faults.push(format!("{way} does not work uncaged: {}", twin.stderr.trim()));
        }
    }
    // A way that fails for want of a program would pass for a closed one.
    world.shell(allowed, &line("allowed")).works();
    world.forget();
    for way in ways {
        let caged = world.shell(allowed, &line(way));
        let said = caged.ended.stderr.trim();
        let shown = format!("exit code {} after {:?}: {said}", caged.ended.code, caged.took);
        match caged.ended.code {
            0 => faults.push(format!("{way} led through: {shown}")),
            122 | 123 | 125 => faults.push(format!("{way}: there was no cage: {shown}")),
            _ if caged.took.as_secs() >= 2 => faults.push(format!("{way} took long: {shown}")),
            _ => {}
        }
        let breaches: Vec<Value> = ["far", "near"]
            .iter()
            .flat_map(|place| world.contacts(place))
            .filter(is_breach)
            .collect();
        if !breaches.is_empty() {
            faults.push(format!("{way} reached {breaches:?}: {shown}"));
        }
        world.forget_contacts();
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Some(world)
}

/// A connection to the allowed server is none; anything on it that is meant for another is.
fn is_breach(contact: &Value) -> bool {
    let names = [&contact["host"], &contact["server_name"]];
    let other = names.iter().any(|name| name.as_str().is_some_and(|name| name != "web.example"));
    let web = contact["what"] == "connection"
        && (contact["port"] == 80 || contact["port"] == 443)
        && ["::ffff:203.0.113.2", "2001:db8:1::2"].iter().any(|own| contact["address"] == *own);
    contact["what"] == "datagram" || other || (contact["what"] == "connection" && !web)
}
