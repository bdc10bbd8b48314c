//! `wasi:cli` and `wasi:random`: arguments, variables, the three streams, the end, and chance. Everything comes from the world
//! but chance. Texts that are not UTF-8 are shown with the mark of what cannot be shown: an interface of texts has no other way.

use rustix::io::Errno;
use wasmtime::component::Resource;

use super::super::chance;
use super::super::host::Ending;
use super::bindings::wasi::cli::{
    environment, exit, stderr, stdin, stdout, terminal_input, terminal_output, terminal_stderr,
    terminal_stdin, terminal_stdout,
};
use super::bindings::wasi::random::{insecure, insecure_seed, random};
use super::host::Host;
use super::streams::{InputStream, OutputStream};
use crate::limits::Limit;
use crate::streams::Stream;

/// That a person is at the other end of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Terminal;

impl environment::Host for Host {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        let variables = self.world.environment.iter();
        Ok(variables.map(|(name, value)| (text(name), text(value))).collect())
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.world.arguments.iter().map(|word| text(word)).collect())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(Some(text(&self.world.working_directory)))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl exit::Host for Host {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        Err(Ending::Exit(i32::from(status.is_err())).into())
    }

    fn exit_with_code(&mut self, status: u8) -> wasmtime::Result<()> {
        Err(Ending::Exit(status.into()).into())
    }
}

impl stdin::Host for Host {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<InputStream>> {
        self.push(InputStream::Standard)
    }
}

impl stdout::Host for Host {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<OutputStream>> {
        self.push(OutputStream::Standard(Stream::Output))
    }
}

impl stderr::Host for Host {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<OutputStream>> {
        self.push(OutputStream::Standard(Stream::Error))
    }
}

impl Host {
    fn terminal(&mut self, stream: Stream) -> wasmtime::Result<Option<Resource<Terminal>>> {
        match self.world.streams.is_terminal(stream) {
            true => self.push(Terminal).map(Some),
            false => Ok(None),
        }
    }
}

impl terminal_stdin::Host for Host {
    fn get_terminal_stdin(&mut self) -> wasmtime::Result<Option<Resource<Terminal>>> {
        self.terminal(Stream::Input)
    }
}

impl terminal_stdout::Host for Host {
    fn get_terminal_stdout(&mut self) -> wasmtime::Result<Option<Resource<Terminal>>> {
        self.terminal(Stream::Output)
    }
}

impl terminal_stderr::Host for Host {
    fn get_terminal_stderr(&mut self) -> wasmtime::Result<Option<Resource<Terminal>>> {
        self.terminal(Stream::Error)
    }
}

impl terminal_input::Host for Host {}

impl terminal_input::HostTerminalInput for Host {
    fn drop(&mut self, terminal: Resource<Terminal>) -> wasmtime::Result<()> {
        self.table.delete(terminal)?;
        Ok(())
    }
}

impl terminal_output::Host for Host {}

impl terminal_output::HostTerminalOutput for Host {
    fn drop(&mut self, terminal: Resource<Terminal>) -> wasmtime::Result<()> {
        self.table.delete(terminal)?;
        Ok(())
    }
}

impl Host {
    /// What is asked for is made in memory that is not the component's own.
    fn random(&self, length: u64) -> wasmtime::Result<Vec<u8>> {
        let is_too_much = length > self.world.limits.max_memory;
        match usize::try_from(length) {
            Ok(length) if !is_too_much && length <= MOST_RANDOM => {
                let mut bytes = vec![0; length];
                self.fill(&mut bytes)?;
                Ok(bytes)
            }
            _ => Err(Ending::Reached(Limit::Memory).into()),
        }
    }

    fn fill(&self, bytes: &mut [u8]) -> wasmtime::Result<()> {
        chance::fill(bytes, self.held.allowance).map_err(|errno| match errno {
            Errno::INTR => Ending::Reached(Limit::Cpu).into(),
            errno => errno.into(),
        })
    }

    fn number(&self) -> wasmtime::Result<u64> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

impl random::Host for Host {
    fn get_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.random(length)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.number()
    }
}

impl insecure::Host for Host {
    fn get_insecure_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.random(length)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.number()
    }
}

impl insecure_seed::Host for Host {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((self.number()?, self.number()?))
    }
}

const MOST_RANDOM: usize = 64 << 20;
