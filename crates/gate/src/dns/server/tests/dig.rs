//! The same server as `dig` sees it, which reads answers more strictly than most resolvers. Where it is
//! not installed, only the test of the bytes speaks.

use std::process::Stdio;

use super::{Scripted, Served};

/// What `dig` prints.
async fn dig(served: &Served, arguments: &'static [&'static str]) -> String {
    let port = served.v4.port().to_string();
    // A thread of its own: this one has to answer.
    let output = tokio::task::spawn_blocking(move || {
        std::process::Command::new("dig")
            .args(["@127.0.0.1", "-p", &port, "+time=9", "+tries=1", "+noall", "+comments"])
            .args(["+answer", "+authority"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
    })
    .await
    .unwrap();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

/// K68, K88, K97, K99: every way of asking gets an answer that is understood without a warning.
#[tokio::test]
async fn dig_understands_every_answer() {
    if !testing::has("dig") {
        return;
    }
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &["2001:db8::1"]).await;
    let served = Served::with(&["example.com"], &[], upstream).await;
    let pair = served.synthetic("example.com");
    let (v4, v6) = (format!("\tA\t{}", pair.v4), format!("\tAAAA\t{}", pair.v6));
    let soa = "SOA\tstockade.invalid. stockade.invalid.";
    let cases: &[(&'static [&'static str], &[&str])] = &[
        (&["example.com", "A"], &["status: NOERROR", "qr rd ra;", "ANSWER: 1", &v4, "udp: 1232"]),
        (&["+tcp", "example.com", "A"], &["status: NOERROR", &v4]),
        (&["+noedns", "example.com", "AAAA"], &["status: NOERROR", &v6, "ADDITIONAL: 0"]),
        (&["+bufsize=512", "+dnssec", "+subnet=192.0.2.0/24", "example.com"], &["NOERROR", &v4]),
        (&["+norecurse", "+cdflag", "example.com"], &["flags: qr ra cd;", &v4]),
        (&["+padding=128", "+nsid", "+nocookie", "eXaMpLe.com"], &["eXaMpLe.com.", &v4]),
        (&["example.com", "ANY"], &["status: NOERROR", "ANSWER: 0", soa]),
        (&["example.com", "HTTPS"], &["status: NOERROR", "ANSWER: 0", soa]),
        (&["example.com", "TXT"], &["status: NOERROR", "ANSWER: 0", soa]),
        (&["+tcp", "www.example.org", "A"], &["status: NXDOMAIN", "example.org.\t", soa]),
        (&["www.example.org", "SVCB"], &["status: NXDOMAIN", soa]),
        (&["-x", "198.18.0.1"], &["status: NXDOMAIN"]),
        (&["localhost"], &["status: NOERROR", "\tA\t127.0.0.1"]),
        (&[".", "NS"], &["status: NXDOMAIN"]),
        (&["+opcode=UPDATE", "example.com"], &["status: NOTIMP"]),
        (&["-c", "CH", "version.bind", "TXT"], &["status: REFUSED"]),
        (&["+edns=1", "+noednsneg", "example.com"], &["status: BADVERS"]),
        (&["+header-only", "+noedns"], &["status: FORMERR"]),
    ];
    for (arguments, expected) in cases {
        let printed = dig(&served, arguments).await;
        for part in *expected {
            assert!(printed.contains(part), "{arguments:?}: no `{part}` in\n{printed}");
        }
        let lowered = printed.to_lowercase();
        for bad in ["warning", "malformed", "extra bytes", "timed out", "mismatch"] {
            assert!(!lowered.contains(bad), "{arguments:?}: `{bad}` in\n{printed}");
        }
    }
    let heard = served.upstream.heard();
    assert!(heard.iter().all(|heard| heard.name == "example.com" && heard.kind != 16));
    assert_eq!(heard.len(), 2);
}
