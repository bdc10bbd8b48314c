//! What opening leaves behind in the process. The limit of descriptors belongs to the whole
//! process, so the test runs in one of its own.

use super::super::fixture::runs_alone;
use super::*;

/// K227: a caller with few descriptors left gets everything looked at, and its limit back.
#[test]
fn a_raised_limit_of_descriptors_is_put_back() {
    if !runs_alone("resolve::open::tests::a_raised_limit_of_descriptors_is_put_back") {
        return;
    }
    let hard = rustix::process::getrlimit(Resource::Nofile).maximum;
    let low = Rlimit { current: Some(64), maximum: hard };
    rustix::process::setrlimit(Resource::Nofile, low).unwrap();
    let root = HostPath::root();
    let opener = Opener::new().unwrap();
    let referred = |_| opener.anywhere(&root).unwrap().descriptor;
    let mut held: Vec<OwnedFd> = (0..100).map(referred).collect();
    held.extend((0..100).map(|_| opener.open_to_list(&root).unwrap()));
    assert_ne!(rustix::process::getrlimit(Resource::Nofile), low);
    opener.leave_room(&mut held);
    drop(opener);
    assert_eq!(rustix::process::getrlimit(Resource::Nofile), low);
    let device = |descriptor: &OwnedFd| rustix::fs::fstat(descriptor).unwrap().st_dev;
    assert!(held.iter().all(|descriptor| device(descriptor) == device(&held[0])));
    // The caller can go on.
    let more: Vec<_> = (0..32).map(|_| std::fs::File::open("/").unwrap()).collect();
    assert_eq!(more.len(), 32);
}
