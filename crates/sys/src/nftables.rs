//! The packet rules of a closed namespace, written to nf_tables in one batch: all of them hold, or
//! none. They only redirect and tell; that nothing leaves is the routes' doing, with or without
//! them. Knows this one set of rules and no other.
//!
//! ```text
//! table inet stockade {
//!   chain output {
//!     type nat hook output priority -100
//!     <to the namespace itself> accept
//!     tcp dport 53 accept
//!     meta l4proto tcp redirect to :15001
//!   }
//!   chain audit {
//!     type filter hook output priority 0
//!     meta l4proto != udp accept
//!     th dport 53 accept
//!     <to the namespace itself> accept
//!     log group 1 snaplen 64
//!     reject
//!   }
//! }
//! ```

use rustix::io::Errno;

use crate::netlink::{ACK, APPEND, CREATE, Message, Netlink, REQUEST, Subsystem};
use crate::route::{OWN_V4, OWN_V6};

/// Where the rules lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedirectRules {
    /// The port of loopback that takes every TCP connection.
    pub transparent_port: u16,
    /// The group of the kernel's packet log that refused datagrams are told to.
    pub log_group: u16,
}

/// Installs the rules in the current network namespace.
pub fn install(rules: RedirectRules) -> Result<(), Errno> {
    Netlink::open(Subsystem::Netfilter)?.request(batch(rules)).map_err(|refusal| refusal.errno)
}

/// Refusals of [`install`] that mean that the kernel, or whoever filters our calls, does not offer
/// nf_tables with what the rules need. Any other is a failure.
///
/// `EPERM` and `EACCES` come from call filters and security modules; `ENOENT` from a missing
/// expression or chain type, `EOPNOTSUPP` from an nfnetlink without nf_tables, `EAFNOSUPPORT` from
/// an nf_tables without the family of both, `EPROTONOSUPPORT` from a kernel without nfnetlink.
pub fn is_unavailable(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::PERM
            | Errno::ACCESS
            | Errno::NOENT
            | Errno::OPNOTSUPP
            | Errno::PROTONOSUPPORT
            | Errno::AFNOSUPPORT
    )
}

/// The whole batch. Only its last message but one asks for an acknowledgement: a refusal comes for
/// any of them, and acknowledgements come when all are in force.
fn batch(rules: RedirectRules) -> Vec<Message> {
    let mut messages = vec![edge(BATCH_BEGIN)];
    messages.push(
        message(NEW_TABLE, CREATE)
            .attribute(TABLE_NAME, TABLE)
            .attribute(TABLE_FLAGS, &0_u32.to_be_bytes()),
    );
    messages.push(chain(OUTPUT, b"nat\0", NAT_PRIORITY));
    messages.push(chain(AUDIT, b"filter\0", 0));
    messages.extend(own_destinations(OUTPUT));
    messages.push(rule(OUTPUT, CREATE, |list| {
        verdict(destination_port(protocol(list, EQUAL, TCP), DNS_PORT), ACCEPT)
    }));
    messages.push(rule(OUTPUT, CREATE, |list| {
        redirect(protocol(list, EQUAL, TCP), rules.transparent_port)
    }));
    messages.push(rule(AUDIT, CREATE, |list| verdict(protocol(list, NOT_EQUAL, UDP), ACCEPT)));
    messages.push(rule(AUDIT, CREATE, |list| verdict(destination_port(list, DNS_PORT), ACCEPT)));
    messages.extend(own_destinations(AUDIT));
    messages.push(rule(AUDIT, CREATE, |list| log(list, rules.log_group)));
    messages.push(rule(AUDIT, CREATE | ACK, reject));
    messages.push(edge(BATCH_END));
    messages
}

