//! What makes no sense, is useless or is dangerous about the calls that a policy mounts, said where a cage is looked at and
//! before it runs. Reads the operator's `services.toml`, and changes nothing.

use advice::Failure;
use cage::Kind;
use cage::prepare::Selection;
use cage::state::Locations;
use plan::network::MODEL_PORT;
use plan::{Calls, Inside, MountedFrom};
use policy::Policy;
use policy::shown::shown;

use crate::inside_server::LLM;
use crate::operator::Services;

/// Refuses mounts of tools and services that there are not: inside of a cage nobody could say what is wrong with them.
///
/// # Errors
/// If there is one, with what there is.
pub fn refuse_unknown(policy: &Policy, locations: &Locations) -> Result<(), Failure> {
    for (at, mount) in &policy.mounts {
        let MountedFrom::Inside(inside) = &mount.from else { continue };
        match inside.calls {
            Calls::Tools => drop(tools::granted(&inside.names).map_err(|error| {
                let why = format!("the mount on `{}`: {}", shown(at), error.text);
                Failure::new(Kind::PolicyInvalid, why)
            })?),
            Calls::Services => Services::refuse_unknown(&inside.names, locations)?,
        }
    }
    Ok(())
}

/// What is worth saying about a cage's tools and services.
pub fn warnings(selection: &Selection) -> Vec<String> {
    let mounts = selection.policy.mounts.iter();
    let calls = mounts.filter_map(|(at, mount)| match &mount.from {
        MountedFrom::Inside(inside) => Some((at.to_string(), inside)),
        _ => None,
    });
    calls
        .flat_map(|(at, inside)| match inside.calls {
            Calls::Tools => of_tools(&at, inside, selection),
            Calls::Services => of_services(&at, inside, selection),
        })
        .collect()
}

fn of_tools(at: &str, inside: &Inside, selection: &Selection) -> Vec<String> {
    let all = || tools::NAMES.iter().map(|name| (*name).to_owned()).collect();
    let names = if inside.names.is_empty() { all() } else { inside.names.clone() };
    match tools::granted(&names) {
        // It is refused.
        Err(_) => Vec::new(),
        Ok(granted) => tools::warnings(&selection.policy, &selection.place, &granted)
            .iter()
            .map(|warning| format!("`{at}`: {warning}"))
            .collect(),
    }
}

fn of_services(at: &str, inside: &Inside, selection: &Selection) -> Vec<String> {
    let mut warnings = Vec::new();
    if !selection.policy.net.host_ports.contains_key(&MODEL_PORT) {
        warnings.push(format!(
            "`{at}`: no service can be asked: the policy has no `net.host_ports = [\"model\"]` (`--host-port model`)"
        ));
    }
    let names: Vec<String> = inside.names.iter().filter(|name| *name != LLM).cloned().collect();
    let configured = Services::of_this_process(&names, &Locations::of_this_process());
    warnings.extend(configured.err().map(|failure| format!("`{at}`: {}", failure.text())));
    warnings
}
