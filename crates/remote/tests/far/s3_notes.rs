//! A13, A18: what is noted in a bucket.

use remote::Backend;

use crate::notes::{self, Store};
use crate::s3::{backend, is_with_credentials};
use crate::s3_server::{Server, make_bucket, start};
use crate::server::{self, Reply, Request};

impl Store for Server {
    const METADATA: &'static str = "x-amz-meta-";
    const NAMES: &'static str = "x-amz-meta-stockade-names";
    const XATTR: usize = 1000;

    fn backend(&self) -> Box<dyn Backend> {
        backend(&format!("http://{}", self.address))
    }

    fn ask(&self, method: &str, key: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut all = vec![("host".into(), "localhost".into())];
        // The server wants a signature, and does not look at it.
        all.push(("authorization".into(), SIGNED.into()));
        all.push(("content-length".into(), body.len().to_string()));
        all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let path = format!("/bucket/some/where/{key}");
        let request = Request { method: method.into(), path, headers: all, body: body.to_vec() };
        let reply = server::forward(&self.address, &request).unwrap();
        assert_eq!(reply.status, 200, "{method} {key}");
        reply
    }
}

/// Runs a test of this file on a bucket.
fn on_a_bucket(name: &str, test: fn(&Server)) {
    if !is_with_credentials(&format!("s3_notes::{name}")) {
        return;
    }
    let Some(server) = start() else { return };
    make_bucket(&server);
    test(&server);
}

#[test]
fn what_is_noted_is_there_for_the_next() {
    on_a_bucket("what_is_noted_is_there_for_the_next", notes::what_is_noted_is_there_for_the_next);
}

#[test]
fn names_of_one_file() {
    on_a_bucket("names_of_one_file", notes::names_of_one_file);
}

#[test]
fn what_others_wrote_stays_theirs() {
    on_a_bucket("what_others_wrote_stays_theirs", notes::what_others_wrote_stays_theirs);
}

#[test]
fn what_is_forged_is_nothing() {
    on_a_bucket("what_is_forged_is_nothing", notes::what_is_forged_is_nothing);
}

const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=key-id/20261118/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
