//! How long and how much is kept, and that nobody is asked twice.

use std::sync::Arc;
use std::time::Duration;

use plan::destination::Name;
use plan::network::Family;
use tokio::time::Instant;

use super::super::scripted::{Data, Deed, Scripted};
use super::super::upstream::{Resolution, ResolveFailure};
use super::{Entry, GENERATION, Kept, Resolver};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// K95, K96: as long as the resolver says, a minute at most; a no ten seconds at most.
#[test]
fn answers_are_kept_for_their_time() {
    let kept = |addresses: Result<_, ResolveFailure>, said: u64| {
        let began = Instant::now();
        let entry = Entry::new(Resolution { addresses, lifetime: Duration::from_secs(said) });
        (entry.expires - began).as_secs()
    };
    let address = || Ok(Arc::from(["203.0.113.1".parse().unwrap()]));
    let unreachable = || Err(ResolveFailure::Unreachable { tried: String::new() });
    assert_eq!(kept(address(), 20), 20);
    assert_eq!(kept(address(), 86400), 60);
    assert_eq!(kept(address(), 0), 0);
    assert_eq!(kept(Err(ResolveFailure::NoSuchName), 5), 5);
    assert_eq!(kept(Err(ResolveFailure::NoSuchName), 3600), 10);
    assert_eq!(kept(Err(ResolveFailure::NoAddress), 0), 1);
    assert_eq!(kept(unreachable(), 0), 1);
}

#[test]
fn no_more_than_two_generations_are_kept() {
    let mut kept = Kept::default();
    let now = Instant::now();
    let favourite = (name("favourite.example"), Family::V4);
    let first = kept.slot(favourite.clone(), now);
    for index in 0..GENERATION * 5 {
        kept.slot((name(&format!("n{index}.example")), Family::V4), now);
        assert!(kept.younger.len() + kept.older.len() <= GENERATION * 2);
        if index % 1000 == 0 {
            assert!(Arc::ptr_eq(&first, &kept.slot(favourite.clone(), now)), "{index}");
        }
    }
}

#[test]
fn what_has_expired_is_asked_again() {
    let mut kept = Kept::default();
    let now = Instant::now();
    let key = (name("a.example"), Family::V4);
    let slot = kept.slot(key.clone(), now);
    let expires = now + Duration::from_secs(3);
    slot.set(Entry { addresses: Err(ResolveFailure::NoAddress), expires }).unwrap();
    assert!(Arc::ptr_eq(&slot, &kept.slot(key.clone(), now + Duration::from_secs(2))));
    assert!(!Arc::ptr_eq(&slot, &kept.slot(key, expires)));
}

/// K96: a crowd asks once, whatever the answer; the two families are two questions.
#[tokio::test]
async fn a_crowd_asks_once() {
    let upstream = Scripted::start(|heard| {
        let record = (heard.name.as_str(), 30, Data::Address("203.0.113.1"));
        vec![Deed::Wait(Duration::from_millis(100)), Deed::Send(heard.reply(0, &[record]))]
    })
    .await;
    let resolver = Arc::new(Resolver::new(vec![upstream.address], 1_000));
    let mut crowd = tokio::task::JoinSet::new();
    for index in 0..50 {
        let resolver = Arc::clone(&resolver);
        let family = if index % 2 == 0 { Family::V4 } else { Family::V6 };
        crowd.spawn(async move { resolver.addresses(&name("a.example"), family).await });
    }
    let results = crowd.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 25);
    assert_eq!(upstream.heard().len(), 2);
    let found = resolver.resolve(&name("a.example"), Family::V4).await.unwrap();
    let (most, passed) = (Duration::from_secs(30), testing::slowly(Duration::from_secs(2)));
    assert!(found.remaining <= most && found.remaining > most.saturating_sub(passed));
    assert_eq!(upstream.heard().len(), 2);
}

/// Whoever asked first may go away; the others still get their answer.
#[tokio::test]
async fn a_question_outlives_whoever_asked_it() {
    let upstream = Scripted::start(|heard| {
        let record = (heard.name.as_str(), 30, Data::Address("203.0.113.1"));
        vec![Deed::Wait(Duration::from_millis(200)), Deed::Send(heard.reply(0, &[record]))]
    })
    .await;
    let resolver = Arc::new(Resolver::new(vec![upstream.address], 1_000));
    let ask = || {
        let resolver = Arc::clone(&resolver);
        tokio::spawn(async move { resolver.addresses(&name("a.example"), Family::V4).await })
    };
    let first = ask();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let second = ask();
    tokio::time::sleep(Duration::from_millis(50)).await;
    first.abort();
    assert!(second.await.unwrap().is_ok());
}

/// Another network may know the same name by another address.
#[tokio::test]
async fn other_resolvers_are_asked_anew() {
    let [one, other] = [
        Scripted::with_addresses(&["203.0.113.1"], &[]).await,
        Scripted::with_addresses(&["203.0.113.2"], &[]).await,
    ];
    let resolver = Resolver::new(vec![one.address], 1_000);
    let found = resolver.addresses(&name("a.example"), Family::V4).await.unwrap();
    assert_eq!(found[0].to_string(), "203.0.113.1");
    resolver.replace_resolvers(vec![other.address]);
    let found = resolver.addresses(&name("a.example"), Family::V4).await.unwrap();
    assert_eq!(found[0].to_string(), "203.0.113.2");
}
