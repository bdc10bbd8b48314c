//! The first message of a TLS client, put together by hand: as it should be, and in every way in which
//! it should not.

/// A ClientHello that names these servers in one extension, and holds a text that a server sees.
pub(super) fn hello(servers: &[&[u8]], text: &str) -> Vec<u8> {
    let names = if servers.is_empty() { Vec::new() } else { server_names(servers) };
    with_extensions(&[names, protocol(text)].concat())
}

/// One with these extensions.
pub(super) fn with_extensions(extensions: &[u8]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([0x5a; 32]);
    // No session, one cipher suite, no compression.
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(long_vector(extensions));
    let [_, high, middle, low] = u32::try_from(body.len()).unwrap_or_default().to_be_bytes();
    [&[CLIENT_HELLO, high, middle, low], body.as_slice()].concat()
}

/// The extension that names servers (RFC 6066).
pub(super) fn server_names(servers: &[&[u8]]) -> Vec<u8> {
    let entries = servers.iter().flat_map(|name| [vec![0], long_vector(name)].concat());
    extension(0, &long_vector(&entries.collect::<Vec<u8>>()))
}

/// The extension that names protocols (RFC 7301), with this text for one.
pub(super) fn protocol(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap_or_default();
    extension(16, &long_vector(&[&[length], text.as_bytes()].concat()))
}

/// The extension that fills up (RFC 7685).
pub(super) fn padding(length: usize) -> Vec<u8> {
    extension(21, &vec![0; length])
}

/// A record of the protocol for handshakes.
pub(super) fn record(content: &[u8]) -> Vec<u8> {
    record_of(HANDSHAKE, content)
}

/// A record of any kind.
pub(super) fn record_of(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind, 3, 1], long_vector(content).as_slice()].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().as_slice(), &long_vector(content)].concat()
}

/// With its length in two bytes before it.
fn long_vector(content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap_or_default();
    [length.to_be_bytes().as_slice(), content].concat()
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
