//! New namespaces, in which a program would be root. T23

use sys::raw::{self, Probe, UpperBits};

use crate::attack::{Attack, Outcome, Twin};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T23", "unshare-user", "moves into a new user namespace", |_| {
        raw::leave_namespaces()?;
        Ok(Outcome::Succeeded("moved".to_owned()))
    })
    .twin(Twin::Namespaces),
    Attack::new("T23", "clone-user", "starts a child in a new user namespace", |_| {
        raw::start_in_user_namespace(UpperBits::Clear)?;
        Ok(Outcome::Succeeded("started it".to_owned()))
    })
    .twin(Twin::Namespaces),
    Attack::new(
        "T23",
        "clone3-user",
        "starts a child by `clone3`, whose flags no filter sees",
        |_| {
            let forked = sys::clone::fork_into(sys::clone::Namespaces::USER, None)?;
            match forked {
                sys::clone::Forked::Child => std::process::exit(0),
                sys::clone::Forked::Parent { pid, pidfd: _ } => {
                    rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty())?;
                    Ok(Outcome::Succeeded("started it".to_owned()))
                }
            }
        },
    )
    .twin(Twin::Namespaces),
    Attack::new("T23", "enter-overseer-namespace", "enters a namespace of pid 1", |scene| {
        let path = format!("/proc/{}/ns/uts", scene.overseer);
        let namespace = std::fs::File::open(path)?;
        rustix::thread::move_into_link_name_space(
            std::os::fd::AsFd::as_fd(&namespace),
            Some(rustix::thread::LinkNameSpaceType::HostNameAndNISDomainName),
        )?;
        Ok(Outcome::Succeeded("entered it".to_owned()))
    })
    .twin(Twin::Root),
    Attack::new("T23", "more-user-namespaces", "may make user namespaces at all", |_| {
        let most = std::fs::read_to_string("/proc/sys/user/max_user_namespaces")?;
        match most.trim() {
            "0" => Ok(Outcome::Failed("none may be made".to_owned())),
            most => Ok(Outcome::Succeeded(format!("{most} may be made"))),
        }
    }),
    Attack::call("T23", "call-clone3", Probe::Clone3),
    Attack::call("T23", "call-setns", Probe::Setns),
    Attack::call("T23", "call-unshare", Probe::Unshare),
];
