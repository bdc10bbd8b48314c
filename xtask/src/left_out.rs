//! `cargo xtask walls`: leaves out one wall of the cage after the other and looks who notices: the tests
//! that the list in `crates/walls` names, of which one has to, and `stockade prove`, for information.
//!
//! There is one build for all of them, in a directory of its own. A test that fails although every
//! wall stands says nothing about one, so all are run like that first.

mod programs;
mod prove;
mod table;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use ::walls::{Test, Wall};

use crate::command::Failure;
use crate::suite::{Verdict, in_parallel};
use programs::Programs;
use prove::{Proof, prove};
use table::Row;

/// Tries the walls that are named, or all; says whether the tests notice each.
pub(crate) fn run(root: &Path, names: &[&str]) -> Result<bool, Failure> {
    let walls = chosen(names)?;
    println!("== build");
    let begun = Instant::now();
    let programs = Programs::build(root)?;
    println!("built in {} s", begun.elapsed().as_secs());
    println!("== every wall stands");
    let usable = usable_tests(&programs, &walls)?;
    if prove(&programs, None)? != Proof::Held {
        return Err(Failure::Usage("`stockade prove` fails although every wall stands".to_owned()));
    }
    println!("== one wall is left out");
    let rows = try_each(&programs, &walls, &usable, begun + LONGEST)?;
    println!("{}; in {} s", table::summary(&rows), begun.elapsed().as_secs());
    Ok(rows.iter().all(Row::is_noticed))
}

fn chosen(names: &[&str]) -> Result<Vec<Wall>, Failure> {
    if names.is_empty() {
        return Ok(Wall::ALL.to_vec());
    }
    let find = |name: &&str| {
        let found = Wall::ALL.iter().find(|wall| wall.name().eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = Wall::ALL.iter().map(|wall| wall.name()).collect();
            Failure::Usage(format!("there is no wall `{name}`; there are {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

/// The tests of these walls that can say something here: they pass while every wall stands. One that
/// fails is an error; one that is skipped, or is another caller's, is left out.
fn usable_tests(programs: &Programs, walls: &[Wall]) -> Result<Vec<Test>, Failure> {
    let mut tests: Vec<Test> = Vec::new();
    for test in walls.iter().flat_map(|wall| wall.tests()) {
        if !tests.contains(test) {
            tests.push(*test);
        }
    }
    let judged = in_parallel(&tests, |test| (*test, programs.judge(test, None, LONGEST_TEST)));
    let (mut usable, mut failed) = (Vec::new(), 0);
    for (test, verdict) in judged {
        match verdict? {
            Some(Verdict::Passed) => usable.push(test),
            Some(Verdict::Skipped(reasons)) => println!("{}", reasons.join("\n")),
            Some(Verdict::Failed(how)) => {
                failed += 1;
                eprintln!("FAILED {}: {how}", table::title(&test));
            }
            None => println!("skipped: {}: it is another caller's", table::title(&test)),
        }
    }
    println!("{} of {} tests can notice something", usable.len(), tests.len());
    match failed {
        0 => Ok(usable),
        some => Err(Failure::Usage(format!("{some} tests fail although every wall stands"))),
    }
}

/// Leaves out each wall for each of its tests, and then for a proof. Proofs come one by one: each keeps
/// all processors busy, and must not be taken for broken because it was slow. After `latest` there are no
/// more of them: they are information, and the tests have decided.
fn try_each(
    programs: &Programs,
    walls: &[Wall],
    usable: &[Test],
    latest: Instant,
) -> Result<Vec<Row>, Failure> {
    let tests_of = |wall: &Wall| wall.tests().iter().filter(|test| usable.contains(test));
    let trials: Vec<(Wall, Test)> =
        walls.iter().flat_map(|wall| tests_of(wall).map(|test| (*wall, *test))).collect();
    let judged = in_parallel(&trials, |(wall, test)| {
        let verdict = programs.judge(test, Some(*wall), LONGEST_TEST);
        verdict.map(|verdict| (*wall, *test, verdict))
    });
    let judged = judged.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    let mut rows = Vec::with_capacity(walls.len());
    for wall in walls {
        let has_failed = |verdict: &Option<Verdict>| matches!(verdict, Some(Verdict::Failed(_)));
        let of_wall = judged.iter().filter(|(tried, ..)| tried == wall);
        let noticed = of_wall.filter(|(.., verdict)| has_failed(verdict)).map(|(_, test, _)| *test);
        let noticed_by: Vec<Test> = noticed.collect();
        let tried = tests_of(wall).count();
        let has_time = Instant::now() < latest;
        let proof = if has_time { prove(programs, Some(*wall))? } else { Proof::NoTime };
        let row = Row { wall: *wall, tried, noticed_by, proof };
        println!("{row}");
        rows.push(row);
    }
    Ok(rows)
}

/// How long one test may take.
const LONGEST_TEST: Duration = Duration::from_secs(60);

/// How long everything may take but the last proof.
const LONGEST: Duration = Duration::from_secs(13 * 60);
