//! Why a connection was refused: a stable code for programs and a sentence for people and models.
//! A denial is an answer, not an error. What came from inside a cage is in it in printable form alone.

use std::fmt;
use std::net::IpAddr;

use crate::addresses::AddressClass;
use crate::rules::RuleId;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// What kind it is.
    pub code: DenialCode,
    /// Why, as a sentence without a full stop.
    pub reason: String,
    /// The deny entry that refused, if it was one.
    pub rule: Option<RuleId>,
    /// What the policy wants to be told about this host.
    pub told: Option<String>,
}

/// The kinds of refusals. Their words are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DenialCode {
    /// No entry names the host or address.
    NotAllowed,
    /// An entry names it, but not with this port.
    PortNotAllowed,
    /// A deny entry names it.
    DeniedByRule,
    /// The address is of a class that has to be allowed by an entry of its own.
    AddressClass(AddressClass),
    /// The text is no host.
    BadName,
    /// An address of the range that stands for names, which stands for none.
    NoSuchName,
    /// The cage has asked for more names than are kept apart.
    TooManyNames,
    /// A TLS connection that is not for the name that it was made to.
    ServerNameDiffers,
    /// A TLS connection that does not say for which name it is.
    ServerNameMissing,
    /// A first message that is no proper TLS one.
    TlsMalformed,
    /// An HTTP request for another host than the connection was made to.
    HostDiffers,
    /// An HTTP request that two parsers could read in two ways, or that cannot be checked.
    HttpRefused,
    /// A SOCKS request that is not understood.
    SocksRefused,
    /// The beginning of a message that cannot be kept, because the cage has too many of them.
    TooMuchHeldBack,
}

impl DenialCode {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotAllowed => "not_allowed",
            Self::PortNotAllowed => "port_not_allowed",
            Self::DeniedByRule => "denied_by_rule",
            Self::AddressClass(class) => class.name(),
            Self::BadName => "bad_name",
            Self::NoSuchName => "no_such_name",
            Self::TooManyNames => "too_many_names",
            Self::ServerNameDiffers => "server_name_differs",
            Self::ServerNameMissing => "server_name_missing",
            Self::TlsMalformed => "tls_malformed",
            Self::HostDiffers => "host_differs",
            Self::HttpRefused => "http_refused",
            Self::SocksRefused => "socks_refused",
            Self::TooMuchHeldBack => "too_much_held_back",
        }
    }
}

impl Denial {
    /// A refusal without any entry behind it.
    pub fn new(code: DenialCode, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), rule: None, told: None }
    }

    /// An address of the range that stands for names, which stands for none.
    pub fn no_such_name(address: IpAddr) -> Self {
        Self::new(DenialCode::NoSuchName, format!("`{address}` stands for no name in this cage"))
    }

    pub(super) fn by_rule(what: &dyn fmt::Display, rule: &RuleId, told: Option<&str>) -> Self {
        Self {
            rule: Some(rule.clone()),
            ..Self::new(DenialCode::DeniedByRule, format!("`{what}` is denied by `{rule}`"))
        }
        .telling(told)
    }

    pub(super) fn not_allowed(what: &dyn fmt::Display, told: Option<&str>) -> Self {
        Self::new(DenialCode::NotAllowed, format!("no entry allows `{what}`")).telling(told)
    }

    pub(super) fn address_not_allowed(address: IpAddr, told: Option<&str>) -> Self {
        let reason = format!("no address or network entry allows `{address}`");
        Self::new(DenialCode::NotAllowed, reason).telling(told)
    }

    pub(super) fn other_port(what: &dyn fmt::Display, port: u16, told: Option<&str>) -> Self {
        let reason = format!("`{what}` is allowed, but not on port {port}");
        Self::new(DenialCode::PortNotAllowed, reason).telling(told)
    }

    pub(super) fn of_class(address: IpAddr, class: AddressClass, told: Option<&str>) -> Self {
        let reason = format!(
            "`{address}` is {}, and no address or network entry allows it",
            class.sentence()
        );
        Self::new(DenialCode::AddressClass(class), reason).telling(told)
    }

    pub(super) fn bad_name(host: &[u8], why: &str) -> Self {
        let shown = host.get(..LONGEST_SHOWN).unwrap_or(host).escape_ascii();
        let more = if host.len() > LONGEST_SHOWN { "…" } else { "" };
        Self::new(DenialCode::BadName, format!("`{shown}{more}` is no host: {why}"))
    }

    fn telling(self, told: Option<&str>) -> Self {
        Self { told: told.map(str::to_owned), ..self }
    }
}

impl fmt::Display for DenialCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The reason, and what the policy wants to be told.
impl fmt::Display for Denial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.told {
            Some(told) => write!(formatter, "{} ({told})", self.reason),
            None => formatter.write_str(&self.reason),
        }
    }
}

const LONGEST_SHOWN: usize = 64;
