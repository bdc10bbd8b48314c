//! Examples at the end of each command's help and manual page. A test reads every one of them as a command
//! line. Says nothing that the flags do not.

use clap::CommandFactory as _;

use super::Arguments;

/// The whole command line with its examples: what help, manual pages and completions are made from.
pub(crate) fn described() -> clap::Command {
    let mut command = Arguments::command();
    for (name, about) in GUESTS {
        // They are `run` with a flag before anything is read; here they are listed and explained.
        let usage = format!("stockade {name} [FLAGS OF run] FILE [ARGUMENT]...");
        let listed = clap::Command::new(*name).about(*about).override_usage(usage);
        command = command.subcommand(listed.display_order(1));
    }
    for (path, examples) in EXAMPLES {
        command = with_examples(command, path, examples);
    }
    command
}

fn with_examples(command: clap::Command, path: &[&str], examples: &str) -> clap::Command {
    let Some((name, below)) = path.split_first() else {
        let after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let text = format!("Examples:\n{}\n\n{after}", examples.trim_end());
        return command.after_long_help(text.trim_end().to_owned());
    };
    match command.find_subcommand(name) {
        Some(_) => command.mut_subcommand(name, |inner| with_examples(inner, below, examples)),
        None => command,
    }
}

/// What is short for `run` with `--guest`.
const GUESTS: &[(&str, &str)] = &[
    ("js", "Run JavaScript or TypeScript in a cage without Node.js: `run --guest=js`"),
    ("wasm", "Run a WASM module in a cage without a runtime: `run --guest=wasm`"),
    ("pool", "Run many guests in one cage, as lines of JSON ask for them: `run --guest=pool`"),
];

/// Commands by their words, and lines of a shell; what stands behind two spaces and a `#` explains one.
#[rustfmt::skip]
pub(crate) const EXAMPLES: &[(&[&str], &str)] = &[
    (&["run"], "\
  stockade run -- make test                      the project read-only, no network
  stockade run --rw . -- make                    the project writable
  stockade run --rw . --hide secrets -- make     all of it but one directory
  stockade run --net '**.example.com:443' -- curl https://www.example.com/
  stockade run --memory 2G --time 10m -- ./job   ended when it needs more
  stockade run --env LANG,TOKEN -- ./deploy      with these variables of yours
  stockade run --session work -- ./step          /scratch is kept for the next one
  stockade run --detach -- ./server              in the background; see `stockade ps`
  stockade run --guest=js -- ./tool.js           JavaScript without Node.js; also `stockade js ./tool.js`
"),
    (&["js"], "\
  stockade js tool.js --input data.json          the project read-only, no network
  stockade js --rw . --memory 256M tool.ts       with flags of `run`, before the file
"),
    (&["wasm"], "\
  stockade wasm tool.wasm data.bin
  stockade wasm --ro data --time 10s tool.wasm   with flags of `run`, before the file
"),
    (&["pool"], "\
  stockade pool --rw .                           a line of JSON for each guest, and one for its end
  stockade pool --memory 4G -- --at-once 200     64 at once else
"),
    (&["agent"], "\
  stockade agent 'make the tests pass'           on a copy of the project; then `stockade diff`
  stockade agent --type explore 'where are cookies parsed?'
  stockade agent --url http://127.0.0.1:11434 --model qwen3 'fix the typo in README.md'
  stockade agent --session mend --steps 20 'go on with the parser'
"),
    (&["repl"], "\
  stockade repl --model claude-sonnet-4-5 --key file:key
  stockade repl -p code --session mend           with your tool chains, and to go on later
"),
    (&["spawn"], "\
  stockade spawn --ro src --rw out -- ./generate     two directories of this cage, and no network
"),
    (&["tool", "run"], "\
  stockade tool run grep '{\"pattern\": \"unsafe\", \"path\": \"src\"}'
"),
    (&["mcp", "serve"], "\
  stockade mcp serve                             all tools, on a copy of the project
  stockade mcp serve --tools read,grep,list      to look alone
"),
    (&["mcp", "wrap"], "\
  stockade mcp wrap --tools read_file,list_directory -- mcp-server-filesystem .
  stockade mcp wrap --tools fetch --net '**.example.com' -- mcp-server-fetch
"),
    (&["check"], "\
  stockade check                                 the cage of this project
  stockade check --rw . -- make                  the one that `run` would build with these flags
  stockade check --format bwrap -- make          as a command line of bubblewrap
"),
    (&["why"], "\
  stockade why secrets/key                       a path, as it is on the host
  stockade why --rw . .git/hooks/pre-commit      in the cage that `run --rw .` builds
  stockade why example.com:443                   a host
  stockade why --syscall ptrace
  stockade why --env LANG
"),
    (&["wrap"], "\
  stockade wrap manifest.toml -- python3 tool.py
  stockade wrap manifest.toml --backend bwrap --json
"),
    (&["invoke"], "\
  stockade invoke manifest.toml --args '{}'
  stockade invoke manifest.toml --autonomy read_only
"),
    (&["grants", "revoke"], "\
  stockade grants revoke --all
"),
    (&["doctor"], "\
  stockade doctor
  stockade doctor --only-cage                    quick: can a cage be built at all
"),
    (&["allow"], "\
  stockade allow                                 the policy file that `run` would find here
  stockade allow other/stockade.toml
"),
    (&["deny"], "\
  stockade deny
"),
    (&["session", "end"], "\
  stockade session end work
"),
    (&["fs", "mount"], "\
  stockade fs mount memory: /mnt
  stockade fs mount overlay:/usr:/var/tmp/changes /mnt
  stockade fs mount dir:src --read-only view -- ls view     seen by that program alone
"),
    (&["fs", "serve"], "\
  stockade fs serve --9p ./tree.sock dir:src --read-only
"),
    (&["prove"], "\
  stockade prove
  stockade prove --seccomp relaxed --json
"),
    (&["audit", "show"], "\
  stockade audit show --last 20
  stockade audit show --since 2h --json
"),
    (&["audit", "verify"], "\
  stockade audit verify
"),
    (&["serve"], "\
  stockade serve
  stockade serve --print-unit                    for systemd
"),
    (&["ps"], "\
  stockade ps
  stockade ps --all --json
"),
    (&["logs"], "\
  stockade logs 01M7FD6M                         the beginning of an id is enough
  stockade logs -f 01M7FD6M
"),
    (&["attach"], "\
  stockade attach 01M7FD6M                       `Ctrl-]` leaves it alone again
"),
    (&["kill"], "\
  stockade kill 01M7FD6M
  stockade kill --signal INT 01M7FD6M
  stockade kill --close 01M7FD6M                 and forget what it wrote
"),
    (&["status"], "\
  stockade status --json
  stockade status --print-socket                 for `curl --unix-socket`
"),
    (&["schema"], "\
  stockade schema
"),
    (&["completions"], "\
  stockade completions bash
"),
    (&["man"], "\
  stockade man run
"),
];
