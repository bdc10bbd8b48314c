//! The table of events and fields. What it says is what a reader of the log may rely on.

use super::{EventSchema, FieldSchema, Kind};

const fn field(name: &'static str, kind: Kind, meaning: &'static str) -> FieldSchema {
    FieldSchema { name, kind, meaning }
}

/// The counts of a program's usage.
pub const USAGE: &[(&str, &str)] = &[
    ("memory_peak", "the most memory at once, in bytes"),
    ("memory_limit", "how much it might have had, in bytes"),
    ("oom_kills", "processes that were killed for want of memory"),
    ("pids_refused", "processes and threads that were refused"),
    ("cpu_us", "processor time, in microseconds"),
    ("throttled_us", "how long it waited because it had used its share, in microseconds"),
];

const REASONS: Kind = Kind::Word(&[
    "exited",
    "signalled",
    "walltime_exceeded",
    "oom",
    "seccomp",
    "session_ended",
    "cancelled",
    "supervisor_lost",
]);

const INVOCATION: FieldSchema = field("invocation_id", Kind::Name, "the start");
const PROJECT: FieldSchema = field("project_id", Kind::Text, "the project");
const SESSION: FieldSchema =
    field("session_id", Kind::NameOrNull, "the session, if it belongs to one");
const AGENT: FieldSchema =
    field("subagent_name", Kind::NameOrNull, "the agent of the policy file, if one was named");
const ERROR_CODE: FieldSchema =
    field("error_code", Kind::Name, "what kind of error, in its stable word");
const DETAILS: FieldSchema = field("details", Kind::Text, "what is wrong, in a sentence");
const HOSTNAME: FieldSchema = field("hostname", Kind::Text, "the name");
const TARGET: FieldSchema = field("target", Kind::Text, "the name or address");
const PORT: FieldSchema = field("port", Kind::Port, "the port");
const REFUSING_RULE: FieldSchema =
    field("rule", Kind::TextOrNull, "the entry that refuses it, if it was one");
const CODE: FieldSchema =
    field("code", Kind::Name, "what kind of refusal it is, in its stable word");
const WHY: FieldSchema = field("reason", Kind::Text, "why");
const WAY: FieldSchema = field("way", Kind::Name, "how it came");
const PUBLIC_KEY: FieldSchema =
    field("public_key", Kind::Name, "the log's key, in hexadecimal digits");
const SIGNATURE: FieldSchema =
    field("signature", Kind::Name, "the key's signature of this record's number and `prev`");

