//! A13: files in a bucket of a real S3 server.

use std::process::Command;

use remote::{Backend, S3, S3Place, Secret};

use crate::behaviour::{self, SECRET};
use crate::faults::Faults;
use crate::s3_server::{Server, make_bucket, start};
use crate::server;

/// Behind a proxy with faults; the bucket is there.
fn behind_faults(server: &Server) -> (String, Faults) {
    let faults = Faults::default();
    let (between, to) = (faults.clone(), server.address.clone());
    let address = server::serve(move |request| {
        between.answer(request, &|request| server::forward(&to, request).unwrap())
    });
    make_bucket(server);
    (address, faults)
}

pub(crate) fn backend(endpoint: &str) -> Box<dyn Backend> {
    let place = S3Place {
        endpoint: endpoint.to_owned(),
        region: "us-east-1".into(),
        bucket: "bucket".into(),
        prefix: "some/where".into(),
        key_id: Secret::Variable("STOCKADE_TEST_KEY_ID".into()),
        key: Secret::Variable("STOCKADE_TEST_KEY".into()),
        token: None,
    };
    Box::new(S3::new(place, behaviour::http()).unwrap())
}

/// Runs a test again in a process that has the credentials in its environment. Returns whether this is that one.
pub(crate) fn is_with_credentials(test: &str) -> bool {
    if std::env::var_os("STOCKADE_TEST_KEY").is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env("STOCKADE_TEST_KEY_ID", "key-id");
    command.env("STOCKADE_TEST_AZURE_KEY", crate::azure_server::KEY);
    assert!(command.env("STOCKADE_TEST_KEY", SECRET).status().unwrap().success(), "{test}");
    false
}

#[test]
fn files_in_a_bucket() {
    if !is_with_credentials("s3::files_in_a_bucket") {
        return;
    }
    let Some(server) = start() else { return };
    let (endpoint, _) = behind_faults(&server);
    behaviour::files(&|| backend(&endpoint));
}

/// A13, A17: every fault between here and there.
#[test]
fn a_bucket_behind_faults() {
    if !is_with_credentials("s3::a_bucket_behind_faults") {
        return;
    }
    let Some(server) = start() else { return };
    let (endpoint, faults) = behind_faults(&server);
    behaviour::faults(&|| backend(&endpoint), &faults, "PUT");
}

/// A17: nothing goes in the clear to another machine.
#[test]
fn credentials_are_not_sent_in_the_clear() {
    let place = |endpoint: &str| S3Place {
        endpoint: endpoint.into(),
        region: "r".into(),
        bucket: "b".into(),
        prefix: String::new(),
        key_id: Secret::Variable("NONE".into()),
        key: Secret::Variable("NONE".into()),
        token: None,
    };
    for (endpoint, is_fine) in [
        ("https://s3.example", true),
        ("http://127.0.0.1:9000/", true),
        ("http://s3.example", false),
        ("http://127.0.0.1.example", false),
        ("ftp://s3.example", false),
        ("s3.example", false),
    ] {
        assert_eq!(S3::new(place(endpoint), behaviour::http()).is_ok(), is_fine, "{endpoint}");
    }
}
