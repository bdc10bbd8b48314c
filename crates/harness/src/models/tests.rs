//! What the operator's file of models means, beside the variables that agents know.

use std::collections::BTreeMap;

use model::service::ServerTools;
use model::{KeySource, Protocol};

use super::Models;

fn read(text: Option<&str>, environment: &[(&'static str, &str)]) -> Result<Models, String> {
    let environment: BTreeMap<&str, String> =
        environment.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Models::read(text, &environment)
}

fn urls(models: &Models) -> Vec<String> {
    models.providers.iter().map(|provider| provider.url.to_string()).collect()
}

/// V31: without a file the variables say it; the file wins over them, and names where keys are.
#[test]
fn providers_come_from_the_file_or_from_variables() {
    assert_eq!(read(None, &[]), Ok(Models::default()));
    let key = ("ANTHROPIC_API_KEY", "sk-1");
    let models = read(None, &[key, ("OPENAI_BASE_URL", "http://127.0.0.1:1")]).unwrap();
    assert_eq!(urls(&models), ["https://api.anthropic.com"]);
    let base = ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8080");
    assert_eq!(urls(&read(None, &[key, base]).unwrap()), ["http://127.0.0.1:8080"]);
    let text = "calls = 5\n[anthropic]\nurl = \"https://proxy.example\"\nkey = \"file:/k\"\n\
                [openai]\nurl = \"http://127.0.0.1:11434\"\nkey = \"none\"\n";
    let models = read(Some(text), &[key, base]).unwrap();
    assert_eq!(urls(&models), ["https://proxy.example", "http://127.0.0.1:11434"]);
    let [anthropic, openai] = &*models.providers else { panic!("{models:?}") };
    assert_eq!(anthropic.key, Some(KeySource::File("/k".into())));
    assert_eq!((openai.protocol, &openai.key), (Protocol::Responses, &None));
    assert_eq!(models.bounds().calls, Some(5));
    assert_eq!(models.bounds().server_tools, ServerTools::Refused);
    let allowed = read(Some("server_tools = true\n"), &[key]).unwrap();
    assert_eq!(allowed.bounds().server_tools, ServerTools::Allowed);
}

#[test]
fn what_makes_no_sense_is_refused_where_it_stands() {
    let refused = |text| read(Some(text), &[]).unwrap_err();
    assert!(refused("[antropic]\n").contains("antropic"), "{}", refused("[antropic]\n"));
    let no_url = refused("[openai]\nurl = \"ftp://x\"\n");
    assert!(no_url.contains("[openai]"), "{no_url}");
    // A key that stands where its place should is not printed.
    let key = refused("[openai]\nkey = \"sk-very-secret-key\"\n");
    assert!(key.contains("env:NAME") && !key.contains("secret"), "{key}");
}
