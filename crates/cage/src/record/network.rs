//! What a gatekeeper tells, in the words of the record and in those for the program in the cage.

use audit::{Event, Name};
use gate::event::EventKind;
use jail::{Refused, RefusedKind};

/// What a gatekeeper told, under the name of the cage that it serves and not under the one that it
/// says.
pub(super) fn event(invocation_id: Name, kind: EventKind) -> Event {
    let way = |way: gate::event::Route| Name::from(way.word());
    match kind {
        EventKind::DnsAllowed { hostname, resolved_ip } => {
            Event::GatekeeperDnsAllowed { invocation_id, hostname: hostname.into(), resolved_ip }
        }
        EventKind::DnsDenied { hostname, rule, code, reason } => Event::GatekeeperDnsDenied {
            invocation_id,
            hostname: hostname.into(),
            rule: rule.map(Into::into),
            code: code.into(),
            reason: reason.into(),
        },
        EventKind::TcpAllowed { target, port, rule, way: by } => Event::GatekeeperTcpAllowed {
            invocation_id,
            target: target.into(),
            port,
            rule: rule.into(),
            way: way(by),
        },
        EventKind::TcpDenied { target, port, rule, code, reason, way: by } => {
            Event::GatekeeperTcpDenied {
                invocation_id,
                target: target.into(),
                port,
                rule: rule.map(Into::into),
                code: code.into(),
                reason: reason.into(),
                way: way(by),
            }
        }
        EventKind::UdpDenied { target, port } => {
            Event::GatekeeperUdpDenied { invocation_id, target, port }
        }
        EventKind::UpstreamUnreachable { error } => {
            Event::GatekeeperUpstreamUnreachable { invocation_id, error: error.into() }
        }
    }
}

/// The same for the program, where something was refused: it asks its user for what it needs.
pub(crate) fn refused(kind: &EventKind) -> Option<Refused> {
    let (subject, port, because) = match kind {
        EventKind::DnsDenied { hostname, reason, .. } => (hostname.clone(), None, reason.clone()),
        EventKind::TcpDenied { target, port, reason, .. } => {
            (target.clone(), Some(*port), reason.clone())
        }
        EventKind::DnsAllowed { .. } | EventKind::TcpAllowed { .. } => return None,
        EventKind::UdpDenied { .. } | EventKind::UpstreamUnreachable { .. } => return None,
    };
    let subject = match port {
        Some(port) if subject.contains(':') => format!("[{subject}]:{port}"),
        Some(port) => format!("{subject}:{port}"),
        None => subject,
    };
    let flag = Some(format!("--net {subject}"));
    Some(Refused { kind: RefusedKind::Host, subject, because, flag })
}