/// Every event.
pub(super) const EVENTS: &[EventSchema] = &[
    EventSchema {
        name: "subagent.intent",
        meaning: "a program is about to be started; durable before its first instruction",
        fields: &[
            INVOCATION,
            PROJECT,
            SESSION,
            AGENT,
            field("cage", Kind::NameOrNull, "the cage's name; null outside of one"),
            field(
                "effective_cage_hash",
                Kind::NameOrNull,
                "the hash of the compiled cage; null outside of one",
            ),
            field("argv0", Kind::Text, "the program as it was asked for"),
            field("caged", Kind::Flag, "whether it is in a cage"),
        ],
    },
    EventSchema {
        name: "subagent.spawn",
        meaning: "a program was started in a cage",
        fields: &[
            INVOCATION,
            PROJECT,
            SESSION,
            AGENT,
            field("cage", Kind::Name, "the cage's name"),
            field(
                "cage_summary",
                Kind::LongText,
                "what the cage shows, reaches and may use, in one line",
            ),
            field("effective_cage_hash", Kind::Name, "the hash of the compiled cage"),
            field("pid", Kind::Count, "its first process, as the host counts"),
        ],
    },
    EventSchema {
        name: "subagent.spawn.uncaged",
        meaning: "a program was started without a cage",
        fields: &[
            INVOCATION,
            PROJECT,
            SESSION,
            AGENT,
            field(
                "reason",
                Kind::Word(&["dsl_disabled", "daemon_no_sandbox"]),
                "who said so: the policy, or the supervisor's `--no-sandbox`",
            ),
            field("pid", Kind::Count, "its process"),
        ],
    },
    EventSchema {
        name: "subagent.spawn.limits_skipped",
        meaning: "a cage was started without limits that its policy asks for, because that was allowed",
        fields: &[INVOCATION, WHY],
    },
    EventSchema {
        name: "subagent.spawn.failed",
        meaning: "a program was not started after all",
        fields: &[INVOCATION, ERROR_CODE, DETAILS],
    },
    EventSchema {
        name: "subagent.exit",
        meaning: "a program has ended, and nothing of its cage is left",
        fields: &[
            INVOCATION,
            field("exit_code", Kind::Number, "its status, as a shell tells it"),
            field("signal", Kind::NumberOrNull, "the signal that ended it, if one did"),
            field("reason", REASONS, "why it ended"),
            field("duration_ms", Kind::Count, "from its first instruction to its end"),
            field("usage", Kind::Usage, "what it used, as far as the kernel counted"),
        ],
    },
    EventSchema {
        name: "subagent.killed",
        meaning: "a program was ended by somebody else",
        fields: &[INVOCATION, field("reason", REASONS, "why")],
    },
    EventSchema {
        name: "gatekeeper.dns_allowed",
        meaning: "a name was answered",
        fields: &[
            INVOCATION,
            HOSTNAME,
            field("resolved_ip", Kind::Address, "the first address that it stands for outside"),
        ],
    },
    EventSchema {
        name: "gatekeeper.dns_denied",
        meaning: "a name was refused, and nobody was asked about it",
        fields: &[INVOCATION, HOSTNAME, REFUSING_RULE, CODE, WHY],
    },
    EventSchema {
        name: "gatekeeper.tcp_allowed",
        meaning: "a connection was made",
        fields: &[
            INVOCATION,
            TARGET,
            PORT,
            field("rule", Kind::Text, "the entry that allows it"),
            WAY,
        ],
    },
    EventSchema {
        name: "gatekeeper.tcp_denied",
        meaning: "a connection was refused",
        fields: &[INVOCATION, TARGET, PORT, REFUSING_RULE, CODE, WHY, WAY],
    },
    EventSchema {
        name: "gatekeeper.udp_denied",
        meaning: "a datagram was refused",
        fields: &[INVOCATION, field("target", Kind::Address, "the address"), PORT],
    },
    EventSchema {
        name: "gatekeeper.upstream_unreachable",
        meaning: "no resolver answered",
        fields: &[INVOCATION, field("error", Kind::Text, "what was tried and what came of it")],
    },
    EventSchema {
        name: "gatekeeper.account",
        meaning: "the network of a cage was taken down: what went through it, and what did not",
        fields: &[
            INVOCATION,
            field("dns_allowed", Kind::Count, "names answered"),
            field("dns_denied", Kind::Count, "names refused"),
            field("tcp_allowed", Kind::Count, "connections made"),
            field("tcp_denied", Kind::Count, "connections refused"),
            field("udp_denied", Kind::Count, "datagrams refused"),
            field("bytes_in", Kind::Count, "bytes that came to the cage"),
            field("bytes_out", Kind::Count, "bytes that left it"),
            field(
                "events_lost",
                Kind::Count,
                "events without a record of their own, because there were too many",
            ),
        ],
    },
    EventSchema {
        name: "gatekeeper.lost",
        meaning: "the gatekeeper ended by itself: its cages have no network any more",
        fields: &[
            field("details", Kind::Text, "how it ended"),
            field("cages", Kind::Count, "how many cages it served"),
        ],
    },
    EventSchema {
        name: "sandbox.compile_error",
        meaning: "a policy could not be made into a cage",
        fields: &[INVOCATION, ERROR_CODE, DETAILS],
    },
    EventSchema {
        name: "sandbox.limits_not_enforced",
        meaning: "limits cannot be enforced here; told when a supervisor starts",
        fields: &[WHY],
    },
    EventSchema {
        name: "policy.violation",
        meaning: "a program ran against a limit of its policy",
        fields: &[
            INVOCATION,
            field("limit", Kind::Word(&["memory", "pids", "walltime", "seccomp"]), "which"),
            field(
                "value",
                Kind::CountOrName,
                "the limit, in bytes, processes or seconds; for a system call its name",
            ),
            field("count", Kind::Count, "how often, as far as it was counted"),
        ],
    },
    EventSchema {
        name: "session.begun",
        meaning: "a session began",
        fields: &[field("session_id", Kind::Name, "the session"), PROJECT],
    },
    EventSchema {
        name: "session.ended",
        meaning: "a session ended, and what it kept is gone",
        fields: &[
            field("session_id", Kind::Name, "the session"),
            field("killed", Kind::Count, "how many of its programs had to be ended"),
        ],
    },
    EventSchema {
        name: "sweep",
        meaning: "something that a dead supervisor left was removed",
        fields: &[
            field("what", Kind::Name, "what kind of thing, in its stable word"),
            field("subject", Kind::Text, "which one"),
            field("invocation_id", Kind::NameOrNull, "the start that it belonged to, if it tells"),
        ],
    },
    EventSchema {
        name: "daemon.started",
        meaning: "a supervisor for many cages started",
        fields: &[
            field("pid", Kind::Count, "its process"),
            field("version", Kind::Name, "its version"),
            field("mode", Kind::Word(&["user", "system"]), "whom it serves"),
            field("sandbox", Kind::Flag, "whether it may start programs only in cages"),
        ],
    },
    EventSchema {
        name: "daemon.stopped",
        meaning: "it stopped",
        fields: &[
            field("pid", Kind::Count, "its process"),
            WHY,
            field("killed", Kind::Count, "how many programs had to be ended"),
        ],
    },
    EventSchema { name: "log.begun", meaning: "the log's first record", fields: &[PUBLIC_KEY] },
    EventSchema {
        name: "log.continued",
        meaning: "the first record of every later file",
        fields: &[field("after", Kind::Name, "the file before it"), PUBLIC_KEY],
    },
    EventSchema {
        name: "log.checkpoint",
        meaning: "every 1,024th record: vouches for the one before it, and so for all",
        fields: &[PUBLIC_KEY, SIGNATURE],
    },
    EventSchema {
        name: "log.rotated",
        meaning: "a file's last record: the log goes on in another one",
        fields: &[field("next", Kind::Name, "the file that follows"), PUBLIC_KEY, SIGNATURE],
    },
    EventSchema {
        name: "log.recovered",
        meaning: "the bytes right before this record are what a writer left that was cut short",
        fields: &[
            field("offset", Kind::Count, "where they begin in the file"),
            field("bytes", Kind::Count, "how many they are"),
            field("sha256", Kind::Name, "their SHA-256"),
            PUBLIC_KEY,
            field(
                "signature",
                Kind::Name,
                "the key's signature of this record's number, `prev`, and these fields",
            ),
        ],
    },
];
