//! Certificates that programs are told to trust by variables, such as those of a company's own
//! authority. A file with a private key is not shown.

use plan::HostPath;

use crate::draft::{Draft, Word};
use crate::host::{Host, path};

/// Passes the variables on and shows what they name.
pub(super) fn add(draft: &mut Draft, host: &Host) {
    for variable in VARIABLES {
        let Some(value) = host.variable(variable) else { continue };
        let places: Vec<_> = value.split(':').filter_map(path).collect();
        if places.is_empty() || !places.iter().all(|place| show(draft, host, place)) {
            draft.left_out(format!(
                "`{variable}`: what it names is not there, or holds a private key"
            ));
            continue;
        }
        draft.pass(host, WHY, variable);
    }
}

/// Shows what a setting names, if it is to be shown.
pub(super) fn show_named(draft: &mut Draft, host: &Host, value: &str) {
    if let Some(place) = path(value)
        && !show(draft, host, &place)
    {
        draft.left_out(format!("`{place}`: it is not there, or holds a private key"));
    }
}

/// Shows one file or directory of certificates. Says whether the program can read it.
fn show(draft: &mut Draft, host: &Host, place: &HostPath) -> bool {
    let is_in_base = BASE.iter().any(|base| {
        let rest = place.as_bytes().strip_prefix(base.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    });
    if is_in_base || place.is_within(&host.project) || draft.shows(place) {
        return true;
    }
    let is_file = host.is_file(place);
    let has_key = is_file && host.text(place).is_none_or(|text| text.contains("PRIVATE KEY"));
    if has_key || !(is_file || host.is_directory(place)) || host.is_broad(place) {
        return false;
    }
    draft.path(host, WHY, Word::Read, place);
    draft.shows(place)
}

const WHY: &str = "Certificates that your programs trust";

/// What the base layer of every cage shows.
const BASE: &[&str] = &["/usr", "/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki"];

const VARIABLES: &[&str] = &[
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "npm_config_cafile",
];
