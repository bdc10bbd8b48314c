//! One cage as the gatekeeper knows it: what it may reach, which address stands for which name in it,
//! and how much it has in use. Every way in asks [`Cage::reach`]; there is no other way out.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use plan::destination::Name;
use plan::network::GatekeeperPlan;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::budget::{Budget, Serves, Taken};
use crate::control::Registration;
use crate::decision::{Denial, Target, Verdict, decide, decide_question};
use crate::dial::{self, DialFailure};
use crate::dns::{CageNames, Outside, ResolveFailure, Resolver};
use crate::event::{EventKind, Route};
use crate::limits;
use crate::record::Record;
use crate::relay::{HeldBack, Meter, Pipes};
use crate::rules::Rules;
use crate::settings::Proxy;
use crate::synthetic::{MapFull, SyntheticMap, SyntheticPair, is_synthetic};
use crate::watched::Watched;

/// What all cages share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) pipes: Pipes,
    /// The budget for connections.
    pub(crate) connections: Arc<Budget>,
    /// The budget for what cages are served with.
    pub(crate) cages: Arc<Budget>,
    pub(crate) serves: Serves,
}

/// A cage that is served.
#[derive(Debug)]
pub(crate) struct Cage {
    rules: Rules,
    proxy: Option<Proxy>,
    synthetic: Mutex<SyntheticMap>,
    /// Room for connections.
    pub(crate) connections: Arc<Semaphore>,
    dials: Semaphore,
    held_back: HeldBack,
    pub(crate) record: Record,
    shared: Arc<Shared>,
    /// Connections that nobody else can take.
    own_budget: Arc<Budget>,
    /// For these, and for what it is served with.
    _share: Taken,
}

/// Why a cage does not get a connection.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It may not have it.
    Denied(Denial),
    /// It could not be made.
    Failed(DialFailure),
}

impl Cage {
    /// A cage that has not done anything yet.
    pub(crate) fn new(
        plan: &GatekeeperPlan,
        registration: Registration,
        channel: Arc<Watched>,
        shared: Arc<Shared>,
        share: Taken,
    ) -> Self {
        let Registration { invocation, settings, .. } = registration;
        Self {
            rules: Rules::new(plan),
            proxy: settings.proxy,
            // The standard library's hasher is seeded by the kernel.
            synthetic: Mutex::new(SyntheticMap::new(RandomState::new().build_hasher().finish())),
            connections: Arc::new(Semaphore::new(limits::CONNECTIONS)),
            dials: Semaphore::new(limits::DIALS),
            held_back: HeldBack::default(),
            record: Record::new(invocation, settings.log_allowed, channel),
            shared,
            own_budget: Budget::new(limits::OWN_CONNECTIONS),
            _share: share,
        }
    }

    /// A place for a connection that was made, once there is one.
    pub(crate) async fn place(&self) -> Taken {
        let take = || {
            let all = limits::CONNECTIONS.saturating_sub(self.connections.available_permits());
            let shared = &self.shared.connections;
            self.own_budget.take(1).or_else(|| match self.shared.serves {
                Serves::OneCage => shared.take(1),
                Serves::ManyCages => shared.take_share(all),
            })
        };
        let mut place = take();
        if place.is_none() {
            self.record.had_no_descriptor();
        }
        loop {
            match place {
                Some(place) => return place,
                None => tokio::time::sleep(limits::NO_PLACE).await,
            }
            place = take();
        }
    }

    /// A connection to a target, if the cage may have it. Whatever is refused is on record.
    pub(crate) async fn reach(
        &self,
        target: &Target,
        port: u16,
        way: Route,
    ) -> Result<TcpStream, Refusal> {
        let rule = match decide(&self.rules, target, port) {
            Verdict::Allow { rule } => rule,
            Verdict::Deny(denial) => return Err(self.deny(target, port, denial, way)),
        };
        let dialled = {
            // A semaphore that nobody closes only makes this wait.
            let _permit = self.dials.acquire().await;
            let resolver = &self.shared.resolver;
            dial::dial(&self.rules, resolver, self.proxy.as_ref(), target, port).await
        };
        match dialled {
            Ok(stream) => {
                let (target, rule) = (target.to_string(), rule.to_string());
                self.record.take(EventKind::TcpAllowed { target, port, rule, way });
                Ok(stream)
            }
            Err(DialFailure::Denied(denial)) => Err(self.deny(target, port, denial, way)),
            Err(failure) => {
                match &failure {
                    DialFailure::Unresolved(ResolveFailure::Unreachable { tried }) => {
                        self.record.take(EventKind::UpstreamUnreachable { error: tried.clone() });
                    }
                    DialFailure::NoDescriptor
                    | DialFailure::Unresolved(ResolveFailure::NoDescriptor) => {
                        self.record.had_no_descriptor();
                    }
                    _ => {}
                }
                Err(Refusal::Failed(failure))
            }
        }
    }

    /// A connection to a port of the host's loopback, which the Plan names.
    pub(crate) async fn reach_host_port(&self, port: u16) -> Result<TcpStream, DialFailure> {
        let stream = {
            let _permit = self.dials.acquire().await;
            dial::dial_host_port(port).await?
        };
        let (target, rule) = ("localhost".to_owned(), HOST_PORTS.to_owned());
        self.record.take(EventKind::TcpAllowed { target, port, rule, way: Route::HostPort });
        Ok(stream)
    }

    /// Puts a refusal on record.
    pub(crate) fn deny(
        &self,
        target: &dyn std::fmt::Display,
        port: u16,
        denial: Denial,
        way: Route,
    ) -> Refusal {
        self.record.take(EventKind::TcpDenied {
            target: target.to_string(),
            port,
            rule: denial.rule.as_ref().map(ToString::to_string),
            code: denial.code.to_string(),
            reason: denial.to_string(),
            way,
        });
        Refusal::Denied(denial)
    }

    /// What a program meant by an address: the name that it stands for in this cage, or itself.
    pub(crate) fn target_of(&self, address: IpAddr) -> Result<Target, Denial> {
        if !is_synthetic(address) {
            return Ok(Target::address(address));
        }
        let synthetic = self.synthetic.lock().unwrap_or_else(PoisonError::into_inner);
        match synthetic.name_of(address) {
            Some(name) => Ok(Target::Name(name.clone())),
            None => Err(Denial::no_such_name(address)),
        }
    }

    /// What one connection is measured with.
    pub(crate) fn meter(&self) -> Meter<'_> {
        let Record { inward, outward, .. } = &self.record;
        Meter::new(&self.shared.pipes, inward, outward, &self.held_back)
    }
}

impl CageNames for Cage {
    fn decide(&self, name: &Name) -> Verdict {
        decide_question(&self.rules, name)
    }

    fn assign(&self, name: &Name) -> Result<SyntheticPair, MapFull> {
        self.synthetic.lock().unwrap_or_else(PoisonError::into_inner).assign(name)
    }

    fn outside(&self) -> Outside {
        if self.proxy.is_some() { Outside::Proxy } else { Outside::Resolvers }
    }

    fn had_no_descriptor(&self) {
        self.record.had_no_descriptor();
    }

    fn tell(&self, event: EventKind) {
        self.record.take(event);
    }
}

/// What a record names as the rule for such a connection.
const HOST_PORTS: &str = "net.host_ports";
