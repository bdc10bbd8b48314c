//! Services of the operator as tools of an agent that we run: it is outside of the cage anyway, and asks by itself. The calls
//! are on record as those of every tool are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use advice::Failure;
use agent::{During, Elsewhere, Ran};
use cage::Kind;
use cage::state::Locations;
use model::{Cancel, ToolSpec};
use serde_json::{Map, Value, json};

use super::{Services, command};

/// The services that an agent was given.
#[derive(Debug)]
pub(crate) struct ServiceTools {
    services: Services,
    specs: Vec<ToolSpec>,
    calls: AtomicU64,
}

impl ServiceTools {
    /// Those of some names; none of them may be called as a tool is.
    pub(crate) fn of(names: &[String], locations: &Locations) -> Result<Self, Failure> {
        let taken = |name: &&String| {
            tools::NAMES.contains(&name.as_str()) || RESERVED.contains(&name.as_str())
        };
        if let Some(name) = names.iter().find(taken) {
            return Err(Failure::new(Kind::Usage, format!("`{name}` is a tool, and no service")));
        }
        let services = Services::of_this_process(names, locations)?;
        let spec = |(name, service): (&String, &super::Service)| ToolSpec {
            name: name.clone(),
            description: service.doc.clone(),
            schema: json!({
                "type": "object",
                "properties": { "question": { "type": "string", "description": "What the service is asked." } },
                "required": ["question"],
                "additionalProperties": false,
            }),
        };
        let specs = services.iter().map(spec).collect();
        Ok(Self { services, specs, calls: AtomicU64::new(0) })
    }

    fn answer(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<String, String> {
        let service = self.services.get(tool).ok_or("there is no such service")?;
        let question = arguments.get("question").and_then(Value::as_str);
        let question = question.ok_or("`question` is a text, and all that it takes")?;
        if arguments.len() > 1 {
            return Err("`question` is all that it takes".to_owned());
        }
        if self.calls.fetch_add(1, Ordering::Relaxed) >= service.calls {
            return Err(format!("it was asked {} times, which is the most", service.calls));
        }
        let time = service.time.min(limit);
        let until = Instant::now() + time;
        let is_unwanted = || cancel.is_cancelled() || Instant::now() >= until;
        let answer = service.ask(question.as_bytes(), cancel, &|words| {
            command::run(words, question.as_bytes(), time, &is_unwanted)
        })?;
        let text = String::from_utf8_lossy(&answer);
        let mut shown: String = text.chars().take(MOST_SHOWN).collect();
        if shown.len() < text.len() {
            shown.push_str("\n[the answer is longer, and was cut here]");
        }
        Ok(shown)
    }
}

impl Elsewhere for ServiceTools {
    fn tools(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn call(&self, tool: &str, arguments: &Map<String, Value>, during: &During<'_>) -> Ran {
        match self.answer(tool, arguments, during.limit, during.cancel) {
            Ok(text) => Ran { text, is_error: false },
            Err(why) => Ran::failed(format!("error: {why}")),
        }
    }
}

/// Tools that are not in the table of all.
const RESERVED: &[&str] = &["ask", crate::spawn::SPAWN];
const MOST_SHOWN: usize = 30_000;
