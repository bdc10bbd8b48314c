//! Patterns, by table.

use super::Glob;

#[test]
fn patterns_fit_what_they_should() {
    for (pattern, path, fits) in [
        ("*.rs", "a.rs", true),
        ("*.rs", "src/deep/a.rs", true),
        ("src/*.rs", "src/a.rs", true),
        ("src/*.rs", "src/deep/a.rs", false),
        ("src/**/*.rs", "src/a.rs", true),
        ("src/**/*.rs", "src/x/y/a.rs", true),
        ("**/test/**", "a/test/b/c", true),
        ("**/test/**", "a/tests/b", false),
        ("*.{rs,toml}", "Cargo.toml", true),
        ("*.{rs,toml}", "Cargo.lock", false),
        ("[a-c]?.[!x]", "b1.y", true),
        ("[a-c]?.[!x]", "b1.x", false),
        ("[", "[", true),
        ("[]]", "]", true),
        ("a*b*c", "aXbYbZc", true),
        ("a*b*c", "aXbY", false),
        ("./src//a", "src/a", true),
        ("é*", "éa", true),
    ] {
        assert_eq!(Glob::read(pattern).expect(pattern).fits(path), fits, "{pattern} {path}");
    }
    assert!(Glob::read("{a").is_err() && Glob::read(&"{a,b}".repeat(9)).is_err());
    let slow = format!("{}b", "*a".repeat(200));
    assert!(!Glob::read(&slow).expect("a pattern").fits(&"a".repeat(4000)));
}
