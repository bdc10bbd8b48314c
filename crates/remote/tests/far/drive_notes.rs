//! A14, A18: what is noted on a drive is there for the next who looks; what somebody else forged there is not.

use std::sync::Arc;
use std::time::Duration;

use remote::{Backend, Drive, DrivePlace, DriveToken, Owners, Remote, Secret, Settings};
use rustix::io::Errno;
use serde_json::{Value, json};
use vfs::{At, Owner};
use vfs::{
    Attributes, Caller, Existing, FileSystem, Follow, Kind, Limits, New, NewTime, OpenFlags,
    Removal, Replace, SetXattr, Times, Timestamp,
};

use crate::behaviour::{self, SECRET};
use crate::drive_server;
use crate::faults::Fault;
use crate::server::{self, Request};

/// A look at a folder of the drive that remembers nothing of earlier ones.
fn opened(endpoint: &str, folder: &str, owners: Owners) -> FileSystem {
    let given = |text: &str| Secret::Given(text.into());
    let place = DrivePlace {
        endpoint: endpoint.to_owned(),
        token_endpoint: format!("{endpoint}/token"),
        folder: folder.to_owned(),
        token: DriveToken::Refresh {
            client_id: given("client"),
            client_secret: given("client-secret"),
            refresh_token: given(SECRET),
        },
    };
    let drive: Box<dyn Backend> = Box::new(Drive::new(place, behaviour::http()).unwrap());
    let believed = Duration::ZERO;
    let settings = Settings { writable: true, believed, owners, uid: 5, ..Settings::default() };
    let engine: Arc<dyn vfs::Engine> = Arc::new(Remote::new(drive, settings, Limits::default()));
    FileSystem::new(engine, &Limits::default())
}

fn stat(files: &FileSystem, path: &str) -> Attributes {
    files.stat(&Caller::root(), At::Root, path.as_bytes(), Follow::No).unwrap()
}

fn errno<T: std::fmt::Debug>(done: vfs::Result<T>) -> Errno {
    done.unwrap_err().errno
}

/// Asks the service without us.
fn ask(endpoint: &str, method: &str, path: &str, body: &Value) -> Value {
    let request = Request {
        method: method.into(),
        path: path.into(),
        headers: vec![
            ("host".into(), "drive".into()),
            ("authorization".into(), "Bearer an-access-token".into()),
            ("content-length".into(), body.to_string().len().to_string()),
        ],
        body: body.to_string().into_bytes(),
    };
    let reply = server::forward(endpoint.strip_prefix("http://").unwrap(), &request).unwrap();
    assert_eq!(reply.status, 200, "{method} {path}");
    serde_json::from_slice(&reply.body).unwrap()
}

/// Puts something onto the drive without us. Returns its id.
fn forge(endpoint: &str, name: &str, parent: &str, properties: &Value) -> String {
    let about = json!({ "name": name, "parents": [parent], "appProperties": properties });
    let made = ask(endpoint, "POST", "/drive/v3/files?fields=id", &about);
    made["id"].as_str().unwrap().to_owned()
}

/// The id of what has a name in a folder.
fn id_of(endpoint: &str, folder: &str, name: &str) -> String {
    let path =
        format!("/drive/v3/files?q='{folder}'%20and%20name%20%3D%20'{name}'&fields=files(id)");
    let found = ask(endpoint, "GET", &path, &json!({}));
    found["files"][0]["id"].as_str().unwrap().to_owned()
}

fn noted(text: &str) -> Value {
    json!({ "stockade00": format!("{}:{text}", text.len()) })
}

