//! Ways around the gatekeeper that need no network: sockets of the host without a path, and what
//! another cage listens on. The cages have network, with a destination that leads nowhere. All other
//! attacks on the gatekeeper are in [`attacks::network`]. T18, T45

use std::ffi::OsString;
use std::process::Stdio;

use attacks::Arena;
use attacks::{Outcome, Refused};

use crate::prove::CageRequest;
use crate::scenario::{Scenario, ScenarioScene, finish, until, wait_for};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new(
        "T18",
        "listed-abstract-sockets",
        "speaks to the abstract sockets that the kernel lists",
        |scene| {
            let wanted = scene.arena().names.abstract_stream.clone();
            let request = with_network(scene, &["listed", scene.name, &wanted]);
            scene.run_and_judge(&request)
        },
    ),
    Scenario::new("T45", "other-cage", "connects to what another cage listens on", other_cage),
];

/// One cage listens, and a second one with the same project connects.
fn other_cage(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let file = scene.workplace()?.join("port");
    let listen = with_network(scene, &["listen", &file.to_string_lossy()]);
    let mut listener = scene.command(&listen);
    let mut listener = listener.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let is_there = until(|| file.exists() || matches!(listener.try_wait(), Ok(Some(_))));
    let reached = || -> Result<(), Refused> {
        let port = std::fs::read_to_string(&file)?;
        let address = format!("127.0.0.1:{port}");
        finish(scene.command(&with_network(scene, &["reach", &address, scene.name]))).map(drop)
    };
    let reached = if is_there { reached() } else { Err(Refused("nobody listens".to_owned())) };
    // It has ended already if it was reached.
    let _ended = listener.kill();
    let heard = wait_for(listener)?;
    reached?;
    match heard.stdout.contains(scene.name) {
        true => Ok(Outcome::Succeeded("its mark arrived in the other cage".to_owned())),
        false => Ok(Outcome::Failed("nothing arrived in the other cage".to_owned())),
    }
}

fn with_network(scene: &ScenarioScene<'_>, words: &[&str]) -> CageRequest {
    let attacker = Arena::attacker(&scene.arena().project).into_os_string();
    let head = [attacker, "__attack".into()];
    let mut request = scene.request(head.into_iter().chain(words.iter().map(OsString::from)));
    request.flags = vec!["--net".into(), NOWHERE.into()];
    request
}

/// A name that never leads anywhere (RFC 2606).
const NOWHERE: &str = "nowhere.invalid";
