//! What a program may do, in one sentence for whoever starts it. Read from the compiled cage; leaves out what
//! every cage has.

use plan::network::MODEL_PORT;
use plan::{Access, HostPath, NetworkPlan, OverlayPurpose, Plan};
use policy::shown::shown;

/// What the program may read, change and reach. A path in the home is written as people write it.
pub fn sentence(plan: &Plan, home: Option<&HostPath>) -> String {
    let granted = |access: Access| {
        let grants = plan.walls.mounts.iter().filter_map(|operation| operation.grant());
        let paths = grants.filter(|bind| bind.access == access);
        paths.map(|bind| short(bind.at.as_bytes(), home)).collect::<Vec<_>>()
    };
    let views = || plan.walls.mounts.iter().filter_map(|operation| operation.view());
    let copies = views().filter(|view| view.purpose == OverlayPurpose::Workspace);
    let copies: Vec<String> = copies.map(|view| short(view.at.as_bytes(), home)).collect();
    let (read, change) = (granted(Access::ReadOnly), granted(Access::ReadWrite));
    let works = match copies.as_slice() {
        [] => "the program".to_owned(),
        copies => format!("the program works on a copy of {},", listed(copies, "")),
    };
    let own = if copies.is_empty() { "of yours" } else { "else of yours" };
    let nothing = format!("nothing {own}");
    let by_us = views().filter_map(|view| Some((short(view.at.as_bytes(), home), view.served?)));
    let by_us =
        by_us.map(|(at, why)| format!("; a process of ours shows {at}, because {}", why.reason()));
    let by_us: String = by_us.collect();
    format!(
        "cage `{}`: {works} may read {}, change {} and reach {}{by_us}",
        shown(&plan.walls.cage),
        listed(&read, if change.is_empty() { &nothing } else { "what it may change" }),
        listed(&change, &nothing),
        listed(&reached(&plan.walls.network), "no host"),
    )
}

fn reached(network: &NetworkPlan) -> Vec<String> {
    let NetworkPlan::Gatekeeper(gatekeeper) = network else { return Vec::new() };
    let hosts = gatekeeper.allow.iter().map(|host| format!("`{host}`"));
    let ports = gatekeeper.host_ports.iter().map(|port| match *port {
        MODEL_PORT => "the model service".to_owned(),
        port => format!("port {port} of this machine"),
    });
    hosts.chain(ports).collect()
}

fn short(path: &[u8], home: Option<&HostPath>) -> String {
    let path = String::from_utf8_lossy(path);
    let home = home.map(|home| String::from_utf8_lossy(home.as_bytes()).into_owned());
    let below = home.as_deref().and_then(|home| path.strip_prefix(home));
    match below {
        Some("") => "`~`".to_owned(),
        Some(below) if below.starts_with('/') => format!("`~{}`", shown(below)),
        _ => format!("`{}`", shown(path)),
    }
}

/// The first few, and how many more there are.
fn listed(all: &[String], none: &str) -> String {
    let first = all.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    match all.len() {
        0 => none.to_owned(),
        count if count > MOST => format!("{first} and {} more", count - MOST),
        _ => first,
    }
}

const MOST: usize = 3;
