//! Limits that are asked for and must be held, or refused; never taken and forgotten. T66

use crate::attack::{Outcome, Refused};
use crate::siege::{Siege, SiegeScene, finish};

pub(crate) const SIEGES: &[Siege] = &[
    Siege::new("T66", "time-limit-not-armed", "runs for longer than its limit", |scene| {
        exceed(scene, ("--time", "1"), "sleep 1.5; echo exceeded")
    }),
    Siege::new("T66", "memory-limit-not-armed", "uses more memory than its limit", |scene| {
        exceed(
            scene,
            ("--memory", "32M"),
            "head -c 100000000 /dev/zero | tail -c 100000000 | wc -c | grep -q 100000000 && echo exceeded",
        )
    }),
    Siege::new("T66", "process-limit-not-armed", "starts more processes than its limit", |scene| {
        exceed(
            scene,
            ("--pids", "4"),
            "i=0; while [ $i -lt 20 ]; do sleep 0.2 & i=$((i+1)); done; wait && echo exceeded",
        )
    }),
];

fn exceed(
    scene: &mut SiegeScene<'_>,
    limit: (&'static str, &'static str),
    script: &str,
) -> Result<Outcome, Refused> {
    let mut request = scene.script(script, &[]);
    request.flags = vec![limit.0.into(), limit.1.into()];
    let finished = finish(scene.command(&request))?;
    match finished.stdout.contains("exceeded") {
        true => Ok(Outcome::Succeeded("went on beyond its limit".to_owned())),
        false => Ok(Outcome::Failed(finished.in_short())),
    }
}
