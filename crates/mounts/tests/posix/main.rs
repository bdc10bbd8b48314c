//! The suite of POSIX through FUSE on engines that keep files elsewhere than in memory: a store in a file, and three far away.
//! What does not come as the tables say is listed in `exceptions/`, with the reason; what is listed must fail. A15, A20
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by it, and uses a part of what it shares with others"
)]

#[path = "../../../remote/tests/far/azure_server.rs"]
mod azure_server;
#[path = "../../../remote/tests/far/drive_server.rs"]
mod drive_server;
#[path = "../../../remote/tests/far/faults.rs"]
mod faults;
#[path = "../../../remote/tests/far/s3_server.rs"]
mod s3_server;
#[path = "../../../remote/tests/far/server.rs"]
mod server;

/// What the server of a drive asks for.
mod behaviour {
    pub(crate) const SECRET: &str = "a-secret-that-nobody-reads";
}

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use conformance::compare;
use conformance::through::{self, Holes, Task};
use fileserver::{Access, Fuse, Others, Settings, Sharing, mount};
use remote::{
    Azure, AzurePlace, Backend, Drive, DrivePlace, DriveToken, Http, Remote, S3, S3Place, Secret,
};
use store::Store;
use vfs::{Caller, Engine, Limits};

/// Does the work of the others in a process that has its root in what is mounted.
#[test]
fn worker() {
    through::work_if_asked();
}

fn can_mount() -> bool {
    if !testing::is_root() {
        testing::skip("only root can mount, and have its root elsewhere");
        return false;
    }
    if !Path::new("/dev/fuse").exists() {
        testing::skip("this kernel has no FUSE");
        return false;
    }
    true
}

/// Serves an engine on a directory for as long as something is done there.
fn served(engine: Arc<dyn Engine>, sharing: Sharing, act: impl FnOnce(&Path)) {
    let place = tempfile::tempdir().unwrap();
    let (mounted, device) = mount(place.path(), "test", Access::Write, Others::Served).unwrap();
    let settings = Settings { sharing, threads: 3, ..Settings::default() };
    let fuse = Fuse::begin(engine, device, settings).unwrap();
    let server = std::thread::spawn(move || fuse.serve());
    act(place.path());
    drop(mounted);
    server.join().unwrap().unwrap();
}

/// Holds a tree to the tables, but for what is listed.
fn check(what: &str, root: &Path, exceptions: &str) {
    let names = |line: &str| {
        let mut parts = line.splitn(3, ": ");
        let (family, case) = (parts.next()?, parts.next()?);
        Some(format!("{family}: {case}"))
    };
    let failures = through::report(root, Task::Families);
    let found: BTreeSet<String> = failures.iter().filter_map(|line| names(line)).collect();
    let lines = exceptions.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let listed: BTreeSet<String> = lines.map(str::to_owned).collect();
    let new: Vec<&String> = failures
        .iter()
        .filter(|line| names(line).is_none_or(|name| !listed.contains(&name)))
        .collect();
    assert!(new.is_empty(), "{what}:\n{new:#?}");
    let gone: Vec<&String> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "{what}: these are listed and hold: {gone:#?}");
}

fn http() -> Http {
    Http::new(3, Duration::from_secs(15)).unwrap()
}

/// Holds what is far away to the tables, and to what tmpfs answers under so many random operations.
fn check_far_away(what: &str, backend: Box<dyn Backend>, exceptions: &str, operations: u64) {
    let owners = remote::Owners::AsNoted;
    let settings = remote::Settings { writable: true, owners, ..Default::default() };
    let remote = Arc::new(Remote::new(backend, settings, Limits::default()));
    served(remote, Sharing::Shared, |root| {
        check(what, root, exceptions);
        let sequences = compare::operations(operations).div_ceil(400);
        let task = Task::FarAway { first_seed: compare::first_seed(), sequences, length: 400 };
        through::compare_with_tmpfs(what, root, task, Holes::Untold);
    });
}

/// A15, A18, A20: a store holds to all of the tables, and answers as tmpfs under random operations.
#[test]
fn a_store_holds_to_the_tables() {
    if !can_mount() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("files.store");
    Store::create(&path, &Caller::root(), 0o755).unwrap();
    let store = Arc::new(Store::open(&path, Limits::default()).unwrap());
    served(store, Sharing::Alone, |root| {
        check("store", root, include_str!("exceptions/store.txt"));
        let sequences = compare::operations(1500).div_ceil(1500);
        let (first_seed, holes) = (compare::first_seed(), Holes::Untold);
        let task = Task::Random { first_seed, sequences, length: 1500, holes };
        through::compare_with_tmpfs("store", root, task, holes);
    });
}

/// A14, A18, A20: a drive holds to the tables but for what is listed, and answers as tmpfs under random operations.
#[test]
fn a_drive_holds_to_the_tables_as_far_as_it_can() {
    if !can_mount() {
        return;
    }
    let (endpoint, _) = drive_server::start();
    let place = DrivePlace {
        token_endpoint: format!("{endpoint}/token"),
        endpoint,
        folder: "root".into(),
        token: DriveToken::Refresh {
            client_id: Secret::Given("client".into()),
            client_secret: Secret::Given("client-secret".into()),
            refresh_token: Secret::Given(behaviour::SECRET.into()),
        },
    };
    let drive = Drive::new(place, http()).unwrap();
    check_far_away("drive", Box::new(drive), include_str!("exceptions/drive.txt"), 2400);
}

/// A13, A18, A20: the same of a bucket.
#[test]
fn a_bucket_holds_to_the_tables_as_far_as_it_can() {
    if !can_mount() {
        return;
    }
    let Some(server) = s3_server::start() else { return };
    s3_server::make_bucket(&server);
    let place = S3Place {
        endpoint: format!("http://{}", server.address),
        region: "us-east-1".into(),
        bucket: "bucket".into(),
        prefix: "some/where".into(),
        key_id: Secret::Given("key-id".into()),
        key: Secret::Given(behaviour::SECRET.into()),
        token: None,
    };
    let bucket = S3::new(place, http()).unwrap();
    check_far_away("bucket", Box::new(bucket), include_str!("exceptions/s3.txt"), 800);
}

/// A13, A18, A20: the same of a container of Azure's.
#[test]
fn a_container_holds_to_the_tables_as_far_as_it_can() {
    if !can_mount() {
        return;
    }
    let Some(server) = azure_server::start() else { return };
    let place = AzurePlace {
        endpoint: format!("http://{}/account", server.address),
        account: "account".into(),
        container: "container".into(),
        prefix: "some/where".into(),
        key: Secret::Given(azure_server::KEY.into()),
    };
    let container = Azure::new(place, http()).unwrap();
    check_far_away("container", Box::new(container), include_str!("exceptions/azure.txt"), 800);
}
