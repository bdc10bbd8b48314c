//! Texts that are not TOML, not text or not of a sane size.

use std::time::Duration;

use super::{codes, drawn, place, project};
use crate::text::{Style, parse_project};

#[test]
fn broken_grammar_is_drawn_with_what_follows() {
    insta::assert_snapshot!(drawn(
        "version = 1\n[cage.x\nfs = [{ ro = \".\" ]\nenv = [\"LANG\"\n[cage.y]\nstat = 1\n"
    ));
}

#[test]
fn a_key_twice_is_an_error_at_the_second() {
    insta::assert_snapshot!(drawn(
        "version = 1\n[cage.x]\nstate = \"scratch\"\nstate = \"ephemeral\"\n"
    ));
}

#[test]
fn deep_nesting_is_cut_short() {
    for text in [
        format!("version = 1\nx = {}", "[".repeat(100_000)),
        format!("version = 1\nx = {}", "{a=".repeat(50_000)),
        format!("version = 1\n{}x = 1", "a.".repeat(100_000)),
        format!("version = 1\n[{}x]", "a.".repeat(100_000)),
    ] {
        let found = codes(project(&text));
        assert!(found.contains(&"nesting-too-deep"), "{found:?}");
    }
    insta::assert_snapshot!(drawn(&format!("version = 1\nx = {}", "[".repeat(200))));
}

#[test]
fn a_text_that_is_too_large_is_not_looked_at() {
    let text = vec![b'x'; 1024 * 1024];
    let found = parse_project("stockade.toml", &text, &place()).unwrap_err();
    insta::assert_snapshot!(found.render(Style::Plain));
}

#[test]
fn bytes_that_are_no_text_are_shown_where_they_are() {
    let found =
        parse_project("stockade.toml", b"version = 1\n[cage.x]\nname = \"\xff\xfe\"\n", &place());
    insta::assert_snapshot!(found.unwrap_err().render(Style::Plain));
}

#[test]
fn a_nul_in_the_text_is_an_error() {
    insta::assert_snapshot!(drawn("version = 1\n[cage.x]\nstate = \"scr\0atch\"\n"));
}

/// No text takes long: the worst of its size are still read at once.
#[test]
fn hostile_texts_are_cheap() {
    let cap = crate::text::MAX_TEXT_BYTES;
    let fill = |piece: &str| piece.repeat(cap / piece.len());
    let chain: String =
        (0..250).map(|index| format!("[cage.c{}]\nextends=\"c{index}\"\n", index + 1)).collect();
    for text in [
        fill("[a]\n"),
        fill("a = 1\n"),
        fill("a.b.c.d.e.f.g = 1\n"),
        fill("[[a]]\n"),
        fill("\u{202e}"),
        fill("\""),
        fill("[cage.x]\nfs=[{ro=\"../\"}]\n"),
        format!("version=1\n[cage.c0]\nenv=[\"{}\"]\n{chain}", "A".repeat(200)),
        format!("version=1\n[cage.x]\nfs=[{}]", "{ro=\"a/a/a/a/a/a/a\"},".repeat(4000)),
    ] {
        let start = std::time::Instant::now();
        let outcome = project(&text);
        if let Err(found) = outcome {
            assert!(!found.render(Style::Plain).is_empty());
        }
        let took = start.elapsed();
        assert!(
            took < testing::slowly(Duration::from_secs(10)),
            "{took:?} for {:?}…",
            text.get(..20)
        );
    }
}
