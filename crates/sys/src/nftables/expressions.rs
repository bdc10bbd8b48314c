//! Messages and expressions of nf_tables, as far as our rules need them. Knows what the kernel calls
//! things, and not what they are for.

use std::net::IpAddr;

use crate::netlink::{APPEND, CREATE, Message, REQUEST};

/// Where a chain of rules is asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hook {
    /// For what has come in.
    Prerouting,
    /// For what programs send.
    Output,
}

/// Begins a batch.
pub(super) fn begin() -> Message {
    edge(BATCH_BEGIN)
}

/// Ends it: what is between holds, or none of it.
pub(super) fn end() -> Message {
    edge(BATCH_END)
}

/// The table of all rules.
pub(super) fn table() -> Message {
    message(NEW_TABLE, CREATE)
        .attribute(TABLE_NAME, TABLE)
        .attribute(TABLE_FLAGS, &0_u32.to_be_bytes())
}

fn edge(kind: u16) -> Message {
    let [high, low] = SUBSYSTEM.to_be_bytes();
    Message::new(kind, REQUEST, &[0, 0, high, low])
}

fn message(kind: u16, flags: u16) -> Message {
    Message::new(SUBSYSTEM << 8 | kind, REQUEST | flags, &[FAMILY_INET, 0, 0, 0])
}

/// A chain that accepts what no rule of it decides.
pub(super) fn chain(name: &[u8], kind: &[u8], hook: Hook, priority: i32) -> Message {
    let number = match hook {
        Hook::Prerouting => HOOK_PREROUTING,
        Hook::Output => HOOK_LOCAL_OUT,
    };
    message(NEW_CHAIN, CREATE)
        .attribute(CHAIN_TABLE, TABLE)
        .attribute(CHAIN_NAME, name)
        .nested(CHAIN_HOOK, |hook| {
            hook.attribute(HOOK_NUMBER, &number.to_be_bytes())
                .attribute(HOOK_PRIORITY, &priority.to_be_bytes())
        })
        .attribute(CHAIN_POLICY, &ACCEPT.to_be_bytes())
        .attribute(CHAIN_TYPE, kind)
}

