//! Against resolvers of the test's own, on real sockets: late, cut, forged, failing and silent ones.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use plan::destination::Name;
use plan::network::Family;

use super::super::scripted::{A, Data, Deed, Heard, Scripted};
use super::{Resolution, ResolveFailure, Upstream};

async fn ask(resolvers: &[SocketAddr]) -> Resolution {
    let name = Name::parse("www.example.com").unwrap();
    Upstream::new(resolvers.to_vec()).ask(&name, Family::V4).await
}

fn addresses(resolution: &Resolution) -> Vec<IpAddr> {
    resolution.addresses.as_ref().expect("addresses").to_vec()
}

fn list(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn answer(heard: &Heard, address: &str) -> Vec<u8> {
    heard.reply(0, &[(&heard.name, 30, Data::Address(address))])
}

fn forged(heard: &Heard, at: usize) -> Vec<u8> {
    let mut message = answer(heard, "203.0.113.66");
    message[at] ^= 1;
    message
}

/// A port on which nobody listens.
fn nobody() -> SocketAddr {
    std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// K69, K94, T43: exactly the name, with nothing behind it.
#[tokio::test]
async fn a_resolver_is_asked_for_the_name_itself() {
    let upstream = Scripted::with_addresses(&["203.0.113.1", "203.0.113.2"], &[]).await;
    let resolution = ask(&[upstream.address]).await;
    assert_eq!(addresses(&resolution), list(&["203.0.113.1", "203.0.113.2"]));
    assert_eq!(resolution.lifetime, Duration::from_secs(300));
    assert_eq!(upstream.names_heard(), ["www.example.com"]);
}

/// T42: an answer that anybody but the resolver sends, or that is to another question, is passed over.
#[tokio::test]
async fn forged_answers_are_passed_over() {
    let upstream = Scripted::start(|heard| {
        vec![
            Deed::SendFromElsewhere(answer(heard, "203.0.113.66")),
            Deed::Send(forged(heard, 0)),
            Deed::Send(forged(heard, 13)),
            Deed::Send(b"\x00".to_vec()),
            Deed::Wait(Duration::from_millis(50)),
            Deed::Send(answer(heard, "203.0.113.1")),
        ]
    })
    .await;
    assert_eq!(addresses(&ask(&[upstream.address]).await), list(&["203.0.113.1"]));
    assert_eq!(upstream.heard().len(), 1);
}

#[tokio::test]
async fn a_flood_of_guesses_ends_the_try() {
    let upstream = Scripted::start(|heard| match heard.before {
        0 => (0..20).map(|_| Deed::Send(forged(heard, 1))).collect(),
        _ => vec![Deed::Send(answer(heard, "203.0.113.1"))],
    })
    .await;
    assert_eq!(addresses(&ask(&[upstream.address]).await), list(&["203.0.113.1"]));
    assert_eq!(upstream.heard().len(), 2);
}

#[tokio::test]
async fn a_cut_answer_is_asked_for_on_a_connection() {
    let upstream = Scripted::start(|heard| match heard.on_connection {
        false => vec![Deed::Send(heard.truncated())],
        true => vec![Deed::Send(answer(heard, "203.0.113.7"))],
    })
    .await;
    assert_eq!(addresses(&ask(&[upstream.address]).await), list(&["203.0.113.7"]));
    let ways: Vec<bool> = upstream.heard().iter().map(|heard| heard.on_connection).collect();
    assert_eq!(ways, [false, true]);
}

/// T42: where an alias leads is not decided here, and the shortest time holds for all.
#[tokio::test]
async fn aliases_are_followed() {
    let upstream = Scripted::start(|heard| {
        let records = [
            (heard.name.as_str(), 300, Data::Alias("internal.example")),
            ("internal.example", 12, Data::Address("169.254.169.254")),
            ("unrelated.example", 1, Data::Address("203.0.113.66")),
        ];
        vec![Deed::Send(heard.reply(0, &records))]
    })
    .await;
    let resolution = ask(&[upstream.address]).await;
    assert_eq!(addresses(&resolution), list(&["169.254.169.254"]));
    assert_eq!(resolution.lifetime, Duration::from_secs(12));
}

#[tokio::test]
async fn no_name_and_no_address_are_told_apart_and_final() {
    let other = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    for (code, expected) in [(3, ResolveFailure::NoSuchName), (0, ResolveFailure::NoAddress)] {
        let upstream = Scripted::start(move |heard| {
            vec![Deed::Send(heard.reply(code, &[("example.com", 600, Data::Authority(40))]))]
        })
        .await;
        let resolution = ask(&[upstream.address, other.address]).await;
        assert_eq!(resolution.addresses, Err(expected));
        assert_eq!(resolution.lifetime, Duration::from_secs(40));
    }
    assert!(other.heard().is_empty());
}

/// K100: one resolver's failure is not the last word while there is another.
#[tokio::test]
async fn the_next_resolver_is_asked_after_a_failure() {
    let good = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    for code in [2, 5] {
        let bad = Scripted::start(move |heard| vec![Deed::Send(heard.reply(code, &[]))]).await;
        let found = ask(&[bad.address, nobody(), good.address]).await;
        assert_eq!(addresses(&found), list(&["203.0.113.1"]));
        let resolver = bad.address;
        let failure = ResolveFailure::ServerFailure { resolver, code: u16::from(code) };
        assert_eq!(ask(&[bad.address]).await.addresses, Err(failure));
        assert_eq!(bad.heard().len(), 3);
    }
}

#[tokio::test]
async fn a_resolver_that_refuses_edns_is_asked_without() {
    let upstream = Scripted::start(|heard| match heard.has_extension {
        true => vec![Deed::Send(heard.reply(1, &[]))],
        false => vec![Deed::Send(answer(heard, "203.0.113.1"))],
    })
    .await;
    assert_eq!(addresses(&ask(&[upstream.address]).await), list(&["203.0.113.1"]));
    assert_eq!(upstream.heard().len(), 2);
}

/// A resolver that is down costs its time once, and is left alone while another answers.
#[tokio::test]
async fn silence_is_waited_for_once() {
    let silent = Scripted::start(|_| Vec::new()).await;
    let good = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    let upstream = Upstream::new(vec![silent.address, good.address]);
    let name = Name::parse("www.example.com").unwrap();
    let began = Instant::now();
    assert_eq!(addresses(&upstream.ask(&name, Family::V4).await), list(&["203.0.113.1"]));
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(addresses(&upstream.ask(&name, Family::V4).await), list(&["203.0.113.1"]));
    assert_eq!(silent.heard().len(), 1);
}

/// K100: silence everywhere ends after five seconds.
#[tokio::test]
async fn nobody_is_waited_for_longer_than_five_seconds() {
    let silent = Scripted::start(|heard| {
        let late = Duration::from_millis(2500);
        vec![Deed::Wait(late), Deed::Send(answer(heard, "203.0.113.1"))]
    })
    .await;
    let began = Instant::now();
    let failure = ask(&[silent.address; 3]).await.addresses.unwrap_err();
    let took = began.elapsed();
    let longest = Duration::from_secs(5) + testing::slowly(Duration::from_secs(2));
    assert!(took >= Duration::from_secs(4) && took < longest, "{took:?}");
    let expected = "no resolver answered: 3 were tried, the last was";
    assert!(failure.to_string().starts_with(expected), "{failure}");
}

/// K100: that nobody is there is known at once.
#[tokio::test]
async fn an_unreachable_resolver_is_told_at_once() {
    let failure = ask(&[nobody()]).await.addresses.unwrap_err().to_string();
    assert!(failure.contains("Connection refused"), "{failure}");
    let failure = ask(&[]).await.addresses.unwrap_err().to_string();
    assert_eq!(failure, "no resolver answered: the host has none");
}

#[tokio::test]
async fn resolvers_can_be_replaced() {
    let [one, other] = [
        Scripted::with_addresses(&["203.0.113.1"], &[]).await,
        Scripted::with_addresses(&["203.0.113.2"], &["2001:db8::2"]).await,
    ];
    let upstream = Upstream::new(vec![one.address]);
    let name = Name::parse("example.com").unwrap();
    assert_eq!(addresses(&upstream.ask(&name, Family::V4).await), list(&["203.0.113.1"]));
    upstream.replace(vec![other.address]);
    assert_eq!(addresses(&upstream.ask(&name, Family::V6).await), list(&["2001:db8::2"]));
    assert_ne!(other.heard()[0].kind, A);
}
