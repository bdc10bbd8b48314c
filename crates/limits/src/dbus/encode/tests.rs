//! Messages byte by byte, against what the reference tools of two projects send.

use super::*;

/// What `dbus-send` and `busctl` put on the wire, as hexadecimal digits.
pub(crate) fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<char> = hexadecimal.chars().filter(char::is_ascii_hexdigit).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// K142
#[test]
fn a_call_without_arguments() {
    let call = Call {
        destination: Some("org.freedesktop.DBus"),
        path: "/org/freedesktop/DBus",
        interface: "org.freedesktop.DBus",
        member: "Hello",
        signature: "",
        body: &[],
    };
    assert_eq!(encode(&call, 1), bytes(HELLO));
}

/// K142
#[test]
fn a_call_with_every_type_that_a_scope_needs() {
    let mut body = Writer::new();
    body.text("stockade-ABC.scope");
    body.text("fail");
    body.array(8, |body| {
        for (name, value) in [
            ("Description", Value::Text("stockade-1-2-ABC".to_owned())),
            ("PIDs", Value::Numbers(vec![4242])),
            ("MemoryMax", Value::Number(67_108_864)),
            ("Delegate", Value::Flag(true)),
        ] {
            body.structure(|body| {
                body.text(name);
                body.variant(&value);
            });
        }
    });
    body.array(8, |_| {});
    let call = Call {
        destination: Some("org.freedesktop.systemd1"),
        path: "/org/freedesktop/systemd1",
        interface: "org.freedesktop.systemd1.Manager",
        member: "StartTransientUnit",
        signature: "ssa(sv)a(sa(sv))",
        body: &body.into_bytes(),
    };
    let mut expected = bytes(START_TRANSIENT_UNIT);
    // That tool lets a password dialog be shown, which we do not.
    assert_eq!(std::mem::replace(&mut expected[2], 0), 4);
    assert_eq!(encode(&call, 2), expected);
}

pub(crate) const HELLO: &str = "
    6c01000100000000010000006d00000001016f00150000002f6f72672f667265656465736b746f702f44427573000000
    030173000500000048656c6c6f00000002017300140000006f72672e667265656465736b746f702e4442757300000000
    06017300140000006f72672e667265656465736b746f702e4442757300000000";

const START_TRANSIENT_UNIT: &str = "
    6c010401a800000002000000b600000001016f00190000002f6f72672f667265656465736b746f702f73797374656d64
    3100000000000000030173001200000053746172745472616e7369656e74556e69740000000000000201730020000000
    6f72672e667265656465736b746f702e73797374656d64312e4d616e6167657200000000000000000601730018000000
    6f72672e667265656465736b746f702e73797374656d6431000000000000000008016700107373612873762961287361
    28737629290000001200000073746f636b6164652d4142432e73636f70650000040000006661696c000000007c000000
    0b0000004465736372697074696f6e00017300001000000073746f636b6164652d312d322d4142430000000000000000
    040000005049447300026175000000000400000092100000090000004d656d6f72794d61780001740000000000000000
    00000004000000000800000044656c6567617465000162000100000000000000";