#[test]
fn what_is_noted_is_there_for_the_next() {
    let (endpoint, _) = drive_server::start();
    let root = Caller::root();
    let time = Timestamp { seconds: -7, nanoseconds: 123_456_789 };
    {
        let files = opened(&endpoint, "root", Owners::AsNoted);
        let user = Caller::of(7, 8);
        let at = At::Root;
        files.make(&root, at, b"/d", New::Directory, 0o777).unwrap();
        files.set_mode(&root, at, b"/d", 0o1777).unwrap();
        files.make(&user, at, b"/d/link", New::Link(b"../d/file"), 0).unwrap();
        files.make(&user, at, b"/d/pipe", New::Fifo, 0o640).unwrap();
        files.make(&user, at, b"/d/socket", New::Socket, 0o600).unwrap();
        files.write_file(&user, b"/d/file", b"contents").unwrap();
        let one = (at, &b"/d/file"[..], Follow::No);
        let value = vec![b'v'; 1500];
        files.set_xattr(&user, one, (b"user.a", &value), SetXattr::Any).unwrap();
        let too_much = files.set_xattr(&user, one, (b"user.b", &value), SetXattr::Any);
        assert_eq!(errno(too_much), Errno::NOSPC);
        files.set_size(&user, at, b"/d/file", 1 << 40).unwrap();
        files.set_mode(&user, at, b"/d/file", 0o4750).unwrap();
        let times = Times { accessed: None, modified: Some(NewTime::At(time)) };
        files.set_times(&user, at, b"/d/file", Follow::No, times).unwrap();
    }
    let files = opened(&endpoint, "root", Owners::AsNoted);
    let found = stat(&files, "/d/file");
    assert_eq!((found.mode, found.uid, found.gid, found.size), (0o4750, 7, 8, 1 << 40));
    assert_eq!((found.modified, found.links), (time, 1));
    assert_eq!(stat(&files, "/d").mode, 0o1777);
    let link = stat(&files, "/d/link");
    assert_eq!((link.kind, link.size, link.uid), (Kind::Link, 9, 7));
    assert_eq!(files.read_link(&root, At::Root, b"/d/link").unwrap(), b"../d/file");
    assert_eq!(stat(&files, "/d/pipe").kind, Kind::Fifo);
    assert_eq!(stat(&files, "/d/socket").kind, Kind::Socket);
    let kinds: Vec<Kind> =
        files.list(&root, b"/d").unwrap().into_iter().map(|it| it.kind).collect();
    assert!(kinds.contains(&Kind::Link) && kinds.contains(&Kind::Socket), "{kinds:?}");
    let value = files.xattr(&root, At::Root, b"/d/file", Follow::No, b"user.a").unwrap();
    assert_eq!(value.len(), 1500);
    assert_eq!(files.xattrs(&root, At::Root, b"/d/file", Follow::No).unwrap(), [b"user.a"]);
    let file = files.open(&root, At::Root, b"/d/file", OpenFlags::READ, 0).unwrap();
    let mut part = [1; 4];
    assert_eq!(file.read_at(6, &mut part).unwrap(), 4);
    assert_eq!(&part, b"ts\0\0");
    // Where everything is the mount's user's, an owner is neither shown nor changed, and stays noted.
    let others = opened(&endpoint, "root", Owners::OfMount);
    assert_eq!((stat(&others, "/d/file").uid, stat(&others, "/d/file").mode), (5, 0o4750));
    let owner = Owner { uid: Some(9), gid: None };
    let given = others.set_owner(&root, At::Root, b"/d/file", Follow::No, owner);
    assert_eq!(errno(given), Errno::PERM);
    others.set_mode(&root, At::Root, b"/d/file", 0o600).unwrap();
    let found = stat(&opened(&endpoint, "root", Owners::AsNoted), "/d/file");
    assert_eq!((found.uid, found.mode), (7, 0o600));
}

