//! Own user, root, a named user, anybody else.

use rustix::process::{geteuid, getpid};

use super::{Allowed, Stranger};

/// T52
#[test]
fn only_the_owner_root_and_named_users_are_served() {
    let own = geteuid().as_raw();
    let allowed = Allowed::new(vec![4711]);
    assert_eq!(allowed.check(0, Some(getpid())), Ok(()));
    assert_eq!(allowed.check(own, Some(getpid())), Ok(()));
    assert_eq!(allowed.check(4711, Some(getpid())), Ok(()));
    assert_eq!(allowed.check(4712, Some(getpid())), Err(Stranger::OtherUser { own, uid: 4712 }));
    // A process that the daemon's own /proc does not show is in another pid namespace.
    assert_eq!(allowed.check(4711, None), Err(Stranger::OtherNamespace));
    assert_eq!(allowed.check(0, None), Err(Stranger::OtherNamespace));
}
