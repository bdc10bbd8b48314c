//! Extended attributes in memory. What they take counts as bytes of the file system.

use rustix::io::Errno;

use super::node::Node;
use crate::engine::SetXattr;
use crate::error::Result;
use crate::limits::Counter;
use crate::table::read;

pub(super) fn get(node: &Node, name: &[u8]) -> Result<Vec<u8>> {
    read(&node.facts).xattrs.get(name).map(|value| value.to_vec()).ok_or(Errno::NODATA.into())
}

pub(super) fn list(node: &Node) -> Vec<Vec<u8>> {
    read(&node.facts).xattrs.keys().map(|name| name.to_vec()).collect()
}

pub(super) fn set(
    node: &Node,
    name: &[u8],
    value: &[u8],
    how: SetXattr,
    space: &Counter,
) -> Result<()> {
    let mut result = Ok(());
    node.touch(|facts, _| {
        let before = facts.xattrs.get(name).map(|before| cost(name, before));
        result = match (how, before) {
            (SetXattr::Create, Some(_)) => Err(Errno::EXIST.into()),
            (SetXattr::Replace, None) => Err(Errno::NODATA.into()),
            _ => space.take(cost(name, value)),
        };
        if result.is_ok() {
            space.give(before.unwrap_or_default());
            facts.xattrs.insert(name.into(), value.into());
        }
    });
    result
}

pub(super) fn remove(node: &Node, name: &[u8], space: &Counter) -> Result<()> {
    let mut result = Err(Errno::NODATA.into());
    node.touch(|facts, _| {
        if let Some(value) = facts.xattrs.remove(name) {
            space.give(cost(name, &value));
            result = Ok(());
        }
    });
    result
}

/// What one takes.
pub(super) const fn cost(name: &[u8], value: &[u8]) -> u64 {
    (name.len() + value.len()) as u64
}
