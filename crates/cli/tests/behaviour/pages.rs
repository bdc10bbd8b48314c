//! What `stockade` prints about itself.

use super::support::{Ended, Place};

#[test]
fn schema_completions_and_manual() {
    let place = Place::new();
    for words in [vec!["schema"], vec!["schema", "--user"]] {
        let ended = place.ask(&words);
        let schema: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert!(schema["properties"]["cage"].is_object());
    }
    for shell in ["bash", "zsh", "fish"] {
        place.ask(["completions", shell]).expect_code(0).prints("stockade");
    }
    place.ask(["man"]).expect_code(0).prints(".TH stockade");
    place.ask(["man", "run"]).expect_code(0).prints("hide");
    place.ask(["man", "nonsense"]).expect_code(2);
    let ended = place.ask(["--help"]);
    assert!(!ended.stdout.contains("__attack"));
}

/// What cannot be printed is an error, whoever has it to say.
#[test]
fn a_full_standard_output_is_told() {
    let place = Place::new();
    for words in [vec!["--help"], vec!["run", "--help"], vec!["--version"], vec!["schema"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = place.stockade().args(&words).stdout(full).output().unwrap();
        Ended::of(output).expect_code(1).says("cannot write to standard output");
    }
}
