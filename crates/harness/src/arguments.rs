//! The words of `agent`, `repl` and `mcp`. Reads them; looks at nothing.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use model::{Cost, Prices, Protocol, Thinking};
use plan::render::for_shell;

use crate::types::MOST_LEVELS;

/// `stockade agent`.
#[derive(Debug, Args)]
pub struct AgentArguments {
    #[command(flatten)]
    pub(crate) common: CommonArguments,
    /// Print every event as one line of JSON on standard output, and nothing else there
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// What the agent is to do; without it an earlier task goes on, which `--session` names
    #[arg(value_name = "TASK", required_unless_present = "session")]
    pub(crate) task: Option<String>,
}

/// `stockade repl`.
#[derive(Debug, Args)]
pub struct ReplArguments {
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

/// Which cage it is, and what is added to it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CageArguments {
    /// The project's directory; without it the nearest one upward that has a `stockade.toml`, else the working
    /// directory
    #[arg(long, value_name = "DIR", help_heading = "Cage")]
    pub(crate) project: Option<PathBuf>,
    /// A cage of the policy file; `default` without it
    #[arg(long = "cage", value_name = "NAME", help_heading = "Cage")]
    pub(crate) name: Option<String>,
    /// A profile, such as `code`: `stockade profile list` names all
    #[arg(long, short, value_name = "NAME", help_heading = "Cage", conflicts_with = "name")]
    pub(crate) profile: Option<String>,
    /// Show a file or directory read-only, at its own path
    #[arg(long, value_name = "PATH", help_heading = "Cage")]
    pub(crate) ro: Vec<PathBuf>,
    /// Show a file or directory and let the agent change it
    #[arg(long, value_name = "PATH", help_heading = "Cage")]
    pub(crate) rw: Vec<PathBuf>,
    /// Show a directory and let the agent change it in a layer that you review; the project without it
    #[arg(long, value_name = "PATH", help_heading = "Cage")]
    pub(crate) cow: Vec<PathBuf>,
    /// Let the agent's commands reach a host
    #[arg(long, value_name = "HOST", help_heading = "Cage")]
    pub(crate) net: Vec<String>,
    /// The session that keeps what the agent changes, and its transcript: one of that name goes on
    #[arg(long, value_name = "ID", help_heading = "Cage")]
    pub(crate) session: Option<String>,
}

/// `stockade mcp`.
#[derive(Debug, Args)]
pub struct McpArguments {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Offer tools that run in a cage to a client of the Model Context Protocol, on standard streams
    Serve(ServeArguments),
    /// Run somebody else's server in a cage: the named tools pass, as they were approved, and nothing else does
    Wrap(WrapArguments),
}

/// `stockade mcp serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) cage: CageArguments,
    /// Serve HTTP on this address of loopback, such as `127.0.0.1:8930`, in place of standard streams
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// The file with the token that clients show, made if it is missing; `mcp-token` in the state directory without it
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) token_file: Option<PathBuf>,
    /// The tools, with commas between them; all without it
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
}

/// `stockade mcp wrap`.
#[derive(Debug, Args)]
pub(crate) struct WrapArguments {
    #[command(flatten)]
    pub(crate) cage: CageArguments,
    /// The tools of the server that pass, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    pub(crate) tools: Vec<String>,
    /// Approve tools that have changed since they were seen first
    #[arg(long)]
    pub(crate) approve: bool,
    /// The server and its arguments
    #[arg(value_name = "SERVER", trailing_var_arg = true, required = true)]
    pub(crate) server: Vec<OsString>,
}

