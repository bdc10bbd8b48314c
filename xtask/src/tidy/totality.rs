//! Questions about the kinds of a Plan's parts have an answer for every kind: no wildcard arm takes a new one in
//! unseen. Reads patterns by their shape; never decides whether an answer is right.

use super::tree::{Tree, is_test_file};
use super::{Finding, source};

/// No `match` with a pattern of these has an arm for whatever is left.
const TOTAL: [&str; 10] = [
    "Access",
    "BindPurpose",
    "Execution",
    "FileKind",
    "FsAccess",
    "IdentityMap",
    "Mapping",
    "MountOp",
    "NetworkPlan",
    "TmpfsPurpose",
];

/// The one that is asked by a whole `match` or by its methods alone, and where these are.
const ASKED: &str = "MountOp";
const METHODS: &str = "crates/plan/src/mount.rs";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let shipped = |path: &str| path.ends_with(".rs") && !is_test_file(path);
    let files = tree.under("crates/").chain(tree.under("benches/"));
    files.filter(|(path, _)| shipped(path)).flat_map(|(path, text)| of_file(path, text)).collect()
}

fn of_file(path: &str, text: &str) -> Vec<Finding> {
    let tokens = tokens(text);
    let mut findings = Vec::new();
    let mut owner: &[Token] = &[];
    for (index, token) in tokens.iter().enumerate() {
        let rest = tokens.get(index + 1..).unwrap_or_default();
        match token.text.as_str() {
            "impl" => owner = before(rest, "{"),
            "match" => {
                let arms = patterns(rest);
                let names =
                    |name: &&&str| arms.iter().any(|arm| mentions(before(arm, "if"), name, owner));
                let Some(name) = TOTAL.iter().find(names) else { continue };
                for line in arms.iter().filter_map(|arm| wildcard(arm)) {
                    let message = format!("takes any other `{name}` in: name those that are meant");
                    findings.push(Finding::at(path, line, message));
                }
            }
            "let" | "matches" if path != METHODS => {
                let end = if token.text == "let" { "=" } else { ";" };
                if mentions(before(rest, end), ASKED, &[]) {
                    let message = format!("asks for one kind of `{ASKED}`: that is for a method");
                    findings.push(Finding::at(path, token.line, message));
                }
            }
            _ => {}
        }
    }
    findings
}

/// A word, an arrow or a sign of the code.
struct Token {
    text: String,
    line: usize,
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for (index, line) in source::lines(text).into_iter().enumerate() {
        let mut last = ' ';
        for sign in line.code.chars() {
            let joins = (is_letter(last) && is_letter(sign)) || (last, sign) == ('=', '>');
            match tokens.last_mut().filter(|_| joins) {
                Some(token) => token.text.push(sign),
                None if sign.is_whitespace() => {}
                None => tokens.push(Token { text: sign.to_string(), line: index + 1 }),
            }
            last = sign;
        }
    }
    tokens
}

fn is_letter(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// What stands before a word or sign, or before the end of what is around.
fn before<'a>(tokens: &'a [Token], stop: &str) -> &'a [Token] {
    let mut depth = 0_usize;
    let ends = |token: &Token| {
        let is_end = depth == 0 && (token.text == stop || ")]}".contains(&token.text));
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_end
    };
    let length = tokens.iter().position(ends).unwrap_or(tokens.len());
    tokens.get(..length).unwrap_or_default()
}

/// The patterns of a `match` from its head on, with their guards.
fn patterns(tokens: &[Token]) -> Vec<&[Token]> {
    let after = |tokens, taken: usize| <[Token]>::get(tokens, taken..).unwrap_or_default();
    let mut rest = after(tokens, before(tokens, "{").len() + 1);
    let mut patterns = Vec::new();
    loop {
        let arm = before(rest, "=>");
        rest = after(rest, arm.len() + 1);
        let Some(first) = rest.first().filter(|_| !arm.is_empty()) else { return patterns };
        patterns.push(arm);
        let body = match first.text.as_str() {
            "{" => before(after(rest, 1), "}").len() + 2,
            _ => before(rest, ",").len(),
        };
        rest = after(rest, body);
        rest = after(rest, usize::from(rest.first().is_some_and(|next| next.text == ",")));
    }
}

/// Whether a pattern names a kind of the enum, by its name or as `Self` in what belongs to it.
fn mentions(pattern: &[Token], name: &str, owner: &[Token]) -> bool {
    let is_own = owner.iter().any(|token| token.text == name);
    pattern.windows(2).any(|pair| {
        let [one, next] = pair else { return false };
        next.text == ":" && (one.text == name || (is_own && one.text == "Self"))
    })
}

/// The line of a pattern that takes whatever is left, with or without a name for it. One with a guard does not:
/// the compiler still asks for an arm for each kind.
fn wildcard(pattern: &[Token]) -> Option<usize> {
    let has_guard = pattern.iter().any(|token| token.text == "if");
    let has_path = pattern.windows(2).any(|pair| pair.iter().all(|token| token.text == ":"));
    let is_binding = |token: &&Token| {
        let begins = token.text.starts_with(|first: char| first == '_' || first.is_lowercase());
        begins && !["true", "false", "ref", "mut"].contains(&token.text.as_str())
    };
    pattern.iter().find(is_binding).filter(|_| !has_path && !has_guard).map(|token| token.line)
}