/// Names of one file go one after the other, and it stays until the last, whoever removes them.
#[test]
fn a_file_stays_until_its_last_name() {
    let (endpoint, _) = drive_server::start();
    let root = Caller::root();
    let fresh = || opened(&endpoint, "root", Owners::AsNoted);
    let files = fresh();
    files.make(&root, At::Root, b"/d", New::Directory, 0o755).unwrap();
    files.write_file(&root, b"/first", b"one file").unwrap();
    for name in [&b"/second"[..], b"/d/third", b"/d/fourth"] {
        let existing = Existing::Path(b"/first", Follow::No);
        files.link(&root, existing, At::Root, name).unwrap();
    }
    // Who has it open by one name sees the same file by another.
    let open = files.open(&root, At::Root, b"/first", OpenFlags::READ, 0).unwrap();
    assert_eq!(stat(&files, "/d/third").number, open.attributes(&root).unwrap().number);
    drop(open);
    let links = |path: &str| stat(&fresh(), path).links;
    assert_eq!((links("/first"), links("/d/third")), (4, 4));
    // The name that the file itself has goes, to who knows it by another one alone.
    let others = fresh();
    others.remove(&root, At::Root, b"/first", Removal::File).unwrap();
    assert_eq!((links("/second"), links("/d/third")), (3, 3));
    fresh().write_file(&root, b"/d/third", b"written").unwrap();
    assert_eq!(fresh().read_file(&root, b"/second", 100).unwrap(), b"written");
    // One of them moves, and another file takes the place of one.
    let files = fresh();
    let rename = |from: &str, to: &str| {
        let (from, to) = ((At::Root, from.as_bytes()), (At::Root, to.as_bytes()));
        files.rename(&root, from, to, Replace::Yes).unwrap();
    };
    rename("/d/third", "/moved");
    files.write_file(&root, b"/new", b"new").unwrap();
    rename("/new", "/second");
    assert_eq!(links("/moved"), 2);
    assert_eq!(fresh().read_file(&root, b"/d/fourth", 100).unwrap(), b"written");
    for name in [&b"/moved"[..], b"/d/fourth"] {
        assert_eq!(fresh().read_file(&root, name, 100).unwrap(), b"written");
        fresh().remove(&root, At::Root, name, Removal::File).unwrap();
    }
    let names = |path: &[u8]| fresh().list(&root, path).unwrap().len();
    assert_eq!((names(b"/"), names(b"/d")), (2, 0));
}

/// A directory that takes the place of an empty one is what its path leads to at once.
#[test]
fn a_directory_takes_the_place_of_another() {
    let (endpoint, _) = drive_server::start();
    let root = Caller::root();
    let files = opened(&endpoint, "root", Owners::AsNoted);
    for path in [&b"/a"[..], b"/b"] {
        files.make(&root, At::Root, path, New::Directory, 0o755).unwrap();
        files.write_file(&root, &[path, b"/f"].concat(), path).unwrap();
    }
    files.write_file(&root, b"/b/g", b"one more").unwrap();
    let rename = || files.rename(&root, (At::Root, b"/a"), (At::Root, b"/b"), Replace::Yes);
    assert_eq!(errno(rename()), Errno::NOTEMPTY);
    files.remove(&root, At::Root, b"/b/f", Removal::File).unwrap();
    assert_eq!(errno(rename()), Errno::NOTEMPTY);
    files.remove(&root, At::Root, b"/b/g", Removal::File).unwrap();
    rename().unwrap();
    assert_eq!(files.list(&root, b"/b").unwrap().len(), 1);
    assert_eq!(files.read_file(&root, b"/b/f", 100).unwrap(), b"/a");
}

/// What somebody wrote who knows of no notes holds, and not what was noted of the file before.
#[test]
fn contents_of_others_have_their_own_length_and_time() {
    let (endpoint, _) = drive_server::start();
    let root = Caller::root();
    let files = opened(&endpoint, "root", Owners::AsNoted);
    files.write_file(&root, b"/f", b"text").unwrap();
    files.set_size(&root, At::Root, b"/f", 5000).unwrap();
    let past = Timestamp { seconds: 1000, nanoseconds: 0 };
    let times = Times { accessed: None, modified: Some(NewTime::At(past)) };
    files.set_times(&root, At::Root, b"/f", Follow::No, times).unwrap();
    files.set_mode(&root, At::Root, b"/f", 0o600).unwrap();
    let id = id_of(&endpoint, "root", "f");
    // As an editor of theirs does: the time is now, and no property is touched.
    ask(&endpoint, "PATCH", &format!("/drive/v3/files/{id}?fields=id"), &json!({ "name": "f" }));
    let found = stat(&opened(&endpoint, "root", Owners::AsNoted), "/f");
    assert_eq!((found.size, found.mode), (4, 0o600));
    assert!(found.modified.seconds > 1_500_000_000);
}

