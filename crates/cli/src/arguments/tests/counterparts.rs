//! Every command and every flag has its counterpart in the API of the daemon, or a reason why not. What
//! is added to the command line has to be added here, and so to the API or to the reasons.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use serde_json::Value;

use crate::arguments::Arguments;

/// Where the API has what a flag says.
#[derive(Clone, Copy)]
enum Counterpart {
    /// A field of what is sent: the schema, and the field in it.
    Field(&'static str, &'static str),
    /// An operation, which does it.
    Operation(&'static str),
    /// A parameter of an operation.
    Parameter(&'static str, &'static str),
    /// Nowhere, and why.
    Nowhere(&'static str),
}

use Counterpart::{Field, Nowhere, Operation, Parameter};

const LEARN: &[&str] = &[
    "",
    "write",
    "project",
    "cage",
    "agent",
    "profile",
    "capability",
    "ro",
    "rw",
    "cow",
    "cache",
    "hide",
    "mount",
    "net",
    "no-net",
    "host-port",
    "publish",
    "COMMAND",
];

/// Commands, as they are typed; flags, or nothing for the command itself; the counterpart.
const TABLE: &[(&[&str], &[&str], Counterpart)] = &[
    (&["run"], &[""], Operation("spawnCage")),
    (&["check"], &[""], Operation("checkPolicy")),
    (&["why"], &[""], Operation("explainPolicy")),
    (CAGES, &["project"], Field("Subject", "project")),
    (CAGES, &["cage"], Field("Subject", "cage")),
    (CAGES, &["agent"], Field("Subject", "agent")),
    (CAGES, &["profile"], Field("Subject", "profile")),
    (&["init"], &["", "project", "print"], Nowhere(OF_A_PERSON)),
    (&["profile list"], &[""], Nowhere(OF_A_PERSON)),
    (&["profile show"], &["", "NAME", "project"], Nowhere(OF_A_PERSON)),
    (&["agent-profile list"], &[""], Nowhere(OF_A_PERSON)),
    (&["agent-profile show"], &["", "NAME", "project"], Nowhere(OF_A_PERSON)),
    (CAGES, &["capability"], Field("Subject", "capabilities")),
    (CAGES, &["ro"], Field("Rules", "ro")),
    (CAGES, &["rw"], Field("Rules", "rw")),
    (CAGES, &["cow"], Field("Rules", "cow")),
    (CAGES, &["cache"], Field("Rules", "cache")),
    (CAGES, &["hide"], Field("Rules", "hide")),
    (CAGES, &["mount"], Field("Rules", "mount")),
    (CAGES, &["net"], Field("Rules", "net")),
    (CAGES, &["no-net"], Field("Rules", "no_net")),
    (CAGES, &["host-port"], Field("Rules", "host_ports")),
    (CAGES, &["publish"], Field("Rules", "publish")),
    (CAGES, &["seccomp"], Field("Rules", "seccomp")),
    (&["run", "check"], &["env"], Field("Rules", "env")),
    (&["run", "check"], &["command", "commands"], Field("Rules", "commands")),
    (&["run", "check"], &["state"], Field("Rules", "state")),
    (&["run", "check"], &["keep-home"], Field("Rules", "home")),
    (&["run", "check"], &["workspace"], Field("Rules", "workspace")),
    (&["run", "check"], &["memory"], Field("Rules", "memory")),
    (&["run", "check"], &["pids"], Field("Rules", "pids")),
    (&["run", "check"], &["cpus"], Field("Rules", "cpus")),
    (&["run", "check"], &["time"], Field("Rules", "time")),
    (&["run", "check"], &["tmp-size"], Field("Rules", "tmp_size")),
    (&["run", "check"], &["home-size"], Field("Rules", "home_size")),
    (&["run"], &["COMMAND"], Field("SpawnRequest", "argv")),
    (&["run"], &["degraded-limits"], Field("SpawnRequest", "degraded_limits")),
    (&["run"], &["detach"], Nowhere("every start of the API is in the background")),
    (&["agent"], &["", "TASK"], Nowhere(OF_AGENTS)),
    (&["repl"], &[""], Nowhere(OF_AGENTS)),
    (&["mcp serve", "mcp wrap"], MCP, Nowhere("speaks with a client on standard streams")),
    (&["mcp serve"], &["listen", "token-file"], Nowhere("an interface of its own")),
    (&["mcp wrap"], &["approve", "SERVER"], Nowhere("speaks with a client on standard streams")),
    (&["agent", "repl"], AGENTS, Nowhere(OF_AGENTS)),
    (&["tool list", "tool doc", "tool run"], &[""], Nowhere("for programs in a cage")),
    (&["tool doc", "tool run"], &["NAME"], Nowhere("for programs in a cage")),
    (&["tool run"], &["JSON"], Nowhere("for programs in a cage")),
    (
        &["spawn"],
        &["", "ro", "rw", "net", "env", "commands", "PROGRAM", "attended"],
        Nowhere("for programs in a cage"),
    ),
    (&["learn"], LEARN, Nowhere("asks a person what to keep of what it saw")),
    (&["why"], &["self"], Nowhere("asks the cage that it runs in")),
    (&["run"], &["explain"], Field("SpawnRequest", "explain")),
    (&["run"], &["session"], Field("SpawnRequest", "session")),
    (&["run"], &["no-sandbox"], Nowhere("the word of whoever starts the daemon, not of a client")),
    (&["run"], &["guest"], Nowhere("a client names the program that runs guests")),
    (&["run"], &["narrow"], Nowhere("a client sends less in the first place")),
    (&["run"], &["backend"], Nowhere("weaker, and there to be compared with by a person")),
    (&["run"], &["sealed", "result-fd"], Nowhere("for programs that start `stockade` themselves")),
    (&["wrap"], WRAP, Nowhere(OF_EXECUTORS)),
    (&["invoke"], INVOKE, Nowhere(OF_EXECUTORS)),
    (&["check"], &["manifest", "autonomy", "args", "grant"], Nowhere(OF_EXECUTORS)),
    (&["schema"], &["manifest"], Nowhere(OF_EXECUTORS)),
    (&["grants list", "grants revoke"], &[""], Nowhere(OF_EXECUTORS)),
    (&["grants revoke"], &["ID", "all"], Nowhere(OF_EXECUTORS)),
    (&["doctor"], &["only-cage"], Nowhere("the daemon has built cages when it answers")),
    (&["check"], &["COMMAND"], Field("CheckRequest", "argv")),
    (&["check"], &["format"], Field("CheckRequest", "bwrap")),
    (&["why"], &["PATH|HOST[:PORT]"], Field("WhyRequest", "path")),
    (&["why"], &["host"], Field("WhyRequest", "host")),
    (&["why"], &["syscall"], Field("WhyRequest", "syscall")),
    (&["why"], &["env"], Field("WhyRequest", "variable")),
    (&["doctor"], &[""], Operation("doctor")),
    (&["allow"], &["", "yes"], Operation("giveApproval")),
    (&["deny"], &[""], Operation("takeApprovalBack")),
    (&["allow", "deny"], &["FILE"], Parameter("showApproval", "project")),
    (&["diff"], &["", "stat", "name-only"], Operation("showChanges")),
    (&["diff"], &["no-pager"], Nowhere("is for a terminal")),
    (&["diff", "apply", "discard"], &["SESSION", "session"], Parameter("showChanges", "id")),
    (&["diff", "apply", "discard"], &["PATH"], Parameter("showChanges", "path")),
    (&["apply"], &[""], Operation("applyChanges")),
    (&["apply"], &["merge"], Field("ApplyRequest", "merge")),
    (&["apply"], &["overwrite"], Field("ApplyRequest", "overwrite")),
    (&["apply"], &["dry-run"], Field("ApplyRequest", "dry_run")),
    (&["apply"], &["patch"], Nowhere("asks a person about each change")),
    (&["discard"], &[""], Operation("discardChanges")),
    (&["discard"], &["yes"], Field("DiscardRequest", "all")),
    (&["undo"], &["", "SESSION"], Operation("undoApply")),
    (&["undo"], &["workspace"], Field("UndoRequest", "workspace")),
    (&["undo"], &["overwrite"], Field("UndoRequest", "overwrite")),
    (&["session list"], &[""], Operation("listSessions")),
    (&["session prune"], SESSION_PRUNE, Nowhere("a person decides what is too old")),
    (&["session end"], &["", "ID"], Operation("endSession")),
    (&["acknowledge"], &["", "WHAT", "forget", "project"], Nowhere(OF_A_PERSON)),
    (SNAPSHOTS, &["", "NAME", "store"], Nowhere(OF_SNAPSHOTS)),
    (&["snapshot list"], &["", "store"], Nowhere(OF_SNAPSHOTS)),
    (&["snapshot save", "snapshot restore", "snapshot fork"], &["session"], Nowhere(OF_SNAPSHOTS)),
    (&["snapshot fork"], &["to"], Nowhere(OF_SNAPSHOTS)),
    (&["snapshot export", "snapshot import"], &["FILE"], Nowhere(OF_SNAPSHOTS)),
    (&["quarantine list"], &[""], Nowhere(OF_HOST)),
    (&["quarantine restore", "quarantine drop"], &["", "PATH"], Nowhere(OF_HOST)),
    (&["quarantine drop"], &["all"], Nowhere(OF_HOST)),
    (&["fs ls", "fs tree"], &["", "SESSION:PATH"], Operation("listFiles")),
    (&["fs tree"], &["levels"], Parameter("listFiles", "levels")),
    (&["fs stat"], &["", "SESSION:PATH"], Operation("statFile")),
    (&["fs cat", "fs get"], &["", "SESSION:PATH"], Operation("readFile")),
    (&["fs put"], &["", "SESSION:PATH"], Operation("writeFile")),
    (&["fs put"], &["overwrite"], Parameter("writeFile", "overwrite")),
    (&["fs rm"], &["", "SESSION:PATH"], Operation("removeFile")),
    (&["fs rm"], &["recursive"], Parameter("removeFile", "recursive")),
    (&["fs mkdir"], &["", "SESSION:PATH"], Operation("makeDirectory")),
    (&["fs mkdir"], &["parents"], Field("DirectoryRequest", "parents")),
    (&["fs put", "fs get"], &["LOCAL"], Nowhere(OF_COPIES)),
    (&["fs put", "fs get"], &["recursive", "no-links"], Nowhere(OF_COPIES)),
    (&["fs get"], &["overwrite"], Nowhere(OF_COPIES)),
    (&["fs mount"], FS_MOUNT, Nowhere("serves the host that it is typed on")),
    (&["fs serve"], FS_SERVE, Nowhere("serves the host that it is typed on")),
    (&["prove"], PROVE, Nowhere("runs attacks without a cage too, which a person decides on")),
    (&["audit show"], &[""], Operation("showAudit")),
    (&["audit follow"], &[""], Operation("followEvents")),
    (RECORDS, &["cage"], Parameter("showAudit", "cage")),
    (RECORDS, &["invocation"], Parameter("showAudit", "invocation")),
    (RECORDS, &["session"], Parameter("showAudit", "session")),
    (RECORDS, &["event"], Parameter("showAudit", "event")),
    (RECORDS, &["since"], Parameter("showAudit", "since")),
    (RECORDS, &["until"], Parameter("followEvents", "until")),
    (&["audit show"], &["last"], Parameter("showAudit", "last")),
    (&["audit follow"], &["from-start"], Parameter("followEvents", "after")),
    (&["audit verify"], &[""], Operation("verifyAudit")),
    (&["audit verify"], &["key"], Field("VerifyRequest", "key")),
    (&["audit verify"], &["anchor"], Field("VerifyRequest", "anchor")),
    (&["audit export"], &["", "FILE"], Operation("exportAudit")),
    (&["audit export"], &["head"], Operation("auditHead")),
    (&["audit schema"], &[""], Operation("auditSchema")),
    (&["audit verify"], &["PATH"], Nowhere(OWN_RECORD)),
    (&["audit show", "audit follow", "audit verify"], &["log"], Nowhere(OWN_RECORD)),
    (&["audit export"], &["log"], Nowhere(OWN_RECORD)),
    (&["audit prune"], PRUNE, Nowhere("whoever serves decides what the record keeps")),
    (&["ps"], &["", "all"], Operation("listCages")),
    (&["logs"], &["", "ID"], Operation("readOutput")),
    (&["logs"], &["follow"], Parameter("readOutput", "follow")),
    (&["logs"], &["tail"], Parameter("readOutput", "tail")),
    (&["attach"], &["", "ID"], Operation("attachCage")),
    (&["attach"], &["from-now"], Parameter("attachCage", "from")),
    (&["attach"], &["no-stdin"], Parameter("attachCage", "stdin")),
    (&["kill"], &["", "ID", "signal"], Operation("signalCage")),
    (&["kill"], &["close"], Operation("closeCage")),
    (&["status"], &[""], Operation("status")),
    (&["status"], &["print-socket"], Nowhere("whoever asks has found the socket")),
    (&["serve"], &["background"], Nowhere("how `run --detach` starts a daemon")),
    (CLIENTS, &["socket", "system"], Nowhere("says which daemon is asked")),
    (&["schema"], &[""], Operation("policySchema")),
    (&["schema"], &["user"], Parameter("policySchema", "user")),
    (&["serve"], SERVE, Nowhere("says how the daemon itself is started")),
    (&["completions"], &["", "SHELL"], Nowhere("is for a shell")),
    (&["man"], &["", "COMMAND"], Nowhere("is for `man`")),
];

const OF_A_PERSON: &str = "made of the tools and settings of the person who asks";
const CAGES: &[&str] = &["run", "check", "why"];
const CLIENTS: &[&str] = &["ps", "logs", "attach", "kill", "status"];
const RECORDS: &[&str] = &["audit show", "audit follow"];
const PROVE: &[&str] = &["", "project", "cage", "agent", "profile", "capability", "seccomp"];
const FS_SERVE: &[&str] = &["", "SOURCE", "read-only", "size", "9p", "allow-remote"];
const FS_MOUNT: &[&str] = &[
    "",
    "SOURCE",
    "DIRECTORY",
    "COMMAND",
    "read-only",
    "size",
    "alone",
    "shared",
    "gather-writes",
    "threads",
];
const SESSION_PRUNE: &[&str] = &["", "older-than", "dry-run", "yes"];
const PRUNE: &[&str] = &["", "keep-days", "keep-size", "dry-run", "log"];
const SERVE: &[&str] = &[
    "",
    "system",
    "socket",
    "allow-user",
    "listen",
    "token-file",
    "allow-remote",
    "most-cages",
    "no-sandbox",
    "keep-days",
    "keep-size",
    "print-unit",
];

const WRAP: &[&str] = &[
    "",
    "MANIFEST",
    "autonomy",
    "args",
    "grant",
    "backend",
    "ro",
    "rw",
    "allow-unsandboxed",
    "COMMAND",
];
const INVOKE: &[&str] = &[
    "",
    "MANIFEST",
    "autonomy",
    "args",
    "grant",
    "backend",
    "ro",
    "rw",
    "allow-unsandboxed",
    "timeout",
];

const OF_AGENTS: &str = "works with the model and the key of the person who asks";
const MCP: &[&str] =
    &["", "project", "cage", "profile", "ro", "rw", "cow", "net", "session", "tools"];
const AGENTS: &[&str] = &[
    "project",
    "cage",
    "profile",
    "ro",
    "rw",
    "cow",
    "net",
    "session",
    "type",
    "approve",
    "children",
    "code",
    "mcp",
    "services",
    "tools",
    "system",
    "steps",
    "tokens",
    "money",
    "time",
    "model",
    "url",
    "protocol",
    "key",
    "price",
    "thinking",
    "temperature",
    "context",
    "max-tokens",
];
const OF_SNAPSHOTS: &str = "writes files of the host and sessions that nobody is in";
const SNAPSHOTS: &[&str] = &[
    "snapshot save",
    "snapshot restore",
    "snapshot fork",
    "snapshot rm",
    "snapshot export",
    "snapshot import",
];
const OF_COPIES: &str = "is about files of whoever asks, who sends and takes them one by one";
const OF_HOST: &str = "changes files of the host, which is for whoever sits at it";
const OF_EXECUTORS: &str = "executors are called by a library, which needs no daemon";
const OWN_RECORD: &str = "the daemon reads its own record, and no file that a client names";

/// Answers are data: they have no colours, and nothing that could be left out.
const OF_THE_TERMINAL: &[&str] = &["json", "quiet", "verbose", "color", "help", "version"];

/// Every command that does something, with its flags.
fn words_of(command: &clap::Command, above: &str, all: &mut BTreeSet<(String, String)>) {
    for below in command.get_subcommands() {
        let name = format!("{above} {}", below.get_name()).trim().to_owned();
        if below.has_subcommands() {
            words_of(below, &name, all);
            continue;
        }
        all.insert((name.clone(), String::new()));
        for argument in below.get_arguments() {
            let value = argument.get_value_names().and_then(|names| names.first());
            let word = match (argument.get_long(), value) {
                (Some(long), _) => long.to_owned(),
                (None, Some(value)) => value.to_string().to_uppercase(),
                (None, None) => argument.get_id().to_string().to_uppercase(),
            };
            if !OF_THE_TERMINAL.contains(&word.as_str()) {
                all.insert((name.clone(), word));
            }
        }
    }
}

fn operation<'a>(document: &'a Value, id: &str) -> Option<&'a Value> {
    let paths = document["paths"].as_object().unwrap().values();
    let mut operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
    operations.find(|operation| operation["operationId"] == id)
}

