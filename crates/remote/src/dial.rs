//! Connections that another process makes, for one that may make none itself. Speaks no protocol.

use std::fmt::Debug;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// Who makes connections.
pub trait Dial: Send + Sync + Debug {
    /// A connection to a host that it knows.
    ///
    /// # Errors
    /// It does not know the host, or cannot reach it.
    fn dial(&self, host: &str, port: u16) -> std::io::Result<TcpStream>;
}

#[derive(Debug)]
pub(crate) struct Dialled(pub(crate) Arc<dyn Dial>);

impl Connector for Dialled {
    type Out = Connection;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Connection>, Error> {
        let unknown = || Error::HostNotFound;
        let host = details.uri.host().ok_or_else(unknown)?.trim_matches(['[', ']']);
        let usual = if details.uri.scheme_str() == Some("https") { 443 } else { 80 };
        let stream = self.0.dial(host, details.uri.port_u16().unwrap_or(usual))?;
        stream.set_nodelay(true)?;
        let (input, output) =
            (details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Connection { stream, buffers: LazyBuffers::new(input, output) }))
    }
}

/// A connection that was handed over.
pub(crate) struct Connection {
    stream: TcpStream,
    buffers: LazyBuffers,
}

impl Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.set_write_timeout(patience(&timeout))?;
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        self.stream.write_all(output).map_err(|error| failed(error, &timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.set_read_timeout(patience(&timeout))?;
        let input = self.buffers.input_append_buf();
        let count = loop {
            match self.stream.read(input) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| failed(error, &timeout))?,
            }
        };
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    fn is_open(&mut self) -> bool {
        // What has come unasked belongs to no request.
        let is_quiet = |stream: &TcpStream| -> std::io::Result<bool> {
            stream.set_nonblocking(true)?;
            let peeked = stream.peek(&mut [0]);
            stream.set_nonblocking(false)?;
            Ok(matches!(peeked, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock))
        };
        is_quiet(&self.stream).unwrap_or_default()
    }
}

fn patience(timeout: &NextTimeout) -> Option<Duration> {
    timeout.not_zero().map(|time| (*time).max(Duration::from_millis(1)))
}

/// The kernel says of a time that is over that the call would block.
fn failed(error: std::io::Error, timeout: &NextTimeout) -> Error {
    match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
            Error::Timeout(timeout.reason)
        }
        _ => Error::Io(error),
    }
}

/// Names are looked up by whoever dials.
#[derive(Debug)]
pub(crate) struct Unresolved;

impl Resolver for Unresolved {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        addresses.push(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
        Ok(addresses)
    }
}
