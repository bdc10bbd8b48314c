//! Names of hosts, looked up as this process does it. A look-up is over before the call returns: what it costs is time, never
//! the component's processor time.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::vec::IntoIter;

use wasmtime::component::Resource;

use super::bindings::wasi::sockets::ip_name_lookup::{self, HostResolveAddressStream};
use super::bindings::wasi::sockets::network::{ErrorCode, IpAddress};
use super::codes::SocketFault;
use super::host::Host;
use super::network::{Network, ip_to_wasi};
use super::pollables::Pollable;

/// The addresses of a name that were not asked for yet.
#[derive(Debug)]
pub struct Addresses(IntoIter<IpAddr>);

impl ip_name_lookup::Host for Host {
    fn resolve_addresses(
        &mut self,
        _network: Resource<Network>,
        name: String,
    ) -> Result<Resource<Addresses>, SocketFault> {
        self.may_reach_out()?;
        let found: Vec<IpAddr> = match name.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_)
                if name.is_empty() || name.len() > LONGEST_NAME || name.contains([':', '\0']) =>
            {
                return Err(ErrorCode::InvalidArgument.into());
            }
            Err(_) => {
                let found = (name.as_str(), 0).to_socket_addrs();
                let found = found.map_err(|_| ErrorCode::NameUnresolvable)?;
                let mut found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
                found.dedup();
                found.truncate(MOST_ADDRESSES);
                found
            }
        };
        Ok(self.push(Addresses(found.into_iter()))?)
    }
}

impl HostResolveAddressStream for Host {
    fn resolve_next_address(
        &mut self,
        addresses: Resource<Addresses>,
    ) -> Result<Option<IpAddress>, SocketFault> {
        Ok(self.table.get_mut(&addresses)?.0.next().map(ip_to_wasi))
    }

    fn subscribe(&mut self, _of: Resource<Addresses>) -> wasmtime::Result<Resource<Pollable>> {
        self.push(Pollable::Ready)
    }

    fn drop(&mut self, addresses: Resource<Addresses>) -> wasmtime::Result<()> {
        self.table.delete(addresses)?;
        Ok(())
    }
}

/// As DNS has it.
const LONGEST_NAME: usize = 253;
const MOST_ADDRESSES: usize = 64;
