//! One cage's short connections and questions while another floods, or while another does nothing but
//! use processors, which shows what is not the network's doing. Quiet and loud turns alternate.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use measures::statistics::{Spread, median};

use crate::Options;
use crate::client::Measured;
use crate::measure::gatekeeper;
use crate::report::Flood;
use crate::routes::{Route, finish};
use crate::world::{NAME, World};

/// All kinds of floods, free and held to one processor.
pub(crate) fn measure(world: &World, options: &Options) -> io::Result<Vec<Flood>> {
    let route = gatekeeper()?;
    let server = route.name_server().unwrap_or_default();
    let count = options.flood.to_string();
    let kinds: [(&'static str, &[&str]); 2] = [
        ("connections", &["flood-connections", NAME, &count]),
        ("questions", &["flood-names", server, &count]),
    ];
    let mut rows = Vec::new();
    for (name, flood) in kinds {
        for (beside, words) in [("a flood of them", flood), ("a busy loop", &["spin", SPINNERS])] {
            for on_one_processor in [false, true] {
                let command = || match on_one_processor {
                    true => route.pinned(world, words),
                    false => route.command(world, words),
                };
                let probe = || probe(world, &route, name, options.time);
                let mut row = Flood { name, beside, on_one_processor, ..Flood::default() };
                fill(&mut row, options.rounds, command, probe)?;
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn fill(
    row: &mut Flood,
    rounds: usize,
    flood: impl Fn() -> Command,
    probe: impl Fn() -> io::Result<Measured>,
) -> io::Result<()> {
    let (mut quiet, mut loud, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        quiet.extend(probe()?.spread);
        let (beside, flooded) = beside_flood(flood(), &probe)?;
        loud.extend(beside.spread);
        rates.push(flooded.rate());
        row.failed += beside.failed;
    }
    row.per_second = median(rates);
    (row.quiet, row.loud) = (Spread::middle(&quiet), Spread::middle(&loud));
    Ok(())
}

/// What is measured while another cage works, and what that one did.
fn beside_flood(
    mut flood: Command,
    probe: impl Fn() -> io::Result<Measured>,
) -> io::Result<(Measured, Measured)> {
    let mut flooding = flood.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    std::thread::sleep(Duration::from_millis(200));
    let loud = probe();
    drop(flooding.stdin.take());
    let output = flooding.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok((loud?, serde_json::from_str(text.lines().last().unwrap_or_default())?))
}

fn probe(world: &World, route: &Route, name: &str, time: Duration) -> io::Result<Measured> {
    let ms = time.as_millis().to_string();
    match name {
        "connections" => route.run(world, "short", &["1", &ms]),
        _ => {
            let server = route.name_server().unwrap_or_default();
            finish(route.command(world, &["names", server, "1", &ms]), route.name)
        }
    }
}

/// As many as keep two processors busy.
const SPINNERS: &str = "2";
