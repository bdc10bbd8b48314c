//! One connection to a provider, with or without TLS. Waits in short slices, so that whoever cancels is heard; a look-up
//! or a connect that hangs is left behind in its thread. Never used for a second request.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::cancel::{Cancel, SLICE};
use crate::error::{ModelError, Refusal};
use crate::tls;
use crate::url::BaseUrl;

/// An open connection.
pub(crate) enum Connection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// How long things may take, and who may end them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience<'a> {
    pub(crate) cancel: &'a Cancel,
    /// The longest time without a byte.
    pub(crate) silence: Duration,
    /// The end of all of it, and how long after its beginning that is.
    pub(crate) until: Instant,
    pub(crate) whole: Duration,
}

impl Patience<'_> {
    fn check(&self, since: Instant) -> Result<(), ModelError> {
        if self.cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        if Instant::now() >= self.until {
            return Err(ModelError::Slow(self.whole));
        }
        match since.elapsed() >= self.silence {
            true => Err(ModelError::Silent(self.silence)),
            false => Ok(()),
        }
    }
}

impl Connection {
    pub(crate) fn open(url: &BaseUrl, patience: Patience<'_>) -> Result<Self, ModelError> {
        let name = url.plain_host().to_owned();
        let setup = match url.is_tls {
            true => Some((
                tls::configuration()?,
                ServerName::try_from(name.clone()).map_err(|_| Refusal::Name(name.clone()))?,
            )),
            false => None,
        };
        let failed = |source| ModelError::Connect { address: url.to_string(), source };
        let stream = connect(name, url.port, patience)?.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(SLICE)).map_err(failed)?;
        stream.set_write_timeout(Some(SLICE)).map_err(failed)?;
        let Some((configuration, name)) = setup else { return Ok(Self::Plain(stream)) };
        let client = ClientConnection::new(configuration, name)
            .map_err(|error| Refusal::Tls(error.to_string()))?;
        Ok(Self::Tls(Box::new(StreamOwned::new(client, stream))))
    }

    pub(crate) fn write_all(
        &mut self,
        mut bytes: &[u8],
        patience: Patience<'_>,
    ) -> Result<(), ModelError> {
        let mut since = Instant::now();
        while !bytes.is_empty() {
            patience.check(since)?;
            match self.writer().write(bytes) {
                Ok(0) => return Err(ModelError::Broken(ErrorKind::WriteZero.into())),
                Ok(count) => {
                    bytes = bytes.get(count..).unwrap_or_default();
                    since = Instant::now();
                }
                Err(error) if is_of_time(&error) => {}
                Err(error) => return Err(ModelError::Broken(error)),
            }
        }
        loop {
            match self.writer().flush() {
                Ok(()) => return Ok(()),
                Err(error) if is_of_time(&error) => patience.check(since)?,
                Err(error) => return Err(ModelError::Broken(error)),
            }
        }
    }

    /// The next bytes; none at the end.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        patience: Patience<'_>,
    ) -> Result<usize, ModelError> {
        let since = Instant::now();
        loop {
            patience.check(since)?;
            let read = match self {
                Self::Plain(stream) => stream.read(buffer),
                Self::Tls(stream) => stream.read(buffer),
            };
            match read {
                Err(error) if is_of_time(&error) => {}
                read => return read.map_err(ModelError::Broken),
            }
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream,
        }
    }
}

/// Looks a host up and connects to the first of its addresses that answers, in a thread that may be left behind.
fn connect(
    host: String,
    port: u16,
    patience: Patience<'_>,
) -> Result<io::Result<TcpStream>, ModelError> {
    let (sender, receiver) = mpsc::channel();
    let task = move || {
        let tried = (host.as_str(), port).to_socket_addrs().and_then(|addresses| {
            let mut last = io::Error::from(ErrorKind::NotFound);
            for address in addresses {
                match TcpStream::connect_timeout(&address, CONNECT_TIME) {
                    Ok(stream) => return Ok(stream),
                    Err(error) => last = error,
                }
            }
            Err(last)
        });
        // Nobody listens any more where it was given up.
        let _given_up = sender.send(tried);
    };
    let thread = std::thread::Builder::new().name("connect".to_owned()).spawn(task);
    if let Err(error) = thread {
        return Ok(Err(error));
    }
    let since = Instant::now();
    loop {
        patience.check(since)?;
        match receiver.recv_timeout(SLICE) {
            Ok(tried) => return Ok(tried),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(Err(ErrorKind::Other.into())),
        }
    }
}

fn is_of_time(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

const CONNECT_TIME: Duration = Duration::from_secs(20);
