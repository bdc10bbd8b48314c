//! Who may use whom. The table is the architecture; a crate that is not in it, or an edge that is
//! not, is refused. Development dependencies are free: a test may look from any side.

use toml::{Table, Value};

use super::Finding;
use super::tree::Tree;

/// Each crate of `crates/` and `bindings/`, and the crates of ours that it may use.
const EDGES: &[(&str, &[&str])] = &[
    ("walls", &[]),
    ("plan", &[]),
    ("sys", &[]),
    ("audit", &[]),
    ("testing", &[]),
    ("vfs", &[]),
    ("conformance", &["testing", "vfs"]),
    ("fileserver", &["plan", "sys", "vfs"]),
    // Part of `sys`, and apart from it: nothing but the program that runs guests is linked with their engine.
    ("compiled", &[]),
    ("typescript", &[]),
    ("engines", &["compiled", "typescript", "vfs"]),
    ("guest", &["engines", "sys", "vfs"]),
    ("modules", &["plan", "state"]),
    ("mounts", &["fileserver", "jail", "plan", "remote", "store", "sys", "vfs", "walls"]),
    ("store", &["vfs"]),
    ("model", &[]),
    ("mcp", &[]),
    ("tools", &["model", "plan", "policy"]),
    ("agent", &["model", "tools"]),
    ("callfs", &["model", "tools", "vfs"]),
    (
        "harness",
        &[
            "advice",
            "agent",
            "audit",
            "cage",
            "callfs",
            "fileserver",
            "jail",
            "mcp",
            "model",
            "plan",
            "policy",
            "sys",
            "terminal",
            "tools",
            "vfs",
        ],
    ),
    ("snapshot", &["plan", "policy", "session", "store", "vfs"]),
    ("remote", &["vfs"]),
    ("credentials", &["fileserver", "plan", "policy", "state", "sys"]),
    (
        "files",
        &[
            "credentials",
            "fileserver",
            "mounts",
            "plan",
            "policy",
            "remote",
            "session",
            "store",
            "terminal",
            "vfs",
            "workspace",
        ],
    ),
    ("policy", &["plan", "walls"]),
    ("manifest", &["plan", "policy"]),
    ("jail", &["plan", "sys", "walls"]),
    ("gate", &["plan", "sys", "walls"]),
    ("limits", &["plan", "sys", "walls"]),
    ("terminal", &["sys", "walls"]),
    ("state", &["plan"]),
    ("session", &["plan", "policy", "sys"]),
    ("workspace", &["plan", "policy", "sys"]),
    ("review", &["audit", "plan", "policy", "resolve", "session", "workspace"]),
    ("resolve", &["plan", "policy", "walls"]),
    ("profiles", &["plan", "policy"]),
    ("prepare", &["audit", "plan", "policy", "profiles", "resolve", "state", "walls"]),
    (
        "aftermath",
        &["audit", "limits", "plan", "policy", "prepare", "resolve", "session", "sys", "walls"],
    ),
    ("probe", &["jail", "limits", "policy", "resolve"]),
    (
        "cage",
        &[
            "aftermath",
            "audit",
            "credentials",
            "fileserver",
            "gate",
            "jail",
            "limits",
            "plan",
            "policy",
            "prepare",
            "resolve",
            "session",
            "state",
            "sys",
            "terminal",
            "walls",
            "workspace",
        ],
    ),
    ("invoke", &["advice", "audit", "cage", "manifest", "plan", "policy", "sys"]),
    ("attacks", &["sys"]),
    ("prove", &["attacks", "sys"]),
    ("advice", &["aftermath", "cage", "gate", "jail", "modules", "plan", "policy"]),
    (
        "daemon",
        &[
            "advice", "audit", "cage", "files", "jail", "plan", "policy", "probe", "review", "sys",
            "walls",
        ],
    ),
    (
        "cli",
        &[
            "advice",
            "aftermath",
            "attacks",
            "audit",
            "cage",
            "daemon",
            "files",
            "fileserver",
            "gate",
            "harness",
            "invoke",
            "jail",
            "limits",
            "manifest",
            "mounts",
            "plan",
            "policy",
            "probe",
            "profiles",
            "prove",
            "review",
            "snapshot",
            "sys",
            "terminal",
            "vfs",
        ],
    ),
    ("python", &["invoke", "manifest", "plan", "policy"]),
];

/// Tables of a manifest that make it into what is shipped.
const SHIPPED: &[&str] = &["dependencies", "build-dependencies"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.manifests() {
        let name = path.rsplit('/').nth(1).unwrap_or_default();
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
            let message =
                format!("crate `{name}` is not in the table of edges of `cargo xtask tidy`");
            findings.push(Finding::of_file(path, message));
            continue;
        };
        match text.parse::<Table>() {
            Ok(manifest) => {
                for used in used_of_ours(&manifest) {
                    if !allowed.contains(&used.as_str()) {
                        let message = format!("`{name}` may not use `{used}`: {}", may(allowed));
                        findings.push(Finding::of_file(path, message));
                    }
                }
            }
            Err(error) => findings.push(Finding::of_file(path, error.message())),
        }
    }
    findings
}

fn may(allowed: &[&str]) -> String {
    match allowed {
        [] => "it uses no crate of ours".to_owned(),
        some => format!("of ours it may use {}", some.join(", ")),
    }
}

/// Crates of ours in the manifest's shipped dependencies, also those for one platform only.
fn used_of_ours(manifest: &Table) -> Vec<String> {
    let platforms = manifest.get("target").and_then(Value::as_table);
    let platforms = platforms.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let mut used = Vec::new();
    for part in std::iter::once(manifest).chain(platforms) {
        for dependencies in SHIPPED.iter().filter_map(|name| part.get(*name)?.as_table()) {
            used.extend(dependencies.iter().filter_map(|(key, value)| of_ours(key, value)));
        }
    }
    used.sort();
    used.dedup();
    used
}

/// The crate of ours that a dependency stands for, whatever it is called here.
fn of_ours(key: &str, value: &Value) -> Option<String> {
    let field = |name: &str| value.as_table()?.get(name)?.as_str();
    let package = field("package").unwrap_or(key);
    let package = package.strip_prefix("stockade-").unwrap_or(package);
    let directory = field("path").and_then(|path| path.rsplit('/').next()).unwrap_or(package);
    EDGES.iter().map(|(name, _)| *name).find(|name| *name == directory).map(str::to_owned)
}
