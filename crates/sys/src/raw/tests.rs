//! The attacker's calls on this very process and its own bait.

use super::*;

/// Probes are for calling anywhere: but for three that ask or set a number, none is carried out.
#[test]
fn probes_do_nothing() {
    let harmless_when_done = [Probe::Keyctl, Probe::Personality, Probe::Syslog];
    for probe in Probe::ALL {
        let result = probe.call();
        let allowed = result.is_err() || harmless_when_done.contains(probe);
        assert!(allowed, "{} was carried out: {result:?}", probe.call_name());
    }
}

#[test]
fn names_are_those_of_the_manual() {
    assert_eq!(Probe::KexecFileLoad.call_name(), "kexec_file_load");
    assert_eq!(Probe::IoUringSetup.call_name(), "io_uring_setup");
}

/// T34
#[test]
fn objects_hold_what_was_put_in_and_go_with_their_maker() {
    let key = 0x5354_0000 | (std::process::id() as i32 & 0xffff);
    let memory = SharedMemory::new(key, b"memory").expect("a segment");
    assert_eq!(read_shared_memory(key).expect("its contents"), b"memory");
    drop(memory);
    assert!(read_shared_memory(key).is_err());

    let messages = MessageQueue::new(key, b"message").expect("a queue");
    assert_eq!(read_message_queue(key).expect("its message"), b"message");
    drop(messages);
    assert!(read_message_queue(key).is_err());
}

/// T18
#[test]
fn own_memory_is_never_overwritten() {
    let own = rustix::process::getpid();
    assert_eq!(write_memory(own, 0, b"x"), Err(rustix::io::Errno::INVAL));
}

/// T10
#[test]
fn a_handle_names_a_file_or_is_refused_with_a_reason() {
    let missing = name_to_handle(c"/nonexistent");
    assert_eq!(missing, Err(rustix::io::Errno::NOENT));
}

/// T16
#[test]
fn a_key_is_that_of_its_session_and_goes_with_its_maker() {
    let name = std::ffi::CString::new(format!("stockade-test-{}", std::process::id())).unwrap();
    let key = match SessionKey::new(&name, b"secret") {
        Ok(key) => key,
        Err(errno @ (rustix::io::Errno::NOSYS | rustix::io::Errno::PERM)) => {
            println!("skipped: keys: the kernel keeps none here: {errno}");
            return;
        }
        Err(errno) => panic!("{errno}"),
    };
    assert_eq!(read_session_key(&name).expect("its contents"), b"secret");
    drop(key);
    assert!(read_session_key(&name).is_err());
}

/// T72: each way sets the limit where nothing keeps it.
#[test]
fn the_limit_on_core_dumps_is_set_by_every_call() {
    let limit = || rustix::process::getrlimit(rustix::process::Resource::Core);
    if limit().maximum == Some(0) {
        println!("skipped: limits: the hard limit on core dumps is 0");
        return;
    }
    for call in [LimitCall::Setrlimit, LimitCall::Prlimit, LimitCall::PrlimitFarAway] {
        for bytes in [1, 0] {
            set_core_limit(call, bytes).expect("a limit of its own");
            assert_eq!(limit().current, Some(bytes), "{call:?}");
        }
    }
}
