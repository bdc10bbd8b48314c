//! What a program did not get of the file system, as sentences for a person: what came of it, which rule says so
//! and the flag that would change it. Only words; what they say was found out before.

use cage::{Observations, PathDenial, PathProblem};
use policy::shown::shown;

#[cfg(test)]
mod tests;

/// The most that a person reads at the end of a run.
const MOST_TOLD: usize = 6;

/// What is told at the end of a run, one sentence each.
pub fn sentences(observations: &Observations) -> Vec<String> {
    let mut sentences: Vec<String> =
        observations.denials.iter().take(MOST_TOLD).map(sentence).collect();
    let untold = observations.denials.len().saturating_sub(MOST_TOLD);
    if untold > 0 {
        sentences.push(format!("{untold} other paths were refused too; `--json` lists them"));
    }
    if observations.unlisted > 0 {
        sentences.push(format!(
            "{} calls about other paths are in no list, because there were too many",
            observations.unlisted
        ));
    }
    sentences
}

/// What came of calls about a path.
pub fn sentence(denial: &PathDenial) -> String {
    let PathDenial { path, example, paths, count, problem, because, secret, flag } = denial;
    let subject = match paths {
        1 => format!("`{}`", shown(example)),
        2 => format!("`{}` and 1 more in `{}`", shown(example), shown(path)),
        _ => format!("`{}` and {} more in `{}`", shown(example), paths - 1, shown(path)),
    };
    let verb = if *paths == 1 { ("is", "was", "it") } else { ("are", "were", "them") };
    let (is, was, it) = verb;
    let times = if *count > 1 { format!(" ×{count}") } else { String::new() };
    let secret = secret.map(|name| format!("; a secret: {name}")).unwrap_or_default();
    let allowing = |what: &str| match flag {
        Some(flag) => format!("; `{flag}` {what} {it}"),
        None => String::new(),
    };
    match problem {
        PathProblem::Unwritable => {
            format!("writing {subject} was refused{times}: {because}{secret}{}", allowing("allows"))
        }
        PathProblem::Missing => {
            let shows = allowing("shows");
            format!("{subject} {is} not in the cage, looked for{times}: {because}{secret}{shows}")
        }
        PathProblem::Hidden => {
            format!(
                "{subject} {was} hidden, looked at{times}: {because}{secret}{}",
                allowing("shows")
            )
        }
        PathProblem::Vanished => format!(
            "{subject} {was} written to the cage's own memory and {is} gone with it; what is to stay \
             is written to a directory that `--rw` grants"
        ),
        PathProblem::Full => format!(
            "`{}` was full at the end: it is memory of the cage's own, with a size",
            shown(path)
        ),
    }
}
