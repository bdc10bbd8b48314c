//! The models that a provider has, by name. Asks once, and reads no more than a list takes.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{ANTHROPIC_VERSION, Client, read_head, said};
use crate::cancel::Cancel;
use crate::connection::{Connection, Patience};
use crate::error::ModelError;
use crate::protocol::{Protocol, StreamError};

impl Client {
    /// The names of the provider's models.
    ///
    /// # Errors
    /// If it does not say.
    pub fn models(&self, cancel: &Cancel) -> Result<Vec<String>, ModelError> {
        let until = Instant::now() + LONGEST;
        let patience = Patience { cancel, silence: LONGEST, until, whole: LONGEST };
        let mut connection = Connection::open(&self.endpoint.url, patience)?;
        let mut fields: Vec<(&str, &[u8])> = vec![("accept", b"application/json")];
        if self.endpoint.protocol == Protocol::Anthropic {
            fields.push(("anthropic-version", ANTHROPIC_VERSION));
        }
        let head = self.endpoint.head("GET", "/v1/models", &fields, None);
        connection.write_all(&head, patience)?;
        drop(head);
        let (head, rest) = read_head(&mut connection, patience)?;
        let (mut body, mut content, mut taken) = (head.body()?, Vec::new(), rest);
        let mut buffer = vec![0; 16 << 10];
        loop {
            body.feed(&taken, &mut content)?;
            if body.is_done() || content.len() > MOST_BYTES {
                break;
            }
            let count = connection.read(&mut buffer, patience)?;
            if count == 0 {
                break;
            }
            taken.clear();
            taken.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
        if head.status != 200 {
            let message = said(&content, self.endpoint.key.as_ref());
            let (status, retry_after) = (head.status, None);
            return Err(ModelError::Status { status, message, retry_after, is_final: true });
        }
        let list: Value = serde_json::from_slice(&content)
            .map_err(|_| StreamError::Sense("the list of models is no JSON"))?;
        let models = list.get("data").and_then(Value::as_array).into_iter().flatten();
        let plain = |name: &&str| !name.is_empty() && !name.chars().any(char::is_control);
        let names = models.filter_map(|model| model.get("id")?.as_str()).filter(plain);
        Ok(names.take(MOST_MODELS).map(|name| name.chars().take(MOST_NAME).collect()).collect())
    }
}

const LONGEST: Duration = Duration::from_secs(30);
const MOST_BYTES: usize = 1 << 20;
const MOST_MODELS: usize = 1000;
const MOST_NAME: usize = 200;