/// A17: what is forged on the drive is a file of the mount's user, or nothing.
#[test]
fn what_is_forged_is_nothing() {
    let (endpoint, _) = drive_server::start();
    let root = Caller::root();
    opened(&endpoint, "root", Owners::OfMount)
        .make(&root, At::Root, b"/inside", New::Directory, 0o755)
        .unwrap();
    opened(&endpoint, "root", Owners::OfMount).write_file(&root, b"/outside", b"secret").unwrap();
    let (inside, outside) =
        (id_of(&endpoint, "root", "inside"), id_of(&endpoint, "root", "outside"));
    let forged = |name: &str, properties: Value| forge(&endpoint, name, &inside, &properties);
    for (number, text) in
        ["1;kdevice", "1;m10000", "1;u4294967295", "1;m644;x", "2", "1;é"].into_iter().enumerate()
    {
        forged(&format!("bad{number}"), noted(text));
    }
    forged("loose", json!({ "stockade00": "99999:1" }));
    forged("owned", noted("1;m4777;u0;g0"));
    // A link whose contents are no path, and a file that says that it ends where no file does.
    forged("link", noted("1;klink"));
    forged("long", noted("1;l9223372036854775807"));
    // One more name of what is not in the mount, of itself, of a folder, of nothing.
    forged("escape", json!({ "stockadename": outside }));
    forged("folder", json!({ "stockadename": inside }));
    forged("nothing", json!({ "stockadename": "id-of-nobody" }));
    forged("odd", json!({ "stockadename": "../files?q=x" }));
    let files = opened(&endpoint, &inside, Owners::OfMount);
    for number in 0..6 {
        let found = stat(&files, &format!("/bad{number}"));
        assert_eq!((found.kind, found.mode, found.uid), (Kind::File, 0o644, 5), "{number}");
    }
    for name in ["/loose", "/link", "/long"] {
        let found = stat(&files, name);
        assert_eq!((found.kind, found.size, found.uid), (Kind::File, 0, 5), "{name}");
    }
    assert_eq!(stat(&files, "/owned").uid, 5);
    for name in ["/escape", "/folder", "/nothing", "/odd"] {
        let found = files.stat(&root, At::Root, name.as_bytes(), Follow::No);
        assert_eq!(errno(found), Errno::NOENT, "{name}");
        let read = files.read_file(&root, name.as_bytes(), 100);
        assert_eq!(errno(read), Errno::NOENT, "{name}");
    }
    // The same entry leads to a file of the whole drive, where that is what is mounted.
    let all = opened(&endpoint, "root", Owners::OfMount);
    assert_eq!(all.read_file(&root, b"/inside/escape", 100).unwrap(), b"secret");
}

/// What is done and whose answer is lost is done once, and nothing is missing afterwards.
#[test]
fn a_lost_answer_loses_nothing() {
    let (endpoint, faults) = drive_server::start();
    let root = Caller::root();
    let files = opened(&endpoint, "root", Owners::AsNoted);
    let lose = |method| faults.set(Fault::LostAnswer, method, 1);
    files.write_file(&root, b"/one", b"contents").unwrap();
    lose("PATCH");
    files.set_mode(&root, At::Root, b"/one", 0o640).unwrap();
    lose("POST");
    files.make(&root, At::Root, b"/pipe", New::Fifo, 0o600).unwrap();
    let existing = || Existing::Path(b"/one", Follow::No);
    lose("POST");
    files.link(&root, existing(), At::Root, b"/two").unwrap();
    lose("PATCH");
    files.link(&root, existing(), At::Root, b"/three").unwrap();
    assert_eq!(stat(&files, "/three").links, 3);
    lose("DELETE");
    files.remove(&root, At::Root, b"/one", Removal::File).unwrap();
    lose("PATCH");
    files.remove(&root, At::Root, b"/two", Removal::File).unwrap();
    faults.clear();
    let files = opened(&endpoint, "root", Owners::AsNoted);
    let mut names: Vec<_> =
        files.list(&root, b"/").unwrap().into_iter().map(|it| it.name).collect();
    names.sort();
    assert_eq!(names, [&b"pipe"[..], b"three"]);
    assert_eq!(files.read_file(&root, b"/three", 100).unwrap(), b"contents");
    assert_eq!((stat(&files, "/three").mode, stat(&files, "/three").links), (0o640, 1));
    // A link that cannot be made leaves the file as it was.
    faults.set(Fault::Status(503), "POST", u32::MAX);
    let existing = Existing::Path(b"/three", Follow::No);
    assert_eq!(errno(files.link(&root, existing, At::Root, b"/four")), Errno::IO);
    faults.clear();
    assert_eq!(stat(&opened(&endpoint, "root", Owners::AsNoted), "/three").links, 1);
}
