//! A14: a server that speaks Google Drive's interface.

use remote::{Backend, Drive, DrivePlace, DriveToken, Secret};

use crate::behaviour;
use crate::drive_server;
use crate::s3::is_with_credentials;

fn backend(endpoint: &str) -> Box<dyn Backend> {
    let secret = |name: &str| Secret::Variable(name.into());
    let place = DrivePlace {
        endpoint: endpoint.to_owned(),
        token_endpoint: format!("{endpoint}/token"),
        folder: "root".into(),
        token: DriveToken::Refresh {
            client_id: secret("STOCKADE_TEST_KEY_ID"),
            client_secret: secret("STOCKADE_TEST_KEY_ID"),
            refresh_token: secret("STOCKADE_TEST_KEY"),
        },
    };
    Box::new(Drive::new(place, behaviour::http()).unwrap())
}

#[test]
fn files_on_a_drive() {
    if !is_with_credentials("drive::files_on_a_drive") {
        return;
    }
    let (endpoint, _) = drive_server::start();
    behaviour::files(&|| backend(&endpoint));
}

/// A14, A17: every fault between here and there.
#[test]
fn a_drive_behind_faults() {
    if !is_with_credentials("drive::a_drive_behind_faults") {
        return;
    }
    let (endpoint, faults) = drive_server::start();
    behaviour::faults(&|| backend(&endpoint), &faults, "PATCH");
}