/// What the namespace's programs offer each other stays among them.
fn own_destinations(chain: &'static [u8]) -> [Message; 4] {
    let network = |list, family, offset, bytes: &[u8]| {
        let list = compare(meta(list, META_FAMILY), EQUAL, &[family]);
        let length = u32::try_from(bytes.len()).unwrap_or_default();
        verdict(compare(payload(list, NETWORK_HEADER, offset, length), EQUAL, bytes), ACCEPT)
    };
    [
        rule(chain, CREATE, |list| network(list, V4, V4_DESTINATION, &[127])),
        rule(chain, CREATE, |list| network(list, V4, V4_DESTINATION, &OWN_V4.octets())),
        rule(chain, CREATE, |list| {
            network(list, V6, V6_DESTINATION, &std::net::Ipv6Addr::LOCALHOST.octets())
        }),
        rule(chain, CREATE, |list| network(list, V6, V6_DESTINATION, &OWN_V6.octets())),
    ]
}

fn edge(kind: u16) -> Message {
    let [high, low] = SUBSYSTEM.to_be_bytes();
    Message::new(kind, REQUEST, &[0, 0, high, low])
}

fn message(kind: u16, flags: u16) -> Message {
    Message::new(SUBSYSTEM << 8 | kind, REQUEST | flags, &[FAMILY_INET, 0, 0, 0])
}

fn chain(name: &[u8], kind: &[u8], priority: i32) -> Message {
    message(NEW_CHAIN, CREATE)
        .attribute(CHAIN_TABLE, TABLE)
        .attribute(CHAIN_NAME, name)
        .nested(CHAIN_HOOK, |hook| {
            hook.attribute(HOOK_NUMBER, &HOOK_LOCAL_OUT.to_be_bytes())
                .attribute(HOOK_PRIORITY, &priority.to_be_bytes())
        })
        .attribute(CHAIN_POLICY, &ACCEPT.to_be_bytes())
        .attribute(CHAIN_TYPE, kind)
}

fn rule(chain: &[u8], flags: u16, expressions: impl FnOnce(Message) -> Message) -> Message {
    message(NEW_RULE, APPEND | flags)
        .attribute(RULE_TABLE, TABLE)
        .attribute(RULE_CHAIN, chain)
        .nested(RULE_EXPRESSIONS, expressions)
}

fn expression(list: Message, name: &[u8], parameters: impl FnOnce(Message) -> Message) -> Message {
    list.nested(LIST_ELEMENT, |element| {
        element.attribute(EXPRESSION_NAME, name).nested(EXPRESSION_DATA, parameters)
    })
}

fn number(parameters: Message, kind: u16, value: u32) -> Message {
    parameters.attribute(kind, &value.to_be_bytes())
}

/// Puts a fact about the packet into the register.
fn meta(list: Message, key: u32) -> Message {
    expression(list, b"meta\0", |data| number(number(data, META_REGISTER, REGISTER), META_KEY, key))
}

/// Puts bytes of the packet into the register.
fn payload(list: Message, base: u32, offset: u32, length: u32) -> Message {
    expression(list, b"payload\0", |data| {
        let data = number(number(data, PAYLOAD_REGISTER, REGISTER), PAYLOAD_BASE, base);
        number(number(data, PAYLOAD_OFFSET, offset), PAYLOAD_LENGTH, length)
    })
}

/// Leaves the rule unless the register compares.
fn compare(list: Message, operator: u32, value: &[u8]) -> Message {
    expression(list, b"cmp\0", |data| {
        let data = number(number(data, COMPARE_REGISTER, REGISTER), COMPARE_OPERATOR, operator);
        data.nested(COMPARE_DATA, |data| data.attribute(DATA_VALUE, value))
    })
}

fn protocol(list: Message, operator: u32, protocol: u8) -> Message {
    compare(meta(list, META_PROTOCOL), operator, &[protocol])
}

/// TCP and UDP have the port at the same place.
fn destination_port(list: Message, port: u16) -> Message {
    compare(payload(list, TRANSPORT_HEADER, 2, 2), EQUAL, &port.to_be_bytes())
}

fn verdict(list: Message, verdict: u32) -> Message {
    expression(list, b"immediate\0", |data| {
        number(data, IMMEDIATE_REGISTER, REGISTER_VERDICT).nested(IMMEDIATE_DATA, |data| {
            data.nested(DATA_VERDICT, |data| number(data, VERDICT_CODE, verdict))
        })
    })
}

