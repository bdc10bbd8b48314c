//! What the gatekeeper and the first process of a cage say to each other over the `inward` socket:
//! a port, and what became of connecting to it. One packet each; answers come in any order. Plain
//! numbers: the socket itself travels beside the bytes.

/// Asks for a connection to a port of the cage's own loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InwardRequest {
    /// The port.
    pub port: u16,
}

/// What became of a request. A connection comes as a descriptor with the packet, and two of the
/// same port are as good as each other: an answer is for any that waits for its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InwardAnswer {
    /// The port that was asked for.
    pub port: u16,
    /// The kernel's answer, where there is no connection; never 0.
    pub errno: Option<u16>,
}

impl InwardRequest {
    /// As a packet.
    pub fn encode(self) -> [u8; 2] {
        self.port.to_be_bytes()
    }

    /// From a packet; none if it is not one.
    pub fn decode(packet: &[u8]) -> Option<Self> {
        let port = u16::from_be_bytes(packet.try_into().ok()?);
        (port != 0).then_some(Self { port })
    }
}

impl InwardAnswer {
    /// As a packet.
    pub fn encode(self) -> [u8; 4] {
        let [a, b] = self.port.to_be_bytes();
        let [c, d] = self.errno.unwrap_or_default().to_be_bytes();
        [a, b, c, d]
    }

    /// From a packet; none if it is not one.
    pub fn decode(packet: &[u8]) -> Option<Self> {
        let [a, b, c, d] = packet.try_into().ok()?;
        let errno = u16::from_be_bytes([c, d]);
        Some(Self { port: u16::from_be_bytes([a, b]), errno: (errno != 0).then_some(errno) })
    }
}

/// Most requests that the first process of a cage works on at once; it reads no more until some
/// are answered.
pub const MOST_INWARD_REQUESTS: usize = 64;

#[cfg(test)]
mod tests;
