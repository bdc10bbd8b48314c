//! What opening leaves behind in the process. The limit of descriptors belongs to the whole
//! process, so the test runs in one of its own.

use super::*;

/// K227: a caller with few descriptors left gets everything looked at, and its limit back.
#[test]
fn a_raised_limit_of_descriptors_is_put_back() {
    if std::env::var_os(ALONE).is_none() {
        let name = "resolve::open::tests::a_raised_limit_of_descriptors_is_put_back";
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--test-threads=1"])
            .env(ALONE, "1")
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let hard = rustix::process::getrlimit(Resource::Nofile).maximum;
    let low = Rlimit { current: Some(64), maximum: hard };
    rustix::process::setrlimit(Resource::Nofile, low).unwrap();
    let root = HostPath::root();
    let opener = Opener::new().unwrap();
    let opened: Vec<Opened> = (0..100).map(|_| opener.anywhere(&root).unwrap()).collect();
    let listed: Vec<OwnedFd> = (0..100).map(|_| opener.open_to_list(&root).unwrap()).collect();
    assert_ne!(rustix::process::getrlimit(Resource::Nofile), low);
    drop(opener);
    assert_eq!(rustix::process::getrlimit(Resource::Nofile), low);
    assert_eq!((opened.len(), listed.len()), (100, 100));
}

const ALONE: &str = "STOCKADE_TEST_ALONE";