/// To the loopback address of the packet's family: that is what the output hook redirects to.
fn redirect(list: Message, port: u16) -> Message {
    let list = expression(list, b"immediate\0", |data| {
        number(data, IMMEDIATE_REGISTER, REGISTER)
            .nested(IMMEDIATE_DATA, |data| data.attribute(DATA_VALUE, &port.to_be_bytes()))
    });
    expression(list, b"redir\0", |data| {
        let data = number(data, REDIRECT_REGISTER_MIN, REGISTER);
        number(number(data, REDIRECT_REGISTER_MAX, REGISTER), REDIRECT_FLAGS, PORT_SPECIFIED)
    })
}

fn log(list: Message, group: u16) -> Message {
    expression(list, b"log\0", |data| {
        number(data.attribute(LOG_GROUP, &group.to_be_bytes()), LOG_LENGTH, LOGGED_BYTES)
    })
}

/// Port unreachable, in the family's own form.
fn reject(list: Message) -> Message {
    expression(list, b"reject\0", |data| {
        number(data, REJECT_TYPE, REJECT_EITHER_FAMILY).attribute(REJECT_CODE, &[PORT_UNREACHABLE])
    })
}

/// How much of a refused datagram is told: both headers, of either family.
pub(crate) const LOGGED_BYTES: u32 = 64;

const TABLE: &[u8] = b"stockade\0";
const OUTPUT: &[u8] = b"output\0";
const AUDIT: &[u8] = b"audit\0";
const DNS_PORT: u16 = 53;
const NAT_PRIORITY: i32 = -100;

// What follows is of `linux/netfilter/nfnetlink.h` and `nf_tables.h`. All numbers in attributes are
// in network order.
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = 0;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
/// `NFPROTO_INET`: both families.
const FAMILY_INET: u8 = 1;
const V4: u8 = 2;
const V6: u8 = 10;
const TCP: u8 = 6;
const UDP: u8 = 17;

const TABLE_NAME: u16 = 1;
const TABLE_FLAGS: u16 = 2;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const HOOK_LOCAL_OUT: u32 = 3;
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
const RULE_EXPRESSIONS: u16 = 4;
const LIST_ELEMENT: u16 = 1;
const EXPRESSION_NAME: u16 = 1;
const EXPRESSION_DATA: u16 = 2;

const DATA_VALUE: u16 = 1;
const DATA_VERDICT: u16 = 2;
const VERDICT_CODE: u16 = 1;
const ACCEPT: u32 = 1;
const REGISTER_VERDICT: u32 = 0;
const REGISTER: u32 = 1;

const META_REGISTER: u16 = 1;
const META_KEY: u16 = 2;
const META_FAMILY: u32 = 15;
const META_PROTOCOL: u32 = 16;
const PAYLOAD_REGISTER: u16 = 1;
const PAYLOAD_BASE: u16 = 2;
const PAYLOAD_OFFSET: u16 = 3;
const PAYLOAD_LENGTH: u16 = 4;
const NETWORK_HEADER: u32 = 1;
const TRANSPORT_HEADER: u32 = 2;
const V4_DESTINATION: u32 = 16;
const V6_DESTINATION: u32 = 24;
const COMPARE_REGISTER: u16 = 1;
const COMPARE_OPERATOR: u16 = 2;
const COMPARE_DATA: u16 = 3;
const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;
const IMMEDIATE_REGISTER: u16 = 1;
const IMMEDIATE_DATA: u16 = 2;
const REDIRECT_REGISTER_MIN: u16 = 1;
const REDIRECT_REGISTER_MAX: u16 = 2;
const REDIRECT_FLAGS: u16 = 3;
/// `NF_NAT_RANGE_PROTO_SPECIFIED`.
const PORT_SPECIFIED: u32 = 2;
const LOG_GROUP: u16 = 1;
const LOG_LENGTH: u16 = 3;
const REJECT_TYPE: u16 = 1;
const REJECT_CODE: u16 = 2;
/// `NFT_REJECT_ICMPX_UNREACH`.
const REJECT_EITHER_FAMILY: u32 = 2;
/// `NFT_REJECT_ICMPX_PORT_UNREACH`.
const PORT_UNREACHABLE: u8 = 1;
