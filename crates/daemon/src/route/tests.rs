//! Every route is found by its own path, and nothing else is; the document has the same routes.

use std::collections::BTreeSet;

use hyper::Method;
use serde_json::Value;

use super::{Operation, ROUTES, find};
use crate::problem::Code;

#[test]
fn every_route_is_found() {
    for route in &ROUTES {
        let path = route.path.replace("{}", "one%2Fsegment");
        let found = find(&route.method, &path).unwrap();
        assert_eq!(found.operation, route.operation, "{path}");
        assert_eq!(found.segments.len(), route.path.matches("{}").count());
        assert!(found.segments.iter().all(|segment| segment == "one/segment"));
    }
}

/// T52
#[test]
fn other_paths_and_methods_are_refused() {
    let table = [
        (Method::GET, "/", Code::NotFound),
        (Method::GET, "/v1", Code::NotFound),
        (Method::GET, "/v1/health/", Code::NotFound),
        (Method::GET, "/v2/health", Code::NotFound),
        (Method::GET, "/v1/cages//wait", Code::NotFound),
        (Method::GET, "/v1/cages/a/b/c/d", Code::NotFound),
        (Method::POST, "/v1/health", Code::MethodNotAllowed),
        (Method::HEAD, "/v1/health", Code::MethodNotAllowed),
        (Method::GET, "/v1/cages/%ff", Code::BadRequest),
    ];
    for (method, path, code) in table {
        assert_eq!(find(&method, path).unwrap_err().code, code, "{method} {path}");
    }
    let refused = find(&Method::PUT, "/v1/cages").unwrap_err();
    assert_eq!(refused.help, ["there is: POST, GET"]);
    assert_eq!(find(&Method::GET, "/v1/cages").unwrap().operation, Operation::ListCages);
}

/// The document names every route and no other.
#[test]
fn the_document_has_the_same_routes() {
    let document: Value = serde_json::from_str(crate::DOCUMENT).unwrap();
    let mut documented = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap().to_owned();
            documented.insert((method.to_uppercase(), path.clone(), name));
        }
    }
    let name = |operation: Operation| {
        let name = format!("{operation:?}");
        format!("{}{}", name[..1].to_lowercase(), &name[1..])
    };
    let known = ROUTES
        .iter()
        .map(|route| (route.method.to_string(), route.path.to_owned(), name(route.operation)));
    assert_eq!(known.collect::<BTreeSet<_>>(), documented);
}

/// Every code that a problem can have is in the document, and no other.
#[test]
fn the_document_has_the_same_codes() {
    let document: Value = serde_json::from_str(crate::DOCUMENT).unwrap();
    let listed = &document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"];
    // Of the kinds of a failed start three have words of HTTP's own.
    let of_http = [cage::Kind::Usage, cage::Kind::Duplicate, cage::Kind::Closing];
    let kinds = cage::Kind::ALL.into_iter().filter(|kind| !of_http.contains(kind));
    let codes = Code::ALL.into_iter().chain(kinds.map(Code::Start));
    let known: Vec<Value> = codes.map(|code| Value::from(code.word())).collect();
    assert_eq!(listed, &Value::Array(known));
}
