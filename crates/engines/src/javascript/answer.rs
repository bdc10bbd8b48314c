//! What an operation gives back to JavaScript: a value, or the number of an error as a negative one, which the callers in
//! `js/` make into an exception.

use rquickjs::{ArrayBuffer, Ctx, IntoJs, Value};
use rustix::io::Errno;

/// A value for JavaScript.
#[derive(Debug)]
pub(super) enum Answer {
    /// `undefined`
    Nothing,
    /// Never negative.
    Number(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Self>),
}

/// What an operation comes to.
pub(super) type Outcome = Result<Answer, vfs::Error>;

/// An outcome on its way.
pub(super) struct Told(pub(super) Outcome);

impl<'js> IntoJs<'js> for Answer {
    fn into_js(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match self {
            Self::Nothing => Ok(Value::new_undefined(ctx.clone())),
            Self::Number(number) => number.into_js(ctx),
            Self::Text(text) => text.into_js(ctx),
            // A copy of the engine's own, so that it counts as the program's memory.
            Self::Bytes(bytes) => Ok(ArrayBuffer::new_copy(ctx.clone(), bytes)?.into_value()),
            Self::List(list) => list.into_js(ctx),
        }
    }
}

impl<'js> IntoJs<'js> for Told {
    fn into_js(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match self.0 {
            Ok(answer) => answer.into_js(ctx),
            Err(error) => (-error.errno.raw_os_error()).into_js(ctx),
        }
    }
}

/// A whole number as JavaScript has them.
#[expect(clippy::cast_precision_loss, reason = "beyond 2⁵³ a number is not exact in JavaScript")]
pub(super) const fn number(value: u64) -> Answer {
    Answer::Number(value as f64)
}

/// The bytes of a text whose characters are bytes: how bytes come from JavaScript without a view into its memory.
pub(super) fn bytes_of(text: &str, is_binary: bool) -> Result<Vec<u8>, Errno> {
    if !is_binary {
        return Ok(text.as_bytes().to_vec());
    }
    text.chars().map(|char| u8::try_from(u32::from(char)).map_err(|_| Errno::INVAL)).collect()
}
