//! Why a call of a component failed, as the codes that each interface has for it. A number of the kernel that an interface does
//! not know is an error of input and output, or of the network an unknown one; none is ever success.

use rustix::io::Errno;
use wasmtime::component::{Resource, ResourceTableError};

use super::super::files::Failure;
use super::bindings::wasi::filesystem::types::ErrorCode as FileCode;
use super::bindings::wasi::io::{error, streams};
use super::bindings::wasi::sockets::network::ErrorCode as SocketCode;
use super::host::Host;
use super::http::bindings::wasi::http::types::{ErrorCode as HttpCode, HeaderError};

/// Why a call failed: with a code for the component, or so that it ends.
#[derive(Debug)]
pub enum Fault<C> {
    Code(C),
    End(wasmtime::Error),
}

pub type FileFault = Fault<FileCode>;
pub type SocketFault = Fault<SocketCode>;
pub type HttpFault = Fault<HttpCode>;
pub type HeaderFault = Fault<HeaderError>;

/// Why a call of a stream failed.
#[derive(Debug)]
pub enum StreamFault {
    /// Nothing more comes or goes.
    Closed,
    Failed(Failed),
    End(wasmtime::Error),
}

/// What a component can ask about a failure of a stream.
#[derive(Clone, Debug)]
pub enum Failed {
    System(Errno),
    Request(HttpCode),
}

impl error::Host for Host {}

impl error::HostError for Host {
    fn to_debug_string(&mut self, failed: Resource<Failed>) -> wasmtime::Result<String> {
        Ok(match self.table.get(&failed)? {
            Failed::System(errno) => errno.to_string(),
            Failed::Request(code) => code.to_string(),
        })
    }

    fn drop(&mut self, failed: Resource<Failed>) -> wasmtime::Result<()> {
        self.table.delete(failed)?;
        Ok(())
    }
}

impl Host {
    /// What a stream's call returns of a fault.
    pub(super) fn stream_error(
        &mut self,
        fault: StreamFault,
    ) -> wasmtime::Result<streams::StreamError> {
        match fault {
            StreamFault::Closed => Ok(streams::StreamError::Closed),
            StreamFault::Failed(failed) => {
                Ok(streams::StreamError::LastOperationFailed(self.push(failed)?))
            }
            StreamFault::End(error) => Err(error),
        }
    }
}

impl<C> Fault<C> {
    /// The code, unless the component ends.
    pub(super) fn code(self) -> wasmtime::Result<C> {
        match self {
            Self::Code(code) => Ok(code),
            Self::End(error) => Err(error),
        }
    }
}

impl<C> From<wasmtime::Error> for Fault<C> {
    fn from(error: wasmtime::Error) -> Self {
        Self::End(error)
    }
}

impl<C> From<ResourceTableError> for Fault<C> {
    fn from(error: ResourceTableError) -> Self {
        Self::End(error.into())
    }
}

impl From<wasmtime::Error> for StreamFault {
    fn from(error: wasmtime::Error) -> Self {
        Self::End(error)
    }
}

impl From<ResourceTableError> for StreamFault {
    fn from(error: ResourceTableError) -> Self {
        Self::End(error.into())
    }
}

impl From<Errno> for StreamFault {
    fn from(errno: Errno) -> Self {
        Self::Failed(Failed::System(errno))
    }
}

impl From<vfs::Error> for StreamFault {
    fn from(error: vfs::Error) -> Self {
        error.errno.into()
    }
}

impl From<Failure> for FileFault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Outside => Self::Code(FileCode::NotPermitted),
            Failure::Errno(errno) => errno.into(),
        }
    }
}

impl From<vfs::Error> for FileFault {
    fn from(error: vfs::Error) -> Self {
        error.errno.into()
    }
}

impl From<Errno> for FileFault {
    fn from(errno: Errno) -> Self {
        Self::Code(file_code(errno))
    }
}

impl From<FileCode> for FileFault {
    fn from(code: FileCode) -> Self {
        Self::Code(code)
    }
}

impl From<Errno> for SocketFault {
    fn from(errno: Errno) -> Self {
        Self::Code(socket_code(errno))
    }
}

impl From<SocketCode> for SocketFault {
    fn from(code: SocketCode) -> Self {
        Self::Code(code)
    }
}

pub(super) fn file_code(errno: Errno) -> FileCode {
    let known = FILE_CODES.iter().find(|(known, _)| *known == errno);
    known.map_or(FileCode::Io, |(_, code)| *code)
}

