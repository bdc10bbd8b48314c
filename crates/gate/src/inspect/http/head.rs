//! The fields of a head whose lines were collected and parsed: how they are walked, and which of them
//! are for the next hop alone. Never changes a field.

/// The fields of a head, each as its name and its whole line without the line end.
pub(super) fn fields(head: &[u8]) -> impl Iterator<Item = Field<'_>> {
    head.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
        let line = line.strip_suffix(b"\r")?;
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = line.split_at_checked(colon)?;
        Some(Field { name, value: value.get(1..)?.trim_ascii(), line })
    })
}

/// The first line without its end.
pub(super) fn first_line(head: &[u8]) -> &[u8] {
    head.split(|byte| *byte == b'\r').next().unwrap_or_default()
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) line: &'a [u8],
}

impl Field<'_> {
    /// Whether the field has this name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    fn is_one_of(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is(name))
    }

    fn begins_with(&self, prefix: &str) -> bool {
        let front = self.name.get(..prefix.len());
        front.is_some_and(|front| front.eq_ignore_ascii_case(prefix.as_bytes()))
    }
}

/// The words of the fields of one name, which are lists.
pub(super) fn words<'a>(head: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    fields(head)
        .filter(move |field| field.is(name))
        .flat_map(|field| field.value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|word| !word.is_empty())
}

/// The fields that go on to the next hop: all but those that are for this one alone, which are some by
/// their name and others because `Connection` says so. `Transfer-Encoding` stays: bodies are passed on
/// as they are.
pub(super) fn end_to_end(head: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let named: Vec<&[u8]> = words(head, "connection").collect();
    fields(head).filter(move |field| {
        let is_named = named.iter().any(|word| word.eq_ignore_ascii_case(field.name));
        let own = field.is_one_of(&HOP_BY_HOP) || field.begins_with("proxy-");
        !own && (!is_named || field.is_one_of(&FRAMING))
    })
}

/// The fields that say where a message belongs and where it ends.
pub(super) const FRAMING: [&str; 3] = ["host", "content-length", "transfer-encoding"];

const HOP_BY_HOP: [&str; 5] = ["connection", "keep-alive", "te", "upgrade", "http2-settings"];
