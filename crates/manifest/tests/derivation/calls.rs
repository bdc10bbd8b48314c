//! A call of an executor on the made-up host, from its manifest to a Plan.

use manifest::Autonomy;
use manifest::{Call, Derived, Filter, Found, Grants, Manifest, Place, Refused, derive};
use plan::{FileKind, HostPath, Plan};
use policy::{HostFacts, compile};
use serde_json::{Map, Value};

use crate::fake_host::{FakeHost, invocation};

/// Where executors are on the made-up host.
pub(crate) const CODE: &str = "/home/dev/executors/one";

/// What a caller asks for; nothing special by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asking {
    pub(crate) autonomy: Autonomy,
    pub(crate) grants: Grants,
    pub(crate) arguments: Option<Map<String, Value>>,
    pub(crate) extra_ro: Vec<HostPath>,
    pub(crate) extra_rw: Vec<HostPath>,
}

impl Asking {
    pub(crate) fn granting(texts: &[&str]) -> Self {
        Self { grants: Grants::listed(texts).unwrap(), ..Self::default() }
    }

    pub(crate) fn with(arguments: Value) -> Self {
        Self { arguments: Some(arguments.as_object().unwrap().clone()), ..Self::default() }
    }
}

/// The made-up host with an executor on it.
pub(crate) fn host_with_executor() -> FakeHost {
    let mut host =
        FakeHost { project: CODE, working_directory: CODE.to_owned(), ..FakeHost::default() };
    host.entries.extend([format!("{CODE}/main.py"), format!("{CODE}/beside.py")]);
    host
}

pub(crate) fn read(text: &str) -> Manifest {
    Manifest::from_toml("manifest.toml", text.as_bytes())
        .unwrap_or_else(|errors| panic!("{errors}"))
}

pub(crate) fn derived(
    host: &FakeHost,
    manifest: &Manifest,
    asking: &Asking,
) -> Result<Derived, Refused> {
    let home = host.home.map(crate::fake_host::host);
    let code = crate::fake_host::host(host.project);
    let own_state = host.place().own_state;
    let found = |path: &HostPath| match host.kind(&path.to_string()) {
        Some(FileKind::Directory) => Found::Directory,
        Some(FileKind::File) => Found::Other,
        None => Found::Missing,
    };
    let place =
        Place { home: home.as_ref(), code_directory: &code, own_state: &own_state, found: &found };
    let checked = asking.arguments.clone().map(|arguments| {
        Filter::default()
            .check(manifest, arguments, home.as_ref())
            .expect("the filter lets it through")
    });
    let call = Call {
        autonomy: asking.autonomy,
        grants: &asking.grants,
        arguments: checked.as_ref(),
        extra_ro: &asking.extra_ro,
        extra_rw: &asking.extra_rw,
    };
    derive(manifest, &call, &place)
}

/// Makes what is to be made and compiles.
pub(crate) fn compiled(host: &FakeHost, derived: &Derived) -> (Plan, HostFacts) {
    let mut host = host.clone();
    host.entries.extend(derived.create.iter().map(|path| format!("{path}/")));
    let facts = host.resolve(&derived.policy);
    let plan = compile(&derived.policy, &facts, &invocation()).expect("what is derived compiles");
    (plan, facts)
}

/// The bubblewrap command line of a call.
pub(crate) fn argv(manifest: &Manifest, asking: &Asking) -> Vec<String> {
    let host = host_with_executor();
    let derived = derived(&host, manifest, asking).unwrap_or_else(|refused| panic!("{refused}"));
    let (plan, _) = compiled(&host, &derived);
    plan::render::bwrap(&plan, 10).argv.iter().map(ToString::to_string).collect()
}

/// Whether these words stand in a command line one after the other.
pub(crate) fn has(argv: &[String], words: &[&str]) -> bool {
    argv.windows(words.len())
        .any(|window| window.iter().zip(words).all(|(one, other)| one == other))
}
