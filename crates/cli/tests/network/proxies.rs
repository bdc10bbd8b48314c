//! The proxies on the cage's loopback, spoken to by hand: what they answer to every kind of request,
//! and to names that are written in unusual ways.

use std::fs;

use super::world::{World, data};

/// K101, K103, K105, K107, K110, T40: SOCKS 5.
#[test]
fn socks5() {
    check(&[
        ("socks5 name web.example 80", "0 hello"),
        ("socks5 name other.example 80", "2"),
        ("socks5 name web.example 8080", "2"),
        ("socks5 name nobody.example 80", "2"),
        ("socks5 v4 203.0.113.2 80", "2"),
        ("socks5 v4 127.0.0.1 8000", "2"),
        ("socks5 v6 2001:db8:1::2 80", "2"),
        ("socks5 v6 ::1 8000", "2"),
        ("socks5 v6 ::ffff:127.0.0.1 8000", "2"),
        ("socks5 bind web.example 80", "7"),
        ("socks5 associate web.example 80", "7"),
        ("socks5 type-9 web.example 80", "8"),
    ]);
}

/// K110, K223: what happens on the way out is told apart.
#[test]
fn socks5_outcomes() {
    let allowed = ["web.example", "nobody.example", "internal.example", "missing.example"];
    let table = [
        ("socks5 name web.example 81", "5"),
        ("socks5 name nobody.example 80", "4"),
        ("socks5 name internal.example 80", "2"),
        ("socks5 name missing.example 80", "4"),
    ];
    check_with(&allowed, &table);
}

/// K101, T40: SOCKS 4 and 4a.
#[test]
fn socks4() {
    check(&[
        ("socks4 web.example 80", "90 hello"),
        ("socks4 other.example 80", "91"),
        ("socks4 203.0.113.2 80", "91"),
        ("socks4 127.0.0.1 8000", "91"),
    ]);
}

/// K70, T40: HTTP `CONNECT` and plain requests.
#[test]
fn http() {
    check(&[
        ("connect web.example:80", "200 hello"),
        ("connect other.example:80", "403 reason"),
        ("connect 203.0.113.2:80", "403 reason"),
        ("connect [2001:db8:1::2]:80", "403 reason"),
        ("connect [::ffff:203.0.113.2]:80", "403 reason"),
        ("connect 127.0.0.1:8000", "403 reason"),
        ("connect localhost:8000", "403 reason"),
        ("request http://web.example/ web.example", "200 hello"),
        ("request http://other.example/ other.example", "403 reason"),
        ("request http://web.example/ other.example", "4"),
        ("request http://other.example/ web.example", "4"),
        ("request http://127.0.0.1:8000/ 127.0.0.1:8000", "403 reason"),
        ("request http://user:pass@web.example/ web.example", "4"),
        ("request ftp://web.example/ web.example", "4"),
    ]);
}

/// K234, T37: one normal form of a name, and no second one.
#[test]
fn unusual_names() {
    check(&[
        ("socks5 name WEB.Example 80", "0 hello"),
        ("socks5 name web.example. 80", "0 hello"),
        ("connect WEB.EXAMPLE:80", "200 hello"),
        ("connect web.example.:80", "200 hello"),
        ("socks5 name web.example.. 80", "2"),
        ("socks5 name .web.example 80", "2"),
        ("socks5 name web.example%00.other.example 80", "2"),
        ("socks5 name other.example%00.web.example 80", "2"),
        ("socks5 name web.example%0d%0a 80", "2"),
        ("socks5 name %20web.example 80", "2"),
        ("socks5 name user@web.example 80", "2"),
        ("socks5 name web.example:80 80", "2"),
        ("socks5 name 203.0.113.2 80", "2"),
        ("socks5 name 3405803778 80", "2"),
        ("socks5 name 0xcb.0.0x71.2 80", "2"),
        ("socks5 name [2001:db8:1::2] 80", "2"),
        ("socks5 name %ef%bd%97eb.example 80", "2"),
        ("socks5 name b%c3%bccher.example 80", "2"),
        ("socks5 name long 80", "2"),
        ("socks5 empty - 80", "2"),
        ("connect :80", "4"),
        ("connect web.example%00:80", "4"),
        ("connect web.example", "4"),
        ("connect web.example:99999", "4"),
    ]);
}

/// K60, K234: a name in another script is the same in the policy and on the wire.
#[test]
fn names_in_other_scripts() {
    let table = [("socks5 name xn--bcher-kva.example 80", "0 hello")];
    check_with(&["bücher.example"], &table);
}

/// T45: the proxies carry nothing between cages or back into the cage by a name of its own.
#[test]
fn the_proxies_do_not_lead_to_themselves() {
    check(&[
        ("connect 127.0.0.1:3128", "403 reason"),
        ("connect 127.0.0.1:1080", "403 reason"),
        ("connect 127.0.0.1:15001", "403 reason"),
        ("connect 198.18.0.1:80", "403 reason"),
        ("socks5 v4 198.18.0.1 80", "2"),
    ]);
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    check_with(&["web.example:80"], table);
}

/// Runs every request in one cage; each answer must begin with what stands beside it.
#[track_caller]
fn check_with(allowed: &[&str], table: &[(&str, &str)]) {
    let Some(world) = World::new() else { return };
    fs::copy(data("proxy_client.py"), world.place.project.join("proxy_client.py")).unwrap();
    let requests: Vec<&str> = table.iter().map(|(request, _)| *request).collect();
    world.place.write("requests", requests.join("\n"));
    let done = world.shell(allowed, "/usr/bin/python3 proxy_client.py < requests");
    done.works();
    let answers: Vec<&str> = done.ended.stdout.lines().collect();
    assert_eq!(answers.len(), table.len(), "{answers:?}");
    let mut faults = Vec::new();
    for ((request, expected), answer) in table.iter().zip(answers) {
        if !answer.starts_with(expected) {
            faults.push(format!("{request}: `{answer}` instead of `{expected}`"));
        }
    }
    assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), done.ended.stderr);
}
