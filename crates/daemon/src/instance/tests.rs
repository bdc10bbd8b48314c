//! One instance at a time; a dead one's socket is replaced; unsafe places are refused.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};

use super::{Instance, InstanceError, Visibility};

#[test]
fn the_second_instance_is_told_who_the_first_is() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("run/daemon.sock");
    let first = Instance::claim(&socket, Visibility::Owner).unwrap();
    let listener = first.listen().unwrap();
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    let error = Instance::claim(&socket, Visibility::Owner).unwrap_err();
    let own = std::process::id();
    assert!(matches!(error, InstanceError::AlreadyServed { pid: Some(pid), .. } if pid == own));
    drop(listener);
    drop(first);
    assert!(!socket.exists());
    assert!(Instance::claim(&socket, Visibility::Owner).is_ok());
}

/// T54: what is in the way stays as it is.
#[test]
fn a_file_in_the_way_is_not_removed() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("run/daemon.sock");
    let instance = Instance::claim(&socket, Visibility::Owner).unwrap();
    std::fs::write(&socket, "mine").unwrap();
    assert!(matches!(instance.listen(), Err(InstanceError::Unsafe { .. })));
    drop(instance);
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "mine");
}

/// T54: what a killed daemon left at the path is replaced, what a living one has there is not.
#[test]
fn a_socket_is_replaced_only_if_nobody_answers() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("run/daemon.sock");
    let instance = Instance::claim(&socket, Visibility::Everybody).unwrap();
    let other = UnixListener::bind(&socket).unwrap();
    assert!(matches!(instance.listen(), Err(InstanceError::AlreadyServed { pid: None, .. })));
    drop(other);
    assert!(socket.exists());
    let _listener = instance.listen().unwrap();
    assert!(UnixStream::connect(&socket).is_ok());
}

#[test]
fn places_that_others_could_change_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let open = directory.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    let message = Instance::claim(&open.join("s"), Visibility::Owner).unwrap_err().to_string();
    assert!(message.contains("can be written to by others"), "{message}");
    let taken = directory.path().join("taken");
    std::fs::write(&taken, "").unwrap();
    let instance = Instance::claim(&taken, Visibility::Owner).unwrap();
    assert!(instance.listen().unwrap_err().to_string().contains("is not a socket"));
    std::mem::forget(instance);
    let long = directory.path().join("x".repeat(120));
    let message = Instance::claim(&long, Visibility::Owner).unwrap_err().to_string();
    assert!(message.contains("107 bytes"), "{message}");
}
