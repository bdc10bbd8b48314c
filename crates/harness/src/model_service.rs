//! The process that serves the model and other services of the operator to one cage, on a listener that was made inside of it:
//! reads the operator's configuration and keys, puts every call on record, and ends with the cage. Reaches the configured addresses and no
//! other; no key leaves it but in a request to the provider that it is for.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use advice::Failure;
use audit::Log;
use cage::state::Locations;
use cage::{Kind, MODEL_IS_SERVED, ModelOrder, ModelService, with_causes};
use jail::SetupFailure;
use jail::within::{self, Narrowing};
use model::service::{Begun, Ended, Others, Record as Recorded, Service, Upstreams};
use model::{Endpoint, Protocol};
use plan::network::MODEL_PORT;
use policy::Policy;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use sys::channel::{self, Waiting};

use crate::aside;
use crate::inside_server::LLM;
use crate::models::Models;
use crate::operator::Services;
use crate::operator::served::Served;
use crate::operator::starter::Starter;
use crate::record::Record;

/// The command line of the process, for whoever starts many cages.
pub fn command() -> Vec<OsString> {
    vec!["/proc/self/exe".into(), crate::MODEL.into()]
}

/// Begins anew without the keys of models that are in our own environment, where a policy lets its programs use one:
/// nothing of them is to be in what the cage is made from.
///
/// # Errors
/// If the configuration cannot be read.
pub fn set_keys_aside(policy: &Policy, locations: &Locations) -> Result<(), Failure> {
    if is_wanted(policy) {
        Models::of_this_process(locations)?.set_aside()?;
    }
    Ok(())
}

/// Starts the process for a cage, if its policy lets its programs use a model.
///
/// # Errors
/// If it cannot be started.
pub fn start(policy: &Policy) -> Result<Option<ModelService>, Failure> {
    let start = || ModelService::start(&command());
    let started = is_wanted(policy).then(start).transpose();
    started.map_err(|error| Failure::new(Kind::CannotBuild, with_causes(&error)))
}

fn is_wanted(policy: &Policy) -> bool {
    policy.net.host_ports.contains_key(&MODEL_PORT)
}

/// The whole life of the process.
pub(crate) fn main() -> ExitCode {
    let control = std::io::stdin();
    match serve(&control) {
        Ok(service) => {
            // Nothing more is said on it: its end is that of the cage.
            while !matches!(channel::receive(control.as_fd(), 0, Waiting::Allowed), Ok(None)) {}
            let until = Instant::now() + LAST_CALLS;
            service.stop();
            while !service.is_idle() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(2));
            }
            ExitCode::SUCCESS
        }
        Err(why) => {
            let why: String = why.chars().take(MOST_WORDS).collect();
            let _gone = channel::send(control.as_fd(), why.as_bytes(), &[], Waiting::Allowed);
            ExitCode::FAILURE
        }
    }
}

fn serve(control: &io::Stdin) -> Result<Service, String> {
    let said = |error: Errno| io::Error::from(error).to_string();
    confine().map_err(said)?;
    let models =
        Models::of_this_process(&Locations::of_this_process()).map_err(|failure| failure.text())?;
    let order = channel::receive(control.as_fd(), MOST_ORDER, Waiting::Allowed).map_err(said)?;
    let (order, mut descriptors) = order.ok_or_else(|| "the supervisor is gone".to_owned())?;
    let order: ModelOrder = serde_json::from_slice(&order).map_err(|error| error.to_string())?;
    let listener: OwnedFd = descriptors.pop().ok_or_else(|| "no listener came".to_owned())?;
    let log = Log::open(&order.record).map_err(|error| with_causes(&error))?;
    let record = Record::new(&Arc::new(log), &order.invocation);
    let others = others(&order.services, &record)?;
    let upstreams = Upstreams { others, ..upstreams(&models, &order.services)? };
    give_up_files(order.record.as_path()).map_err(|error| with_causes(&error))?;
    let record = OnRecord(record);
    let listener = TcpListener::from(listener);
    let service = Service::start(listener, upstreams, models.bounds(), Arc::new(record))
        .map_err(|error| error.to_string())?;
    channel::send(control.as_fd(), MODEL_IS_SERVED, &[], Waiting::Allowed).map_err(said)?;
    Ok(service)
}

