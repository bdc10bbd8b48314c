//! Any bytes as a policy text: parsing ends, errors can be drawn, and what was accepted obeys the
//! algebra and compares with the ceiling.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::HostPath;
use policy::text::{self, Document, Style};
use policy::{Cage, Ceiling, Place, Policy, is_within};

fuzz_target!(|bytes: &[u8]| {
    let place = place();
    match text::parse_project("stockade.toml", bytes, &place) {
        Ok(document) => check_document(&document, &place),
        Err(found) => {
            assert!(!found.errors.is_empty());
            let drawn = found.render(Style::Plain);
            let misleading = |character: char| character != '\n' && policy::shown::misleads(character);
            assert!(!drawn.contains(misleading), "{drawn:?}");
        }
    }
    match text::parse_user("config.toml", bytes, &place) {
        Ok(document) => check_document(&document, &place),
        Err(found) => assert!(found.render(Style::Coloured).len() > found.errors.len()),
    }
});

fn place() -> Place {
    let path = |text: &str| HostPath::new(text).unwrap_or_else(|_| HostPath::root());
    Place {
        project: path("/home/u/project"),
        home: Some(path("/home/u")),
        own_state: vec![path("/home/u/.config/stockade")],
    }
}

fn check_document(document: &Document, place: &Place) {
    let ceiling = document.ceiling.clone().unwrap_or_else(|| Ceiling::built_in(place));
    let policies: Vec<&Policy> = document
        .cages
        .values()
        .filter_map(|cage| match cage {
            Cage::Enabled(policy) => Some(policy),
            Cage::Disabled { .. } => None,
        })
        .take(4)
        .collect();
    for policy in &policies {
        assert!(is_within(policy, policy).is_ok());
        let narrowed = policy.narrow(policy).expect("a policy holds itself");
        assert!(is_within(&narrowed, policy).is_ok() && is_within(policy, &narrowed).is_ok());
        for other in &policies {
            if let Ok(result) = policy.narrow(other) {
                assert!(is_within(&result, policy).is_ok() && is_within(&result, other).is_ok());
            }
        }
        match ceiling.apply(policy) {
            Ok(under) => assert!(is_within(&under, policy).is_ok()),
            Err(excess) => assert!(!excess.asked.is_empty()),
        }
        for rule in policy.fs.iter().take(2) {
            let answer = policy::explain::path(policy, place, &rule.path);
            assert!(!answer.to_string().is_empty());
        }
    }
}
