//! System calls by the numbers and entry points of other ABIs, and with bits in their arguments
//! that the kernel ignores and a careless filter does not. T21, T22

use sys::raw::{self, UpperBits};

use crate::attack::{Attack, Outcome, Refused};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T21", "x32-call", "calls by an x32 number", |_| through(raw::call_through_x32())),
    Attack::new("T21", "i386-call", "calls by the 32-bit interrupt", |_| {
        through(raw::call_through_i386())
    }),
    Attack::new(
        "T22",
        "socket-upper-bits",
        "asks for a refused socket with upper bits set",
        |_| {
            let family = libc::AF_NETLINK;
            raw::socket(family, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT, UpperBits::Set)?;
            Ok(Outcome::Succeeded("got the socket".to_owned()))
        },
    ),
    Attack::new("T22", "clone-upper-bits", "starts a child in a namespace, upper bits set", |_| {
        raw::start_in_user_namespace(UpperBits::Set)?;
        Ok(Outcome::Succeeded("started it".to_owned()))
    })
    .twin(crate::attack::Twin::Namespaces),
];

/// A kernel without that ABI answers ENOSYS, and a filter must not even let it answer: both ABIs
/// end the caller.
fn through(result: Result<i64, rustix::io::Errno>) -> Result<Outcome, Refused> {
    if cfg!(not(target_arch = "x86_64")) {
        return Ok(Outcome::NotApplicable("this architecture has one ABI".to_owned()));
    }
    Ok(match result {
        Ok(_) => Outcome::Succeeded("the call was carried out".to_owned()),
        Err(errno) => {
            let Refused(word) = errno.into();
            Outcome::Succeeded(format!("the call reached the kernel: {word}"))
        }
    })
}