#[test]
fn what_the_command_line_says_is_in_the_api_or_has_a_reason() {
    let mut all = BTreeSet::new();
    words_of(&Arguments::command(), "", &mut all);
    let mut told = BTreeSet::new();
    for (commands, words, _) in TABLE {
        for command in *commands {
            told.extend(words.iter().map(|word| ((*command).to_owned(), (*word).to_owned())));
        }
    }
    let missing: Vec<_> = all.difference(&told).collect();
    assert!(missing.is_empty(), "neither in the API nor with a reason: {missing:#?}");
    let gone: Vec<_> = told.difference(&all).collect();
    assert!(gone.is_empty(), "not on the command line: {gone:#?}");
}

#[test]
fn every_counterpart_is_in_the_document() {
    let document: Value = serde_json::from_str(::daemon::DOCUMENT).unwrap();
    for (commands, words, counterpart) in TABLE {
        let found = match *counterpart {
            Field(schema, field) => {
                !document["components"]["schemas"][schema]["properties"][field].is_null()
            }
            Operation(id) => operation(&document, id).is_some(),
            Parameter(id, name) => {
                let operation = operation(&document, id);
                let parameters = operation.and_then(|one| one["parameters"].as_array());
                parameters.into_iter().flatten().any(|one| one["name"] == name)
            }
            Nowhere(reason) => !reason.is_empty(),
        };
        assert!(found, "{commands:?} {words:?}");
    }
}
