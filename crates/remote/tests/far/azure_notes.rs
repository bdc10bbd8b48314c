//! A13, A18: what is noted in a container of Azure's, where everything that is noted is another version.

use std::time::Duration;

use remote::Backend;
use rustix::io::Errno;
use vfs::{At, Caller, OpenFlags, Replace};

use crate::azure::backend;
use crate::azure_server::{Server, start};
use crate::faults::{Fault, Faults};
use crate::notes::{self, Store, header, looking, opened, stat, text};
use crate::s3::is_with_credentials;
use crate::server::{self, Reply, Request};

impl Store for Server {
    const METADATA: &'static str = "x-ms-meta-";
    const NAMES: &'static str = "x-ms-meta-stockadenames";
    const XATTR: usize = 4000;

    fn backend(&self) -> Box<dyn Backend> {
        backend(&format!("http://{}", self.address))
    }

    fn ask(&self, method: &str, key: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut all = vec![("host".into(), self.address.clone())];
        all.push(("content-length".into(), body.len().to_string()));
        // A query says that it is about a part of a blob, which has no kind.
        let is_part = key.contains('?');
        let own = [("x-ms-version", "2021-08-06"), ("x-ms-blob-type", "BlockBlob")];
        let own = own.iter().take(if is_part { 1 } else { 2 });
        let both = headers.iter().chain(own);
        all.extend(both.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let mark = if is_part { '&' } else { '?' };
        let path = format!("/account/container/some/where/{key}{mark}{}", self.access);
        let request = Request { method: method.into(), path, headers: all, body: body.to_vec() };
        let reply = server::forward(&self.address, &request).unwrap();
        let is_done = (200..300).contains(&reply.status);
        assert!(is_done, "{method} {key}: {}", String::from_utf8_lossy(&reply.body));
        reply
    }
}

/// Runs a test of this file on a container.
fn on_a_container(name: &str, test: fn(&Server)) {
    if !is_with_credentials(&format!("azure_notes::{name}")) {
        return;
    }
    let Some(server) = start() else { return };
    test(&server);
}

#[test]
fn what_is_noted_is_there_for_the_next() {
    let name = "what_is_noted_is_there_for_the_next";
    on_a_container(name, notes::what_is_noted_is_there_for_the_next);
}

#[test]
fn names_of_one_file() {
    on_a_container("names_of_one_file", notes::names_of_one_file);
}

#[test]
fn what_others_wrote_stays_theirs() {
    on_a_container("what_others_wrote_stays_theirs", notes::what_others_wrote_stays_theirs);
}

#[test]
fn what_is_forged_is_nothing() {
    on_a_container("what_is_forged_is_nothing", notes::what_is_forged_is_nothing);
}

/// What others have there goes with a blob that is renamed, whatever its names are sorted by; the hash too.
#[test]
fn what_others_have_goes_with_its_blob() {
    on_a_container("what_others_have_goes_with_its_blob", |server| {
        let names = ["x-ms-meta-a_b", "x-ms-meta-a1b", "x-ms-meta-ab", "x-ms-meta-zz"];
        let theirs: Vec<_> = names.iter().map(|name| (*name, *name)).collect();
        server.ask("PUT", "theirs", &theirs, b"theirs");
        let files = opened(server, true);
        let (root, at) = (Caller::root(), At::Root);
        files.write_file(&root, b"/ours", b"ours").unwrap();
        let hash = header(&server.ask("HEAD", "ours", &[], b""), "x-ms-meta-sha256");
        assert!(hash.is_some());
        for (from, to) in [("/theirs", "/moved"), ("/ours", "/d")] {
            files.set_mode(&root, at, from.as_bytes(), 0o600).unwrap();
            let (from, to) = ((at, from.as_bytes()), (at, to.as_bytes()));
            files.rename(&root, from, to, Replace::Yes).unwrap();
        }
        let reply = server.ask("HEAD", "moved", &[], b"");
        for name in names {
            assert_eq!(header(&reply, name).as_deref(), Some(name));
        }
        assert_eq!(stat(&opened(server, false), "/moved").mode, 0o600);
        assert_eq!(header(&server.ask("HEAD", "d", &[], b""), "x-ms-meta-sha256"), hash);
    });
}

/// Of what is put together of parts there is no hash.
fn put_in_parts(server: &Server, key: &str, contents: &[u8]) {
    server.ask("PUT", &format!("{key}?comp=block&blockid=MQ%3D%3D"), &[], contents);
    let list = b"<BlockList><Latest>MQ==</Latest></BlockList>";
    server.ask("PUT", &format!("{key}?comp=blocklist"), &[], list);
}

/// Who reads a file goes on when something is noted of it, or its directory is renamed; and does not when it is another one.
#[test]
fn who_reads_goes_on_while_something_is_noted() {
    on_a_container("who_reads_goes_on_while_something_is_noted", |server| {
        let (root, at) = (Caller::root(), At::Root);
        let ours = looking(server, true, Duration::from_secs(600));
        ours.make(&root, at, b"/d", vfs::New::Directory, 0o755).unwrap();
        let contents = vec![b'x'; 600_000];
        ours.write_file(&root, b"/d/whole", &contents).unwrap();
        put_in_parts(server, "d/parts", &contents);
        let files = ["/d/whole", "/d/parts"].map(|path| {
            stat(&ours, path);
            ours.open(&root, at, path.as_bytes(), OpenFlags::READ, 0).unwrap()
        });
        let others = opened(server, true);
        others.set_mode(&root, at, b"/d/whole", 0o600).unwrap();
        ours.set_mode(&root, at, b"/d/whole", 0o640).unwrap();
        ours.set_mode(&root, at, b"/d/parts", 0o640).unwrap();
        let mut part = [0; 10];
        for file in &files {
            assert_eq!(file.read_at(300_000, &mut part).unwrap(), 10);
        }
        ours.rename(&root, (at, b"/d"), (at, b"/e"), Replace::Yes).unwrap();
        assert_eq!(files[0].read_at(10, &mut part).unwrap(), 10);
        assert_eq!(text(&ours, "/e/whole"), contents);
        assert_eq!(text(&ours, "/e/parts"), contents);
        assert_eq!(stat(&ours, "/e/parts").mode, 0o640);
        server.ask("PUT", "e/whole", &[], &vec![b'y'; 600_000]);
        let fresh = looking(server, true, Duration::from_secs(600));
        let file = fresh.open(&root, at, b"/e/whole", OpenFlags::READ, 0).unwrap();
        server.ask("PUT", "e/whole", &[], &vec![b'z'; 600_000]);
        assert_eq!(file.read_at(0, &mut part).unwrap_err().errno, Errno::STALE);
    });
}

/// A17: what was noted while the answer was lost is noted once, and is no failure.
#[test]
fn an_answer_is_lost_that_something_is_noted() {
    on_a_container("an_answer_is_lost_that_something_is_noted", |server| {
        let faults = Faults::default();
        let (between, to) = (faults.clone(), server.address.clone());
        let endpoint = server::serve(move |request| {
            between.answer(request, &|request| server::forward(&to, request).unwrap())
        });
        let (root, at) = (Caller::root(), At::Root);
        let files = notes::of(backend(&endpoint), true, Duration::ZERO);
        files.write_file(&root, b"/file", b"contents").unwrap();
        faults.set(Fault::LostAnswer, "PUT", 1);
        files.set_mode(&root, at, b"/file", 0o600).unwrap();
        put_in_parts(server, "parts", b"contents");
        faults.set(Fault::LostAnswer, "PUT", 1);
        files.set_mode(&root, at, b"/parts", 0o640).unwrap();
        assert_eq!(text(&files, "/parts"), b"contents");
        faults.set(Fault::LostAnswer, "PUT", 1);
        files.rename(&root, (at, b"/file"), (at, b"/other"), Replace::Yes).unwrap();
        faults.clear();
        let files = opened(server, false);
        assert_eq!(
            (stat(&files, "/other").mode, text(&files, "/other")),
            (0o600, b"contents".to_vec())
        );
    });
}