/// A rule at the end of a chain.
pub(super) fn rule(
    chain: &[u8],
    flags: u16,
    expressions: impl FnOnce(Message) -> Message,
) -> Message {
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
pub(super) fn compare(list: Message, operator: u32, value: &[u8]) -> Message {
    expression(list, b"cmp\0", |data| {
        let data = number(number(data, COMPARE_REGISTER, REGISTER), COMPARE_OPERATOR, operator);
        data.nested(COMPARE_DATA, |data| data.attribute(DATA_VALUE, value))
    })
}

/// Leaves the rule unless the protocol compares.
pub(super) fn protocol(list: Message, operator: u32, protocol: u8) -> Message {
    compare(meta(list, META_PROTOCOL), operator, &[protocol])
}

/// Leaves the rule unless this is a packet to an address of that family; puts so many bytes of its
/// destination into the register.
pub(super) fn destination_address(list: Message, family: IpAddr, length: u32) -> Message {
    let (family, offset) = match family {
        IpAddr::V4(_) => (V4, V4_DESTINATION),
        IpAddr::V6(_) => (V6, V6_DESTINATION),
    };
    payload(compare(meta(list, META_FAMILY), EQUAL, &[family]), NETWORK_HEADER, offset, length)
}

/// Leaves the rule unless this compares with the packet by which a TCP connection begins.
pub(super) fn first_of_a_connection(list: Message, operator: u32) -> Message {
    let list = payload(list, TRANSPORT_HEADER, TCP_FLAGS, 1);
    let list = expression(list, b"bitwise\0", |data| {
        let data = number(number(data, BITWISE_SOURCE, REGISTER), BITWISE_RESULT, REGISTER);
        number(data, BITWISE_LENGTH, 1)
            .nested(BITWISE_MASK, |data| data.attribute(DATA_VALUE, &[FIN | SYN | RST | ACK_FLAG]))
            .nested(BITWISE_XOR, |data| data.attribute(DATA_VALUE, &[0]))
    });
    compare(list, operator, &[SYN])
}

/// Leaves the rule unless the destination's port is this. TCP and UDP have it at the same place.
pub(super) fn destination_port(list: Message, port: u16) -> Message {
    compare(payload(list, TRANSPORT_HEADER, 2, 2), EQUAL, &port.to_be_bytes())
}

/// Decides.
pub(super) fn verdict(list: Message, verdict: u32) -> Message {
    expression(list, b"immediate\0", |data| {
        number(data, IMMEDIATE_REGISTER, REGISTER_VERDICT).nested(IMMEDIATE_DATA, |data| {
            data.nested(DATA_VERDICT, |data| number(data, VERDICT_CODE, verdict))
        })
    })
}

fn load(list: Message, register: u32, value: &[u8]) -> Message {
    expression(list, b"immediate\0", |data| {
        number(data, IMMEDIATE_REGISTER, register)
            .nested(IMMEDIATE_DATA, |data| data.attribute(DATA_VALUE, value))
    })
}

/// Gives the packet to the transparent listener there, if it is of the address's family.
pub(super) fn assign(list: Message, listener: IpAddr, port: u16) -> Message {
    let (family, list) = match listener {
        IpAddr::V4(address) => (V4, load(list, SECOND_REGISTER, &address.octets())),
        IpAddr::V6(address) => (V6, load(list, SECOND_REGISTER, &address.octets())),
    };
    expression(load(list, REGISTER, &port.to_be_bytes()), b"tproxy\0", |data| {
        let data = number(data, TPROXY_FAMILY, family.into());
        number(number(data, TPROXY_ADDRESS, SECOND_REGISTER), TPROXY_PORT, REGISTER)
    })
}

/// To the loopback address of the packet's family: that is what the output hook redirects to.
pub(super) fn redirect(list: Message, port: u16) -> Message {
    let list = load(list, REGISTER, &port.to_be_bytes());
    expression(list, b"redir\0", |data| {
        let data = number(data, REDIRECT_REGISTER_MIN, REGISTER);
        number(number(data, REDIRECT_REGISTER_MAX, REGISTER), REDIRECT_FLAGS, PORT_SPECIFIED)
    })
}

/// Tells a group of the packet log.
pub(super) fn log(list: Message, group: u16) -> Message {
    expression(list, b"log\0", |data| {
        number(data.attribute(LOG_GROUP, &group.to_be_bytes()), LOG_LENGTH, LOGGED_BYTES)
    })
}

/// Port unreachable, in the family's own form.
pub(super) fn reject(list: Message) -> Message {
    expression(list, b"reject\0", |data| {
        number(data, REJECT_TYPE, REJECT_EITHER_FAMILY).attribute(REJECT_CODE, &[PORT_UNREACHABLE])
    })
}

/// How much of a refused datagram is told: both headers, of either family.
pub(crate) const LOGGED_BYTES: u32 = 64;

const TABLE: &[u8] = b"stockade\0";

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

const TABLE_NAME: u16 = 1;
const TABLE_FLAGS: u16 = 2;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const HOOK_PREROUTING: u32 = 0;
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
pub(super) const ACCEPT: u32 = 1;
const REGISTER_VERDICT: u32 = 0;
const REGISTER: u32 = 1;
const SECOND_REGISTER: u32 = 2;

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
const TCP_FLAGS: u32 = 13;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK_FLAG: u8 = 16;
const BITWISE_SOURCE: u16 = 1;
const BITWISE_RESULT: u16 = 2;
const BITWISE_LENGTH: u16 = 3;
const BITWISE_MASK: u16 = 4;
const BITWISE_XOR: u16 = 5;
const COMPARE_REGISTER: u16 = 1;
const COMPARE_OPERATOR: u16 = 2;
const COMPARE_DATA: u16 = 3;
pub(super) const EQUAL: u32 = 0;
pub(super) const NOT_EQUAL: u32 = 1;
const IMMEDIATE_REGISTER: u16 = 1;
const IMMEDIATE_DATA: u16 = 2;
const TPROXY_FAMILY: u16 = 1;
const TPROXY_ADDRESS: u16 = 2;
const TPROXY_PORT: u16 = 3;
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