/// What both have.
#[derive(Clone, Debug, Args)]
pub(crate) struct CommonArguments {
    #[command(flatten)]
    pub(crate) cage: CageArguments,
    /// The kind of agent: `default`, `explore`, `plan`, `task`, or a file `agents/NAME.md` beside your configuration
    #[arg(long = "type", value_name = "TYPE", default_value = "default", help_heading = "Agent")]
    pub(crate) kind: String,
    /// Its tools, with commas between them; those of its type without it
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Agent")]
    pub(crate) tools: Vec<String>,
    /// A server of the Model Context Protocol whose tools it gets, in a cage of its own: a name of `mcp.toml` beside your
    /// configuration, or `NAME:TOOL,TOOL=PROGRAM ARGUMENT…`
    #[arg(long, value_name = "SERVER", help_heading = "Agent")]
    pub(crate) mcp: Vec<String>,
    /// Services of `services.toml` beside your configuration that it may ask, with commas between them, such as `websearch`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Agent")]
    pub(crate) services: Vec<String>,
    /// Approve tools of servers that have changed since they were seen first
    #[arg(long, help_heading = "Agent")]
    pub(crate) approve: bool,
    /// Let it start children, and them theirs, so many levels deep; each has at most what its parent has
    #[arg(long, value_name = "LEVELS", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST_LEVELS)), help_heading = "Agent")]
    pub(crate) children: Option<u32>,
    /// Let it write JavaScript that uses its other tools, as one call; needs `stockade-guest`
    #[arg(long, help_heading = "Agent")]
    pub(crate) code: bool,
    /// What the model is told first, in place of the prompt of its type
    #[arg(long, value_name = "TEXT", help_heading = "Agent")]
    pub(crate) system: Option<String>,
    /// Most answers of the model to one task; 50 without it
    #[arg(long, value_name = "COUNT", help_heading = "Agent")]
    pub(crate) steps: Option<u32>,
    /// Most tokens, in and out, that one task takes
    #[arg(long, value_name = "COUNT", help_heading = "Agent")]
    pub(crate) tokens: Option<u64>,
    /// Most dollars that one task takes, such as `0.5`; needs `--price`
    #[arg(long, value_name = "DOLLARS", value_parser = dollars, requires = "price", help_heading = "Agent")]
    pub(crate) money: Option<Cost>,
    /// Longest time for one task, such as `90s` or `10m`
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Agent")]
    pub(crate) time: Option<Duration>,
    /// The model, as its provider names it; `STOCKADE_MODEL` without it
    #[arg(long, short, value_name = "NAME", help_heading = "Model")]
    pub(crate) model: Option<String>,
    /// Where the model is, such as `http://127.0.0.1:11434`; `STOCKADE_MODEL_URL` without it
    #[arg(long, value_name = "URL", help_heading = "Model")]
    pub(crate) url: Option<String>,
    /// How it is spoken to: `anthropic`, `completions` or `responses`
    #[arg(long, value_name = "PROTOCOL", help_heading = "Model")]
    pub(crate) protocol: Option<Protocol>,
    /// Where its key is: `env:NAME`, `file:PATH`, `command:PROGRAM ARGUMENT…`, or `none`
    #[arg(long, value_name = "WHERE", help_heading = "Model")]
    pub(crate) key: Option<String>,
    /// What a million tokens cost in dollars, in and out, such as `3,15`
    #[arg(long, value_name = "IN,OUT", value_parser = prices, help_heading = "Model")]
    pub(crate) price: Option<Prices>,
    /// How much it thinks first: `off`, `max` or a number of tokens up to 30000
    #[arg(long, value_name = "HOW_MUCH", value_parser = thinking, default_value = "off", help_heading = "Model")]
    pub(crate) thinking: Thinking,
    /// How freely it chooses words, from 0.0 to 2.0
    #[arg(long, value_name = "NUMBER", value_parser = temperature, help_heading = "Model")]
    pub(crate) temperature: Option<f64>,
    /// Tokens that it takes at one time; the conversation is summed up before that
    #[arg(long, value_name = "COUNT", default_value_t = 150_000, help_heading = "Model")]
    pub(crate) context: u64,
    /// Most tokens of one answer
    #[arg(long, value_name = "COUNT", default_value_t = 8192, help_heading = "Model")]
    pub(crate) max_tokens: u32,
}

impl CommonArguments {
    /// The flags that say which model is asked, as a shell takes them: for whoever goes on with what was begun.
    pub(crate) fn of_model(&self) -> String {
        let protocol = self.protocol.map(|protocol| protocol.to_string());
        let flags = [
            ("--model", &self.model),
            ("--url", &self.url),
            ("--protocol", &protocol),
            ("--key", &self.key),
        ];
        let given = flags.into_iter().filter_map(|(flag, value)| Some((flag, value.as_ref()?)));
        given
            .map(|(flag, value)| format!(" {flag} {}", for_shell(&value.as_str().into())))
            .collect()
    }
}

impl AgentArguments {
    /// Whether standard output is for a program.
    pub fn answers_in_json(&self) -> bool {
        self.json
    }
}

fn dollars(text: &str) -> Result<Cost, String> {
    let number: f64 =
        text.trim().parse().map_err(|_| format!("`{text}` is no number of dollars"))?;
    if !(0.0..1e9).contains(&number) {
        return Err(format!("`{text}` is no number of dollars"));
    }
    Ok(Cost((number * 1e6).round() as u64))
}

fn prices(text: &str) -> Result<Prices, String> {
    let parts: Vec<Cost> = text.split(',').map(dollars).collect::<Result<_, _>>()?;
    match parts.as_slice() {
        // A cache that is not priced costs what reading anew does: never less than what is paid.
        [input, output] => Ok(Prices {
            input: *input,
            cached: *input,
            cache_written: Cost(input.0.saturating_mul(2)),
            output: *output,
        }),
        [input, output, cached] => Ok(Prices {
            input: *input,
            cached: *cached,
            cache_written: Cost(input.0.saturating_mul(2)),
            output: *output,
        }),
        _ => {
            Err("expected two prices such as `3,15`, or three with that of cached tokens"
                .to_owned())
        }
    }
}

fn thinking(text: &str) -> Result<Thinking, String> {
    match (text, text.parse::<u32>()) {
        ("off", _) | (_, Ok(0)) => Ok(Thinking::Off),
        ("max", _) => Ok(Thinking::Max),
        (_, Ok(tokens)) if tokens <= 30_000 => Ok(Thinking::Budget(tokens)),
        _ => Err("expected `off`, `max` or a number from 0 to 30000".to_owned()),
    }
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "expected a number from 0.0 to 2.0".to_owned())
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let seconds = match unit {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err("expected a duration such as `90s`, `10m` or `2h`".to_owned()),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "expected a duration such as `90s`, `10m` or `2h`".to_owned())?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}