/// Keeps what it was started with to itself: it holds keys, and reads what comes from a cage.
fn confine() -> Result<(), Errno> {
    let mut kept: Vec<u32> = (0..=2).chain(aside::descriptors()).collect();
    kept.sort_unstable();
    kept.dedup();
    sys::descriptors::close_all_but(&kept)?;
    rustix::thread::set_no_new_privs(true)?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(Resource::Core, none)
}

/// Keeps of all files those that a name is looked up with, the authorities that are trusted, and the record. From here on it
/// reads what comes from a cage. Where the kernel has no landlock it keeps what its user has.
fn give_up_files(record: &Path) -> Result<(), SetupFailure> {
    if !within::can_narrow() {
        return Ok(());
    }
    let path = |path: &Path, write| within::Path { path: path.to_owned(), write, run: false };
    let mut paths: Vec<within::Path> =
        READ.iter().map(|read| path(Path::new(read), false)).collect();
    paths.extend(std::env::var_os("SSL_CERT_FILE").map(|named| path(Path::new(&named), false)));
    paths.push(path(record, true));
    within::narrow(&Narrowing { paths, network: true })
}

/// The services that the cage may ask beside models. What starts their commands is started while that can be.
fn others(names: &[String], record: &Record) -> Result<Option<Arc<dyn Others>>, String> {
    let names: Vec<String> = names.iter().filter(|name| *name != LLM).cloned().collect();
    if names.is_empty() {
        return Ok(None);
    }
    let services = Services::of_this_process(&names, &Locations::of_this_process());
    let services = services.map_err(|failure| failure.text())?;
    let commands = services.commands();
    let starter = (!commands.is_empty()).then(|| Starter::start(&commands)).transpose()?;
    Ok(Some(Arc::new(Served::new(services, starter, record.clone()))))
}

fn upstreams(models: &Models, services: &[String]) -> Result<Upstreams, String> {
    let mut upstreams = Upstreams::default();
    for provider in &models.providers {
        let key = provider.key().map_err(|error| with_causes(&error))?;
        let endpoint = Endpoint::new(provider.protocol, provider.url.clone(), key)
            .map_err(|error| error.to_string())?;
        match provider.protocol {
            Protocol::Anthropic => upstreams.anthropic = Some(endpoint),
            Protocol::Completions | Protocol::Responses => upstreams.openai = Some(endpoint),
        }
    }
    // A cage that names other services alone may do without a model.
    let wants_model = services.is_empty() || services.iter().any(|name| name == LLM);
    match models.providers.is_empty() && wants_model {
        true => Err("no model is configured".to_owned()),
        false => Ok(upstreams),
    }
}

/// Calls of a cage on record, by their hashes.
struct OnRecord(Record);

impl Recorded for OnRecord {
    fn begun(&self, call: &Begun) -> io::Result<()> {
        let model = call.model.as_deref().unwrap_or(&call.path);
        self.0.asked(call.call, model, (call.bytes, &call.sha256))
    }

    fn ended(&self, call: &Ended) {
        let refused = |status: &u16| !(200..300).contains(status);
        let refused = call.status.filter(refused).map(|status| format!("status {status}"));
        let failure = call.failure.clone().or(refused);
        let answer = (call.bytes, call.sha256.as_str());
        self.0.ended(call.call, answer, &call.usage, call.cost, failure.as_deref());
    }
}

/// How long calls that are under way may take to be recorded when the cage has ended.
const LAST_CALLS: Duration = Duration::from_millis(500);
const MOST_ORDER: usize = 16 << 10;
const MOST_WORDS: usize = 1000;

/// Of names and of authorities.
const READ: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/pki",
    "/run/systemd/resolve",
    "/usr/share/ca-certificates",
    "/dev/urandom",
    "/dev/null",
];

#[cfg(test)]
mod tests;
