//! Refuses an object that gives a name twice, or null as its value. JSON leaves open which of two counts,
//! so a rule that stands in front of another of its name would be a rule that is not there; and so would
//! be a limit of which a client thought that it had one. Keeps nothing of what it reads.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Any JSON in which no object gives a name twice, and nothing is null.
#[derive(PartialEq, Eq)]
pub(super) enum Unique {
    /// Null itself.
    Null,
    /// Anything else.
    Something,
}

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Unique;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if map.next_value::<Unique>()? == Unique::Null {
                return Err(A::Error::custom(format_args!("`{name}` is null: leave it out")));
            }
            if let Some(twice) = names.replace(name) {
                return Err(A::Error::custom(format_args!("`{twice}` is given twice")));
            }
        }
        Ok(Unique::Something)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
        while let Some(element) = list.next_element::<Unique>()? {
            if element == Unique::Null {
                return Err(A::Error::custom("there is null in a list"));
            }
        }
        Ok(Unique::Something)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique::Something)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique::Something)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique::Something)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique::Something)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique::Something)
    }

    fn visit_unit<E: Error>(self) -> Result<Unique, E> {
        Ok(Unique::Null)
    }
}
