//! The agent: asks a model, runs the tools that it calls, and goes on until the task is done or a budget is used up.
//!
//! It runs outside of the cage, and its [`Hands`] inside: every tool call goes to a worker in a cage, over a pipe. What
//! comes back is the cage's word. It keeps a [`Transcript`] from which it can go on, and reports each event to whoever
//! watches. Never touches a file of the project, never starts a program, and never has more of a key than the model's
//! client does.
#![forbid(unsafe_code)]

mod budget;
mod compact;
mod elsewhere;
mod event;
mod hands;
mod inner;
mod prompts;
mod run;
mod stuck;
mod transcript;

pub use budget::{Budgets, Exhausted, Purse, Spent};
pub use elsewhere::{During, Elsewhere};
pub use event::{CallId, Event, Outcome, Watch};
pub use hands::{FromChild, Hands, HandsError, Ran, ToChild};
pub use inner::CallsTools;
pub use prompts::{PromptError, Prompts, View};
pub use run::{Agent, Settings};
pub use transcript::{Line, Transcript, TranscriptError};
