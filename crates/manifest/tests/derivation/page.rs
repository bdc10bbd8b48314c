//! The page about manifests says what the code does.

use std::fs;
use std::path::Path;

use manifest::Autonomy;
use manifest::autonomy::{Ask, Registered, Verdict, table};
use manifest::{Manifest, model};

fn page() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manifests.md");
    fs::read_to_string(file).unwrap()
}

#[test]
fn its_manifests_can_be_read() {
    let page = page();
    let manifests: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect();
    assert!(manifests.len() >= 4);
    for text in manifests {
        if let Err(errors) = Manifest::from_toml("docs/manifests.md", text.as_bytes()) {
            panic!("{errors}\n{text}");
        }
    }
}

/// M70, M72: the table on the page is the table of the policy.
#[test]
fn its_table_of_autonomy_is_the_one_that_holds() {
    let page = page();
    let word = |verdict| match verdict {
        Verdict::Allowed => "allowed",
        Verdict::ApprovalRequired(Ask::Storable) => "asks",
        Verdict::ApprovalRequired(Ask::Always) => "asks each time",
        Verdict::Denied => "denied",
    };
    let row = |entry: &Registered| {
        let levels = Autonomy::ALL.map(|level| word(entry.verdict(level)));
        format!("| `{entry}` | {} |", levels.join(" | "))
    };
    for entry in table() {
        assert!(page.contains(&row(entry)), "{}", row(entry));
    }
    let (_, section) = page.split_once("## Autonomy").unwrap();
    let (section, _) = section.split_once("## ").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `") && line.contains(':'));
    assert_eq!(rows.count(), table().len());
}

#[test]
fn its_keys_and_types_are_all_there() {
    let page = page();
    let schema = manifest::schema();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
    for kind in model::ArgumentType::ALL {
        assert!(page.contains(&format!("`{}`", kind.word())), "{}", kind.word());
    }
}
