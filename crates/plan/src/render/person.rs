//! A Plan as text for a person: what `check` prints. Says everything that the program inside can
//! see, reach and use; no colour, no width beyond that of a plain terminal.

use std::fmt::Write as _;

use crate::network::{HTTP_PROXY_PORT, MODEL_PORT, SOCKS_PORT};
use crate::render::entries::served_from;
use crate::render::for_shell;
use crate::summary::one_phrase;
use crate::{
    Access, BindPurpose, ByteString, IdentityMap, MountOp, NetworkPlan, OverlayPurpose, Plan,
    Served, ServedFrom, TmpfsPurpose, TmpfsSize,
};

/// The compiled cage in sections.
pub fn person(plan: &Plan) -> String {
    let mut page = Page(String::new());
    page.heading(&format!("cage {}", plan.walls.cage));
    page.field("summary", &plan.start.summary);
    page.field("plan", plan.hash().as_str());
    page.field("program", &command_line(&plan.start.argv));
    page.field("starts in", &one_phrase(plan.walls.working_directory.as_bytes()));
    reduced_isolation(plan, &mut page);
    files(plan, &mut page);
    network(plan, &mut page);
    system_calls(plan, &mut page);
    identity(plan, &mut page);
    limits(plan, &mut page);
    environment(plan, &mut page);
    page.0
}

struct Page(String);

impl Page {
    fn heading(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(text);
        self.0.push('\n');
    }

    /// A label and a value, which goes on below itself where it is too long. Breaks at spaces
    /// only: a path stays whole, so that it can be copied.
    fn field(&mut self, label: &str, value: &str) {
        let mut line = format!("  {label:LABEL_WIDTH$}");
        let indent = line.chars().count();
        for word in value.split(' ') {
            let used = line.chars().count();
            if used > indent && used + 1 + word.chars().count() > PAGE_WIDTH {
                let _ = writeln!(self.0, "{}", line.trim_end());
                line = " ".repeat(indent);
            }
            line.push(' ');
            line.push_str(word);
        }
        let _ = writeln!(self.0, "{}", line.trim_end());
    }
}

fn reduced_isolation(plan: &Plan, page: &mut Page) {
    if !plan.walls.reduced_isolation.is_empty() {
        page.heading("reduced isolation");
        for sentence in &plan.walls.reduced_isolation {
            page.field("warning", sentence);
        }
    }
}

