//! What is recorded of agents: questions to models and calls of tools. They come first in the one list of all events,
//! which the other file has the rest of. Holds no text of a conversation: what was said is there by its hash.

/// Declares the events of agents, and those that follow.
macro_rules! declare_events_with_agents {
    ($($rest:tt)*) => {
        $crate::schema::declare_events! {
            /// a model is about to be asked for an agent or a program in a cage
            "model.call" ModelCall {
                /// the start of its cage
                invocation_id: Name,
                /// counted from one for each start
                call: u64,
                /// the model, as it was asked for
                model: Text,
                /// how many bytes the request has
                bytes: u64,
                /// their SHA-256
                sha256: Name,
            }
            /// a model has answered, or not
            "model.answer" ModelAnswer {
                /// the start of its cage
                invocation_id: Name,
                /// as in `model.call`
                call: u64,
                /// why there was no whole answer; null where there was one
                failure: Option<Text>,
                /// how many bytes the answer has
                bytes: u64,
                /// their SHA-256
                sha256: Name,
                /// tokens that were read, from the provider's cache too
                tokens_in: u64,
                /// tokens that were written
                tokens_out: u64,
                /// millionths of a dollar; 0 where no prices are configured
                cost_micros: u64,
            }
            /// a model calls a tool, or a client one of a wrapped server
            "tool.call" ToolCall {
                /// the start of the cage that the tool runs in
                invocation_id: Name,
                /// counted from one for each start
                call: u64,
                /// the call whose tool makes this one; 0 where no tool does
                within: u64,
                /// the tool
                tool: Name,
                /// how many bytes its arguments have
                bytes: u64,
                /// their SHA-256
                sha256: Name,
            }
            /// the call has ended
            "tool.result" ToolResult {
                /// the start of the cage that the tool runs in
                invocation_id: Name,
                /// as in `tool.call`
                call: u64,
                /// whether it failed
                failed: bool,
                /// how many bytes the result has
                bytes: u64,
                /// their SHA-256
                sha256: Name,
            }
            /// an agent has begun a child, which has at most what it has itself; durable before the child does anything
            "agent.spawn" AgentSpawn {
                /// the child, by which its questions and calls are on record
                invocation_id: Name,
                /// the start or the child that it belongs to
                parent_id: Name,
                /// levels below the agent that a person started
                depth: u64,
                /// its tools
                tools: LongText,
                /// its paths, and whether it has its cage's network
                grants: LongText,
                /// the SHA-256 of its task
                sha256: Name,
            }
            /// a child has ended
            "agent.exit" AgentExit {
                /// the child
                invocation_id: Name,
                /// how: `finished`, or what kept it from that
                outcome: Name,
                /// answers of the model that it took
                steps: u64,
                /// tokens that were read
                tokens_in: u64,
                /// tokens that were written
                tokens_out: u64,
            }
            $($rest)*
        }
    };
}
pub(crate) use declare_events_with_agents;