pub(super) fn socket_code(errno: Errno) -> SocketCode {
    let known = SOCKET_CODES.iter().find(|(known, _)| *known == errno);
    known.map_or(SocketCode::Unknown, |(_, code)| *code)
}

const FILE_CODES: &[(Errno, FileCode)] = &[
    (Errno::ACCESS, FileCode::Access),
    (Errno::AGAIN, FileCode::WouldBlock),
    (Errno::BADF, FileCode::BadDescriptor),
    (Errno::BUSY, FileCode::Busy),
    (Errno::DEADLK, FileCode::Deadlock),
    (Errno::DQUOT, FileCode::Quota),
    (Errno::EXIST, FileCode::Exist),
    (Errno::FBIG, FileCode::FileTooLarge),
    (Errno::ILSEQ, FileCode::IllegalByteSequence),
    (Errno::INTR, FileCode::Interrupted),
    (Errno::INVAL, FileCode::Invalid),
    (Errno::IO, FileCode::Io),
    (Errno::ISDIR, FileCode::IsDirectory),
    (Errno::LOOP, FileCode::Loop),
    (Errno::MLINK, FileCode::TooManyLinks),
    (Errno::NAMETOOLONG, FileCode::NameTooLong),
    (Errno::NODEV, FileCode::NoDevice),
    (Errno::NOENT, FileCode::NoEntry),
    (Errno::NOLCK, FileCode::NoLock),
    (Errno::NOMEM, FileCode::InsufficientMemory),
    (Errno::NOSPC, FileCode::InsufficientSpace),
    (Errno::NOSYS, FileCode::Unsupported),
    (Errno::NOTDIR, FileCode::NotDirectory),
    (Errno::NOTEMPTY, FileCode::NotEmpty),
    (Errno::NOTSUP, FileCode::Unsupported),
    (Errno::NXIO, FileCode::NoSuchDevice),
    (Errno::OVERFLOW, FileCode::Overflow),
    (Errno::PERM, FileCode::NotPermitted),
    (Errno::PIPE, FileCode::Pipe),
    (Errno::ROFS, FileCode::ReadOnly),
    (Errno::SPIPE, FileCode::InvalidSeek),
    (Errno::TXTBSY, FileCode::TextFileBusy),
    (Errno::XDEV, FileCode::CrossDevice),
];

const SOCKET_CODES: &[(Errno, SocketCode)] = &[
    (Errno::ACCESS, SocketCode::AccessDenied),
    (Errno::PERM, SocketCode::AccessDenied),
    (Errno::AGAIN, SocketCode::WouldBlock),
    (Errno::INTR, SocketCode::WouldBlock),
    (Errno::ADDRINUSE, SocketCode::AddressInUse),
    (Errno::ADDRNOTAVAIL, SocketCode::AddressNotBindable),
    (Errno::AFNOSUPPORT, SocketCode::NotSupported),
    (Errno::ALREADY, SocketCode::ConcurrencyConflict),
    (Errno::CONNABORTED, SocketCode::ConnectionAborted),
    (Errno::CONNREFUSED, SocketCode::ConnectionRefused),
    (Errno::CONNRESET, SocketCode::ConnectionReset),
    (Errno::DESTADDRREQ, SocketCode::InvalidArgument),
    (Errno::HOSTDOWN, SocketCode::RemoteUnreachable),
    (Errno::HOSTUNREACH, SocketCode::RemoteUnreachable),
    (Errno::INVAL, SocketCode::InvalidArgument),
    (Errno::ISCONN, SocketCode::InvalidState),
    (Errno::MFILE, SocketCode::NewSocketLimit),
    (Errno::MSGSIZE, SocketCode::DatagramTooLarge),
    (Errno::NETDOWN, SocketCode::RemoteUnreachable),
    (Errno::NETUNREACH, SocketCode::RemoteUnreachable),
    (Errno::NFILE, SocketCode::NewSocketLimit),
    (Errno::NOBUFS, SocketCode::OutOfMemory),
    (Errno::NOMEM, SocketCode::OutOfMemory),
    (Errno::NOPROTOOPT, SocketCode::NotSupported),
    (Errno::NOTCONN, SocketCode::InvalidState),
    (Errno::OPNOTSUPP, SocketCode::NotSupported),
    (Errno::PIPE, SocketCode::ConnectionReset),
    (Errno::PROTONOSUPPORT, SocketCode::NotSupported),
    (Errno::TIMEDOUT, SocketCode::Timeout),
];
