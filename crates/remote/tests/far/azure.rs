//! A13: files in a container of a real server of Azure's store.

use remote::{Azure, AzurePlace, Backend, Secret};

use crate::azure_server::{Server, start};
use crate::behaviour;
use crate::faults::Faults;
use crate::s3::is_with_credentials;
use crate::server;

fn behind_faults(server: &Server) -> (String, Faults) {
    let faults = Faults::default();
    let (between, to) = (faults.clone(), server.address.clone());
    let address = server::serve(move |request| {
        between.answer(request, &|request| server::forward(&to, request).unwrap())
    });
    (address, faults)
}

pub(crate) fn backend(endpoint: &str) -> Box<dyn Backend> {
    let place = AzurePlace {
        endpoint: format!("{endpoint}/account"),
        account: "account".into(),
        container: "container".into(),
        prefix: "some/where".into(),
        key: Secret::Variable("STOCKADE_TEST_AZURE_KEY".into()),
    };
    Box::new(Azure::new(place, behaviour::http()).unwrap())
}

#[test]
fn files_in_a_container() {
    if !is_with_credentials("azure::files_in_a_container") {
        return;
    }
    let Some(server) = start() else { return };
    let (endpoint, _) = behind_faults(&server);
    behaviour::files(&|| backend(&endpoint));
}

/// A13, A17: every fault between here and there.
#[test]
fn a_container_behind_faults() {
    if !is_with_credentials("azure::a_container_behind_faults") {
        return;
    }
    let Some(server) = start() else { return };
    let (endpoint, faults) = behind_faults(&server);
    behaviour::faults(&|| backend(&endpoint), &faults, "PUT");
}
