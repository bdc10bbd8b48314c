//! How the command line, the package sources and the recipe are read.

use serde_json::json;

use super::guest::slowness_in;
use super::options::{Options, Purpose};
use super::orders::{Answer, Orders};
use super::recipe::{Recipe, proxies, release, sources};
use super::restrictions::fix;
use crate::suite::Totals;

#[test]
fn the_command_line_says_what_the_machine_is_for() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let cases: &[(&[&str], u64, Purpose)] = &[
        (&[], 60, Purpose::Tests(Vec::new())),
        (&["limits", "scope"], 60, Purpose::Tests(words(&["limits", "scope"]))),
        (&["--minutes", "5", "limits"], 5, Purpose::Tests(words(&["limits"]))),
        (&["--shell"], 60, Purpose::Console),
        (&["--bench", "--rounds", "1"], 60, Purpose::Benchmark(words(&["--rounds", "1"]))),
        (&["--minutes", "2", "--", "ls", "-l"], 2, Purpose::Command(words(&["ls", "-l"]))),
    ];
    for (given, minutes, purpose) in cases {
        let read = Options::read(given).unwrap();
        assert_eq!((read.minutes, &read.purpose), (*minutes, purpose), "{given:?}");
    }
    for refused in [&["--"][..], &["--minutes", "0"], &["--minutes", "x"], &["--fast"]] {
        assert!(Options::read(refused).is_err(), "{refused:?}");
    }
}

#[test]
fn only_a_released_debian_is_taken_as_a_recipe() {
    let debian = "PRETTY_NAME=\"Debian\"\nID=debian\nVERSION_CODENAME=bookworm\n";
    assert_eq!(release(debian).unwrap(), "bookworm");
    for other in ["ID=debian\n", "ID=ubuntu\nVERSION_CODENAME=noble\n", ""] {
        assert!(release(other).is_err(), "{other}");
    }
}

#[test]
fn package_sources_are_those_of_this_machine() {
    let targets = "http://mirror.test/debian|bookworm|main|\n\
        http://mirror.test/debian|bookworm-updates|main|$(SIGNED_BY)\n\
        http://mirror.test/security|bookworm-security|main|/usr/share/keyrings/a.gpg\n\
        http://other.test/|nodistro|main|\n";
    let expected = [
        "deb http://mirror.test/debian bookworm main",
        "deb http://mirror.test/debian bookworm-backports main",
        "deb http://mirror.test/debian bookworm-updates main",
        "deb [signed-by=/usr/share/keyrings/a.gpg] http://mirror.test/security bookworm-security main",
    ];
    assert_eq!(sources(targets, "bookworm").unwrap(), expected);
    assert!(sources(targets, "trixie").is_err());
}

#[test]
fn proxies_are_handed_on_and_nothing_else() {
    let settings = "Acquire \"\";\nAcquire::http::Proxy \"http://proxy.test:3128\";\n\
        Acquire::https::Proxy \"\";\nAcquire::Languages \"none\";\n";
    assert_eq!(proxies(settings), ["Acquire::http::Proxy \"http://proxy.test:3128\";"]);
}

#[test]
fn the_image_does_not_depend_on_where_its_packages_come_from() {
    let recipe = |release: &str, source: &str| Recipe {
        release: release.to_owned(),
        sources: vec![source.to_owned()],
        settings: Vec::new(),
    };
    assert_eq!(recipe("bookworm", "a").key(), recipe("bookworm", "b").key());
    assert_ne!(recipe("bookworm", "a").key(), recipe("trixie", "a").key());
}

#[test]
fn orders_and_answers_are_read_as_they_were_written() {
    let orders = Orders::Command(vec!["stockade".to_owned(), "doctor".to_owned()]);
    let text = serde_json::to_string(&orders).unwrap();
    assert_eq!(serde_json::from_str::<Orders>(&text).unwrap(), orders);
    let answer = Answer::from(Totals { passed: 3, failed: 1, skipped: 2 });
    let text = serde_json::to_string(&answer).unwrap();
    assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), Answer::Tested(3, 1, 2));
}

#[test]
fn the_fix_is_that_of_the_layer() {
    let report = json!({"layers": [
        {"name": "kernel", "fix": "another kernel"},
        {"name": "user namespaces", "fix": "sysctl -w a=1"},
    ]});
    assert_eq!(fix(&report), Some("sysctl -w a=1"));
    assert_eq!(fix(&json!({"layers": [{"name": "user namespaces", "fix": null}]})), None);
}

#[test]
fn the_machine_is_told_how_slow_it_is() {
    let parameters = "console=ttyS0 quiet stockade.slowness=5 panic=-1\n";
    assert_eq!(slowness_in(parameters), Some("5"));
    assert_eq!(slowness_in("stockade.slowness2=5 x"), None);
}
