//! Files that are calls: a file is opened, what is asked is written into it, and the answer is read from it. An engine of
//! the virtual file system, so that FUSE, 9P and guests have such files with no code of their own.
//!
//! - [`CallFs`] is the engine; it serves any [`Tree`].
//! - [`Toolbox`] is the tree of tools: `tools`, `help`, `NAME/{run,doc,schema}`.
//! - [`ServiceFiles`] is the tree of one other service: `ask` and `doc`.
//! - [`Models`] is the tree of models: `new`, `models`, `N/{ask,stream,model,…}`.
//!
//! Runs no tool and asks no model by itself: whoever makes a tree says who does that, and with whose authority.
#![forbid(unsafe_code)]

mod answer;
mod engine;
mod llm;
mod service;
mod toolbox;
mod tree;

pub use answer::{Answer, Answers, CallFile};
pub use engine::CallFs;
pub use llm::{Asked, Models, Speaks};
pub use service::{AsksService, ServiceFiles};
pub use toolbox::{RunsTools, Toolbox};
pub use tree::{Joined, Node, Opened, Stream, Tree};
