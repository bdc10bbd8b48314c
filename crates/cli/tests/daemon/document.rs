//! Answers held to the OpenAPI document: the status must be documented for the operation, and a body
//! of JSON must have the documented shape.

use serde_json::{Value, json};

/// The daemon's description of itself.
pub(crate) struct Document(Value);

impl Document {
    pub(crate) fn parse(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap())
    }

    /// Panics unless an answer is one that the document promises.
    #[track_caller]
    pub(crate) fn check(&self, method: &str, path: &str, status: u16, body: &str) {
        let Some(operation) = self.operation(method, path) else {
            assert!(matches!(status, 404 | 405), "undocumented {method} {path}: {status} {body}");
            return self.check_problem(body);
        };
        let responses = &operation["responses"];
        let response = self.resolved(&responses[status.to_string()]);
        assert!(!response.is_null(), "{method} {path} has no documented {status}: {body}");
        let schema = &response["content"]["application/json"]["schema"];
        if !schema.is_null() {
            self.check_schema(schema, body, &format!("{method} {path} {status}"));
        }
    }

    #[track_caller]
    pub(crate) fn check_problem(&self, body: &str) {
        let schema = json!({ "$ref": "#/components/schemas/Problem" });
        self.check_schema(&schema, body, "a problem");
    }

    #[track_caller]
    fn check_schema(&self, schema: &Value, body: &str, what: &str) {
        let value: Value = serde_json::from_str(body).unwrap_or_else(|error| {
            panic!("{what}: not JSON: {error}: {body}");
        });
        let mut schema = schema.clone();
        schema["components"] = self.0["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{what}: {errors:#?}\n{value:#}");
    }

    fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let path = path.split('?').next().unwrap();
        let is_meant = |template: &str| {
            let (template, path): (Vec<_>, Vec<_>) =
                (template.split('/').collect(), path.split('/').collect());
            template.len() == path.len()
                && template.iter().zip(path).all(|(expected, part)| {
                    expected == &part || (expected.starts_with('{') && !part.is_empty())
                })
        };
        let paths = self.0["paths"].as_object().unwrap();
        let (_, methods) = paths.iter().find(|(template, _)| is_meant(template))?;
        methods.get(method.to_lowercase())
    }

    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.0.pointer(reference.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }
}

/// The document is OpenAPI as far as a small reader can tell: every reference leads somewhere, and
/// every parameter of a path is declared.
#[test]
fn the_document_holds_together() {
    let document: Value = serde_json::from_str(daemon::DOCUMENT).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    check_references(&document, &document);
    for (path, methods) in document["paths"].as_object().unwrap() {
        let named: Vec<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        for (method, operation) in methods.as_object().unwrap() {
            let declared = operation["parameters"].as_array().into_iter().flatten();
            let declared: Vec<&str> = declared
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            assert_eq!(declared, named, "{method} {path}");
            assert!(operation["summary"].is_string(), "{method} {path}");
        }
    }
}

fn check_references(document: &Value, value: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                let target = document.pointer(reference.trim_start_matches('#'));
                assert!(target.is_some(), "{reference} leads nowhere");
            }
            fields.values().for_each(|field| check_references(document, field));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(document, item)),
        _ => {}
    }
}
