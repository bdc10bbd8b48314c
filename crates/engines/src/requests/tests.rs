//! How a request that failed is named.

use super::{Cause, of_resolver};

/// A23
#[test]
fn hosts_that_are_not_found_are_told_from_those_nobody_can_say_of() {
    let named = |why: &str| of_resolver(&format!("failed to lookup address information: {why}"));
    assert_eq!(named("Name or service not known"), Some(Cause::HostNotFound));
    assert_eq!(named("Name does not resolve"), Some(Cause::HostNotFound));
    assert_eq!(named("Temporary failure in name resolution"), Some(Cause::ResolverFailed));
    assert_eq!(of_resolver("broken pipe"), None);
}
