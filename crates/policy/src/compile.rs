//! From a policy and what was found on the host to a Plan.
//!
//! Pure and total: the same input gives the same Plan, apart from what belongs to one start. Every
//! choice that a cage involves is made here; enforcers make none. One file per part of the Plan, in
//! the order in which they are called.

mod areas;
mod base;
mod environment;
mod error;
mod expectations;
mod grants;
mod identity;
mod landlock;
mod mounts;
mod tree;
mod views;

pub use environment::PROXY_VARIABLES;
pub use error::{CompileError, RuleConflict};

use plan::seccomp::{Profile, Watch};
use plan::{
    BindPurpose, ByteString, GatekeeperPlan, HostIds, LimitsPlan, MountOp, NetworkPlan,
    PLAN_VERSION, Plan, SeccompPlan, Start, Walls,
};
use walls::Wall;

use crate::net::Destination;
use crate::{Home, HostFacts, Limits, Policy, Seccomp, State};
use areas::Areas;
use tree::Tree;

/// What one start adds to a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Unique per start: a ULID.
    pub id: String,
    /// The program and its arguments.
    pub argv: Vec<ByteString>,
    /// Who a privileged caller's cage is on the host: ids that own nothing.
    pub unowned: HostIds,
}

/// Compiles one cage.
pub fn compile(
    policy: &Policy,
    facts: &HostFacts,
    invocation: &Invocation,
) -> Result<Plan, CompileError> {
    check_start(policy, facts, invocation)?;
    let identity = identity::identity(facts);
    let network = network(policy);
    let areas = Areas::new(policy, facts)?;

    let mut tree = Tree::empty(facts);
    base::lay(&mut tree, facts, &identity, &network)?;
    grants::lay(&mut tree, facts, &areas, &identity.home)?;
    base::lay_home(&mut tree, facts, &areas, &identity.home);
    base::lay_commands(&mut tree, facts, &areas)?;
    mounts::lay(&mut tree, policy, facts)?;
    grants::lay_written_links(&mut tree, policy, facts)?;

    let working_directory = expectations::working_directory(&tree, facts, &areas, &identity.home);
    let must_exist = expectations::must_exist(&tree, facts, &areas, &identity.home);
    let must_not_exist = expectations::must_not_exist(&tree, facts, &areas, &identity.home);
    let mut mounts = tree.into_operations();
    let Limits { memory_mb, tmp_mb, home_mb, .. } = policy.limits;
    plan::Room { memory_mb, tmp_mb, home_mb }.hold(&mut mounts, &identity.home);
    let keeps_something = mounts.iter().any(is_kept_for_a_project_or_session);
    let walls = Walls {
        cage: policy.name.clone(),
        environment: environment::environment(policy, facts, &identity, &working_directory),
        identity,
        sources: facts.sources.clone(),
        landlock: landlock::rules(&mounts),
        mounts,
        network,
        seccomp: SeccompPlan::native(profile(policy.seccomp)),
        limits: limits(policy, keeps_something),
        working_directory,
        umask: facts.umask & 0o777,
        must_exist,
        must_not_exist,
        watched: areas.watched(),
        reduced_isolation: reduced_isolation(policy),
    };
    let start = Start {
        invocation: invocation.id.clone(),
        hostname: identity::hostname(invocation),
        unowned: invocation.unowned,
        sources: facts.kept.sources().cloned().collect(),
        argv: invocation.argv.clone(),
        summary: String::new(),
        watch: Watch::Nothing,
    };
    let mut plan = Plan { version: PLAN_VERSION, walls, start };
    plan.start.summary = plan.one_line();
    plan.check()?;
    Ok(plan)
}

/// What the caller of this function can get wrong, told apart from our own mistakes.
fn check_start(
    policy: &Policy,
    facts: &HostFacts,
    invocation: &Invocation,
) -> Result<(), CompileError> {
    if invocation.argv.first().is_none_or(ByteString::is_empty) {
        return Err(CompileError::NoProgram);
    }
    if invocation.argv.iter().any(|argument| argument.as_bytes().contains(&0)) {
        return Err(CompileError::NulInArgument);
    }
    let ids = facts.caller.ids;
    if !facts.caller.privileged && (ids.uid == 0 || ids.gid == 0) {
        return Err(CompileError::RootWithoutPrivilege { uid: ids.uid, gid: ids.gid });
    }
    let needs_scratch = policy.state == State::Scratch && facts.kept.scratch.is_none();
    if needs_scratch || policy.home == Home::Kept && facts.kept.home.is_none() {
        return Err(CompileError::NotKept(if needs_scratch { "`/scratch`" } else { "the home" }));
    }
    if policy.fs.len() != facts.rules.len() {
        return Err(CompileError::bug("the resolved rules are not those of the policy"));
    }
    Ok(())
}

/// What a policy connects a cage to. K25: nothing asked for, nothing connected.
pub fn network(policy: &Policy) -> NetworkPlan {
    let net = &policy.net;
    if net.asks_for_nothing() {
        return NetworkPlan::Loopback;
    }
    let reason = |(host, sentence): (&Destination, &String)| (host.to_string(), sentence.clone());
    NetworkPlan::Gatekeeper(GatekeeperPlan {
        allow: net.allow.keys().cloned().collect(),
        deny: net.deny.keys().cloned().collect(),
        reasons: net.reasons.iter().map(reason).collect(),
        host_ports: net.host_ports.keys().copied().collect(),
        publish: net.publish.keys().copied().collect(),
    })
}

fn profile(seccomp: Seccomp) -> Profile {
    match seccomp {
        Seccomp::Default if walls::stands(Wall::DefaultProfile) => Profile::Default,
        Seccomp::Default | Seccomp::Relaxed => Profile::Relaxed,
    }
}

/// Whether an operation gives the program room on the disk that is to be bounded.
fn is_kept_for_a_project_or_session(operation: &MountOp) -> bool {
    let is_home = operation.bind().is_some_and(|bind| bind.purpose == BindPurpose::Home);
    is_home || operation.view().is_some()
}

fn limits(policy: &Policy, keeps_something: bool) -> LimitsPlan {
    let limits = &policy.limits;
    LimitsPlan {
        memory_mb: limits.memory_mb,
        cpu_weight: limits.cpu_weight,
        cpu_millis: limits.cpu_millis,
        pids: limits.pids,
        walltime_sec: limits.walltime_sec,
        workspace_mb: keeps_something
            .then_some(limits.workspace_mb.unwrap_or(Limits::WORKSPACE_MB)),
    }
}

fn reduced_isolation(policy: &Policy) -> Vec<String> {
    match policy.seccomp {
        Seccomp::Default => Vec::new(),
        Seccomp::Relaxed => vec![
            "the relaxed system call profile lets programs trace each other and reach more of \
             the kernel"
                .to_owned(),
        ],
    }
}