/// In which list of the page an operation stands.
enum Row {
    /// Of what the host has, under this label.
    Host(&'static str),
    Base(String),
    Command,
    Device,
    /// Of the program's own files, under this label and with this remark.
    Own(&'static str, String),
    /// Of what comes from elsewhere, with where it comes from and why it is shown as it is.
    Elsewhere(&'static str, String),
    /// In none: it is there for another one's sake.
    None,
}

fn row(plan: &Plan, operation: &MountOp) -> Row {
    let name = || one_phrase(operation.at().as_bytes());
    match operation {
        MountOp::Bind(bind) => match (bind.purpose, bind.access) {
            (BindPurpose::Grant, Access::ReadOnly) => Row::Host("read-only"),
            (BindPurpose::Grant, Access::ReadWrite) => Row::Host("read-write"),
            (BindPurpose::Protected, _) => Row::Host("protected"),
            (BindPurpose::Base, _) => Row::Base(name()),
            (BindPurpose::Command, _) => Row::Command,
            (BindPurpose::Device, _) => Row::Device,
            (BindPurpose::Scratch | BindPurpose::Home, _) => {
                let kept = plan.source(bind.source).map(|source| source.path.as_bytes());
                Row::Own("kept", format!("in {}", one_phrase(kept.unwrap_or_default())))
            }
            (BindPurpose::Pin, _) => Row::None,
        },
        MountOp::Overlay(overlay) => match overlay.purpose {
            OverlayPurpose::Workspace => Row::Host("cow"),
            OverlayPurpose::Cache => Row::Host("cache"),
        },
        MountOp::Served(Served { from: ServedFrom::Layers(layers), .. }) => {
            let remark = format!("(served by a process of ours: {})", layers.why.reason());
            Row::Elsewhere(layers.purpose.word(), remark)
        }
        MountOp::Served(served) => {
            let label = match served.access {
                Access::ReadOnly => "read-only",
                Access::ReadWrite => "read-write",
            };
            let from = one_phrase(&served_from(&plan.walls, &served.from));
            let reason = served.from.reason();
            Row::Elsewhere(label, format!("from {from} (served by a process of ours: {reason})"))
        }
        MountOp::Tmpfs { purpose, size, .. } => match purpose {
            TmpfsPurpose::Private | TmpfsPurpose::Scratch => {
                Row::Own("in memory", size_text(*size))
            }
            TmpfsPurpose::Hidden => Row::Host("hidden"),
            TmpfsPurpose::Devices => Row::None,
        },
        MountOp::Mask { .. } => Row::Host("hidden"),
        MountOp::File { contents, .. } if !contents.is_empty() => Row::Base(name()),
        MountOp::Hosts { .. } => Row::Base(name()),
        MountOp::Symlink { at, target } if !at.as_bytes().starts_with(b"/dev/") => {
            Row::Base(format!("{}->{}", name(), one_phrase(target.as_bytes())))
        }
        MountOp::Proc { .. } => Row::Base(name()),
        MountOp::Devpts { .. } => Row::Device,
        MountOp::Directory { .. } | MountOp::File { .. } | MountOp::Symlink { .. } => Row::None,
        MountOp::SealReadOnly { .. } | MountOp::MaskIfPresent { .. } => Row::None,
    }
}

fn files(plan: &Plan, page: &mut Page) {
    let (mut host, mut own) = (Vec::new(), Vec::new());
    let (mut names, mut commands, mut devices) = (Vec::new(), Vec::new(), Vec::new());
    let mut elsewhere = Vec::new();
    for operation in &plan.walls.mounts {
        let at = one_phrase(operation.at().as_bytes());
        match row(plan, operation) {
            Row::Host(label) => host.push((label, at)),
            Row::Base(name) => names.push(name),
            Row::Command => commands.push(at),
            Row::Device => devices.push(at),
            Row::Own(label, remark) => own.push((label, format!("{at} ({remark})"))),
            Row::Elsewhere(label, remark) => elsewhere.push((label, format!("{at} {remark}"))),
            Row::None => {}
        }
    }
    if host.is_empty() {
        host.push(("none", String::new()));
    }
    let base = [("files", names), ("commands", commands), ("devices", devices)];
    let base = base.into_iter().filter(|(_, list)| !list.is_empty());
    let base = base.map(|(label, list)| (label, list.join(" "))).collect();
    let sections =
        [("files of the host", host), ("base layer, read-only", base), ("files of its own", own)];
    let from_elsewhere = ("files from elsewhere", elsewhere);
    let sections =
        sections.into_iter().chain(Some(from_elsewhere).filter(|(_, rows)| !rows.is_empty()));
    for (heading, rows) in sections {
        page.heading(heading);
        for (label, value) in rows {
            page.field(label, &value);
        }
    }
}

fn network(plan: &Plan, page: &mut Page) {
    page.heading("network");
    match &plan.walls.network {
        NetworkPlan::Loopback => page.field("none", "the cage's own loopback and nothing else"),
        NetworkPlan::Gatekeeper(gatekeeper) => {
            if gatekeeper.allow.is_empty() {
                page.field("allowed", "no host");
            }
            let lists = [("allowed", &gatekeeper.allow), ("denied", &gatekeeper.deny)];
            for (label, entries) in lists {
                for entry in entries {
                    page.field(label, &entry.to_string());
                }
            }
            for port in &gatekeeper.host_ports {
                match *port {
                    MODEL_PORT => page.field(
                        "model",
                        &format!("{port} inside leads to the model service outside"),
                    ),
                    port => page.field(
                        "host port",
                        &format!("{port} inside leads to {port} of the host's loopback"),
                    ),
                }
            }
            for port in &gatekeeper.publish {
                page.field(
                    "published",
                    &format!("{port} of the host's loopback leads to {port} inside"),
                );
            }
            for (host, sentence) in &gatekeeper.reasons {
                let sentence = one_phrase(sentence.as_bytes());
                page.field("reason", &format!("{host}: {sentence}"));
            }
            let (socks, http) = (SOCKS_PORT, HTTP_PROXY_PORT);
            page.field(
                "by way of",
                &format!("every TCP connection; SOCKS on 127.0.0.1:{socks}; HTTP proxy on 127.0.0.1:{http}"),
            );
        }
    }
}

fn system_calls(plan: &Plan, page: &mut Page) {
    page.heading("system calls");
    page.field("profile", plan.walls.seccomp.profile.name());
}

fn identity(plan: &Plan, page: &mut Page) {
    let identity = &plan.walls.identity;
    page.heading("identity");
    let (uid, gid) = (identity.uid, identity.gid);
    page.field("inside", &format!("{} (uid {uid}, gid {gid})", identity.user));
    let outside = match identity.map {
        IdentityMap::Caller(ids) => format!("the caller (uid {}, gid {})", ids.uid, ids.gid),
        IdentityMap::Unowned => "an id that owns nothing, new for each run".to_owned(),
    };
    page.field("on the host", &outside);
    page.field("home", &one_phrase(identity.home.as_bytes()));
    page.field("host name", &plan.start.hostname);
}

fn limits(plan: &Plan, page: &mut Page) {
    let limits = &plan.walls.limits;
    let lines = [
        ("memory", limits.memory_mb.map(|mb| format!("{mb} MiB"))),
        ("processes", limits.pids.map(|pids| pids.to_string())),
        ("cpus", limits.cpu_millis.map(|millis| format!("{}", f64::from(millis) / 1000.0))),
        ("cpu weight", limits.cpu_weight.map(|weight| weight.to_string())),
        ("time", limits.walltime_sec.map(|seconds| format!("{seconds} s"))),
        ("workspace", limits.workspace_mb.map(|mb| format!("{mb} MiB"))),
    ];
    page.heading("limits");
    if lines.iter().all(|(_, value)| value.is_none()) {
        page.field("none", "");
    }
    for (label, value) in lines {
        if let Some(value) = value {
            page.field(label, &value);
        }
    }
}

fn environment(plan: &Plan, page: &mut Page) {
    page.heading("environment");
    for variable in &plan.walls.environment {
        let name = one_phrase(variable.name.as_bytes());
        let value = match is_secret(&name) && !variable.value.is_empty() {
            true => "(not shown)".to_owned(),
            false => text_phrase(variable.value.as_bytes()),
        };
        page.field("", &format!("{name}={value}"));
    }
}

/// Whether a variable of this name is one whose value people do not want on a screen or in a report.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.split('_').any(|part| part == *word))
}

fn command_line(argv: &[ByteString]) -> String {
    argv.iter().map(for_shell).collect::<Vec<_>>().join(" ")
}

/// As [`one_phrase`], with the ends of lines as people write them. A backslash of the text itself has another
/// spelling.
fn text_phrase(bytes: &[u8]) -> String {
    one_phrase(bytes).replace("\\x0a", "\\n").replace("\\x09", "\\t")
}

fn size_text(size: TmpfsSize) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.iter().find(|(bytes, _)| size.bytes.is_multiple_of(*bytes));
    match unit {
        Some((bytes, name)) => format!("{} {name}", size.bytes / bytes),
        None => format!("{} bytes", size.bytes),
    }
}

const SECRET_WORDS: [&str; 8] =
    ["KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS"];
const PAGE_WIDTH: usize = 98;
const LABEL_WIDTH: usize = 11;
