//! Whole conversations through a gatekeeper, with clients and servers of this process on loopback. The
//! sockets that a cage would have made in its namespace are ordinary ones here.

mod cages;
mod names;
mod socks;
mod support;
mod transparent;
