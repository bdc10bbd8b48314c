//! Values and method calls as bytes, in little-endian order, as the specification's section on
//! marshalling has them. Pure.

#[cfg(test)]
pub(super) mod tests;

/// A method call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Who is asked; nobody by name on a connection without a bus.
    pub destination: Option<&'a str>,
    /// Which object.
    pub path: &'a str,
    /// Which of its interfaces.
    pub interface: &'a str,
    /// Which method.
    pub member: &'a str,
    /// The types of the arguments.
    pub signature: &'a str,
    /// The arguments.
    pub body: &'a [u8],
}

/// A value whose type goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `s`
    Text(String),
    /// `b`
    Flag(bool),
    /// `t`
    Number(u64),
    /// `au`
    Numbers(Vec<u32>),
}

impl Value {
    fn signature(&self) -> &'static str {
        match self {
            Self::Text(_) => "s",
            Self::Flag(_) => "b",
            Self::Number(_) => "t",
            Self::Numbers(_) => "au",
        }
    }
}

/// Bytes in the making. Alignment counts from the beginning, which every header and every body
/// has at a multiple of eight.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// `y`
    pub fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// `u`
    pub fn number(&mut self, value: u32) {
        self.align(4);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// `s`, and `o`, which has the same form.
    pub fn text(&mut self, value: &str) {
        self.number(length(value.len()));
        self.bytes.extend_from_slice(value.as_bytes());
        self.byte(0);
    }

    /// `g`
    pub fn signature(&mut self, value: &str) {
        self.byte(u8::try_from(value.len()).unwrap_or(u8::MAX));
        self.bytes.extend_from_slice(value.as_bytes());
        self.byte(0);
    }

    /// `a…`: the elements, each of which begins at a multiple of `alignment`.
    pub fn array(&mut self, alignment: usize, elements: impl FnOnce(&mut Self)) {
        self.number(0);
        let length_at = self.bytes.len().saturating_sub(4);
        // The padding before the first element does not count.
        self.align(alignment);
        let begin = self.bytes.len();
        elements(self);
        let written = length(self.bytes.len().saturating_sub(begin));
        for (place, byte) in self.bytes.iter_mut().skip(length_at).zip(written.to_le_bytes()) {
            *place = byte;
        }
    }

    /// `(…)`
    pub fn structure(&mut self, fields: impl FnOnce(&mut Self)) {
        self.align(8);
        fields(self);
    }

    /// `v`
    pub fn variant(&mut self, value: &Value) {
        self.signature(value.signature());
        match value {
            Value::Text(text) => self.text(text),
            Value::Flag(flag) => self.number(u32::from(*flag)),
            Value::Number(number) => {
                self.align(8);
                self.bytes.extend_from_slice(&number.to_le_bytes());
            }
            Value::Numbers(numbers) => self.array(4, |writer| {
                numbers.iter().for_each(|number| writer.number(*number));
            }),
        }
    }

    fn align(&mut self, alignment: usize) {
        while !self.bytes.len().is_multiple_of(alignment) {
            self.bytes.push(0);
        }
    }
}

/// A whole message.
pub fn encode(call: &Call<'_>, serial: u32) -> Vec<u8> {
    let mut writer = Writer::new();
    for byte in [LITTLE_ENDIAN, METHOD_CALL, NO_FLAGS, VERSION] {
        writer.byte(byte);
    }
    writer.number(length(call.body.len()));
    writer.number(serial);
    let text_fields = [
        (1, "o", Some(call.path)),
        (3, "s", Some(call.member)),
        (2, "s", Some(call.interface)),
        (6, "s", call.destination),
    ];
    writer.array(8, |writer| {
        for (code, signature, value) in text_fields {
            if let Some(value) = value {
                writer.structure(|writer| {
                    writer.byte(code);
                    writer.signature(signature);
                    writer.text(value);
                });
            }
        }
        if !call.signature.is_empty() {
            writer.structure(|writer| {
                writer.byte(8);
                writer.signature("g");
                writer.signature(call.signature);
            });
        }
    });
    writer.align(8);
    let mut bytes = writer.into_bytes();
    bytes.extend_from_slice(call.body);
    bytes
}

/// Nothing that we write is ever so long that this cuts anything.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

const LITTLE_ENDIAN: u8 = b'l';
const METHOD_CALL: u8 = 1;
const NO_FLAGS: u8 = 0;
const VERSION: u8 = 1;
