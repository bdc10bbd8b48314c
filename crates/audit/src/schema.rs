//! The schema of a record: every event, every field, what it means. Made from the list of events,
//! which the manual is held to as well.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::event::{EVENTS, USAGE};
use crate::text::{LongText, Name, Text};

/// An event of the schema.
#[derive(Clone, Copy, Debug)]
pub struct EventSchema {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// Its fields, in order.
    pub fields: &'static [FieldSchema],
}

/// A field of an event.
#[derive(Clone, Copy, Debug)]
pub struct FieldSchema {
    /// Its name.
    pub name: &'static str,
    /// What it can hold.
    pub kind: Kind,
    /// What it says.
    pub meaning: &'static str,
}

/// What a field can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An escaped text of at most 128 characters.
    Name,
    /// The same, or null.
    NameOrNull,
    /// An escaped text of at most 1,024 characters.
    Text,
    /// The same, or null.
    TextOrNull,
    /// An escaped text of at most 4,096 characters.
    LongText,
    /// A number from 0 on.
    Count,
    /// A number from 0 to 65,535.
    Port,
    /// A number.
    Number,
    /// The same, or null.
    NumberOrNull,
    /// True or false.
    Flag,
    /// An IPv4 or IPv6 address.
    Address,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An object of counts, each of which may be missing.
    Usage,
    /// A number from 0 on, or an escaped text of at most 128 characters.
    CountOrName,
    /// Several escaped texts of at most 1,024 characters each.
    Texts,
}

/// A type that can be the field of an event.
pub(crate) trait Described {
    const KIND: Kind;
}

/// Declares the type of all events, and the table of their schema beside it.
macro_rules! declare_events {
    ($(
        $(#[doc = $meaning:literal])+
        $name:literal $variant:ident {
            $($(#[doc = $about:literal])+ $field:ident: $type:ty,)*
        }
    )+) => {
        /// Something that happened.
        ///
        /// Built from what the supervisor knows; every text that somebody else chose goes through
        /// [`Bounded`](crate::Bounded), so that it cannot be anything else in the log than a text.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "event", deny_unknown_fields)]
        pub enum Event {
            $(
                $(#[doc = $meaning])+
                #[serde(rename = $name)]
                $variant {
                    $($(#[doc = $about])+ $field: $type,)*
                },
            )+
        }

        /// Every event, as the schema tells it.
        pub(crate) const EVENTS: &[$crate::schema::EventSchema] = &[$(
            $crate::schema::EventSchema {
                name: $name,
                meaning: concat!($($meaning),+).trim_ascii_start(),
                fields: &[$($crate::schema::FieldSchema {
                    name: stringify!($field),
                    kind: <$type as $crate::schema::Described>::KIND,
                    meaning: concat!($($about),+).trim_ascii_start(),
                },)*],
            },
        )+];
    };
}
pub(crate) use declare_events;

/// Declares a type whose values are words, and its kind in the schema.
macro_rules! declare_words {
    ($(#[$about:meta])+ $name:ident { $($(#[$meaning:meta])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$meaning])+ #[serde(rename = $word)] $variant,)+
        }

        impl Described for $name {
            const KIND: Kind = Kind::Word(&[$($word),+]);
        }
    };
}
pub(crate) use declare_words;

macro_rules! described {
    ($($type:ty => $kind:ident,)+) => {
        $(impl Described for $type {
            const KIND: Kind = Kind::$kind;
        })+
    };
}

described! {
    Name => Name,
    Option<Name> => NameOrNull,
    Text => Text,
    Option<Text> => TextOrNull,
    LongText => LongText,
    Vec<Text> => Texts,
    u64 => Count,
    u32 => Count,
    u16 => Port,
    i32 => Number,
    Option<i32> => NumberOrNull,
    bool => Flag,
    IpAddr => Address,
}

/// Every event.
pub fn events() -> &'static [EventSchema] {
    EVENTS
}

/// The JSON schema of one line of the log.
pub fn schema() -> Value {
    let events: Vec<Value> = EVENTS.iter().map(event_schema).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A record of stockade's log",
        "description": "One line of a file NNNNNN.jsonl. The hash is the SHA-256 of the line's bytes before `,\"hash\"`.",
        "type": "object",
        "oneOf": events,
    })
}

fn event_schema(event: &EventSchema) -> Value {
    let digits = |meaning: &str| json!({ "type": "string", "pattern": "^[0-9a-f]{64}$", "description": meaning });
    let mut properties = Map::new();
    let mut add = |name: &str, value: Value| properties.insert(name.to_owned(), value);
    add("v", json!({ "const": 1, "description": "The version of this schema." }));
    add("seq", json!({ "type": "integer", "minimum": 1, "description": "The record's number." }));
    add(
        "time",
        json!({
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$",
            "description": "When it was written, in UTC.",
        }),
    );
    add("prev", digits("The hash of the record before it; zeros in the first."));
    add("event", json!({ "const": event.name, "description": event.meaning }));
    for field in event.fields {
        let mut value = kind_schema(field.kind);
        if let Some(object) = value.as_object_mut() {
            object.insert("description".to_owned(), Value::from(field.meaning));
        }
        add(field.name, value);
    }
    add("hash", digits("The record's own hash."));
    let required: Vec<&String> = properties.keys().collect();
    json!({
        "title": event.name,
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn kind_schema(kind: Kind) -> Value {
    // What was cut is marked with `\+` and a number, which the limit does not count.
    let text =
        |limit: u32| json!({ "type": "string", "maxLength": limit + 22, "pattern": "^[ -~]*$" });
    let or_null = |mut schema: Value| {
        if let Some(kind) = schema.get_mut("type") {
            *kind = json!([kind.clone(), "null"]);
        }
        schema
    };
    match kind {
        Kind::Name => text(128),
        Kind::NameOrNull => or_null(text(128)),
        Kind::Text => text(1024),
        Kind::TextOrNull => or_null(text(1024)),
        Kind::LongText => text(4096),
        Kind::Count => json!({ "type": "integer", "minimum": 0 }),
        Kind::Port => json!({ "type": "integer", "minimum": 0, "maximum": 65535 }),
        Kind::Number => json!({ "type": "integer" }),
        Kind::NumberOrNull => or_null(json!({ "type": "integer" })),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Address => json!({ "type": "string", "pattern": "^[0-9a-f.:]+$" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Usage => {
            let count = json!({ "type": "integer", "minimum": 0 });
            let counts: Map<String, Value> =
                USAGE.iter().map(|name| ((*name).to_owned(), count.clone())).collect();
            json!({ "type": "object", "properties": counts, "additionalProperties": false })
        }
        Kind::Texts => json!({ "type": "array", "items": text(1024) }),
        Kind::CountOrName => json!({
            "type": ["integer", "string"], "minimum": 0, "maxLength": 150, "pattern": "^[ -~]*$"
        }),
    }
}
