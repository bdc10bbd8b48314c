//! The words that `stockade-guest` is started with. Reads them and nothing else.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use engines::GuestLimits;
use engines::wasm::CodeDigest;

/// What is to be run, and how.
pub(crate) struct Order {
    pub(crate) language: Language,
    pub(crate) limits: GuestLimits,
    /// Where the code of the module may lie that whoever started this had compiled.
    pub(crate) code: Code,
    /// How many guests a pool runs at once.
    pub(crate) at_once: usize,
    /// The program, and what it is given.
    pub(crate) words: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Wasm,
    JavaScript,
    /// A script that comes by the input, over tools of whoever sent it.
    Code,
    /// Nothing is run: a module comes in, its code goes out.
    Compile,
    /// Many, as lines on the input ask for them.
    Pool,
}

/// Code from an earlier run. It is whoever started this process that vouches for the digest, as for every other word.
#[derive(Default)]
pub(crate) struct Code {
    pub(crate) path: Option<PathBuf>,
    pub(crate) digest: Option<CodeDigest>,
    /// The SHA-256 of the module that it was compiled from.
    pub(crate) of: Option<CodeDigest>,
}

impl Order {
    /// What these words ask for, or why they ask for nothing.
    pub(crate) fn read(words: Vec<OsString>) -> Result<Self, String> {
        let usage = |why: String| format!("{why}; see `stockade-guest --help`");
        let nothing = || usage("there is no program to run".to_owned());
        let mut limits = GuestLimits::default();
        let mut code = Code::default();
        let mut words = words.into_iter();
        let language = loop {
            let word = words.next().ok_or_else(nothing)?;
            match word.to_str() {
                Some("wasm") => break Language::Wasm,
                Some("js") => break Language::JavaScript,
                Some("code") => break Language::Code,
                Some("compile") => break Language::Compile,
                Some("pool") => break Language::Pool,
                Some(option) if OPTIONS.contains(&option) => {
                    let value = words.next();
                    let value = value.ok_or_else(|| usage(format!("`{option}` needs a value")))?;
                    set(&mut limits, &mut code, option, value).map_err(usage)?;
                }
                _ => return Err(usage(format!("`{}` is not known", word.display()))),
            }
        };
        let mut words: Vec<OsString> = words.collect();
        let mut at_once = AT_ONCE;
        if language == Language::Pool
            && let [option, _, ..] = words.as_slice()
            && option == "--at-once"
        {
            at_once = count(&words.remove(1)).map_err(usage)?;
            words.remove(0);
        }
        match (language, words.is_empty()) {
            (Language::Compile | Language::Code, false) => {
                Err(usage("this is read from the input".to_owned()))
            }
            (Language::Pool, false) => {
                Err(usage("a pool takes `--at-once N`; its guests come by the input".to_owned()))
            }
            (Language::Wasm | Language::JavaScript, true) => Err(nothing()),
            _ => Ok(Self { language, limits, code, at_once, words }),
        }
    }
}

fn count(word: &OsString) -> Result<usize, String> {
    let count = word.to_str().and_then(|word| word.parse().ok()).filter(|count| *count > 0);
    count.ok_or_else(|| format!("`{}` is not a number of guests", word.display()))
}

fn set(
    limits: &mut GuestLimits,
    code: &mut Code,
    option: &str,
    value: OsString,
) -> Result<(), String> {
    if option == "--code" {
        code.path = Some(value.into());
        return Ok(());
    }
    let text = value.to_str().ok_or_else(|| format!("`{}` is no text", value.display()))?;
    let number = || text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"));
    let digest =
        || CodeDigest::from_digits(text).ok_or_else(|| format!("`{text}` is not a SHA-256"));
    match option {
        "--max-memory" => limits.max_memory = number()?,
        "--max-stack" => limits.max_stack = number()?,
        "--max-cpu" => limits.max_cpu = Some(Duration::from_secs(number()?)),
        "--code-digest" => code.digest = Some(digest()?),
        "--code-of" => code.of = Some(digest()?),
        _ if text != VERSION => {
            return Err(format!(
                "this is version {VERSION}, and `stockade` is version {text}: install both from the \
                 same release"
            ));
        }
        _ => {}
    }
    Ok(())
}

const OPTIONS: &[&str] = &[
    "--max-memory",
    "--max-stack",
    "--max-cpu",
    "--of-version",
    "--code",
    "--code-digest",
    "--code-of",
];
const AT_ONCE: usize = 64;
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
pub(crate) const USAGE: &str = "\
usage: stockade-guest [OPTION…] wasm|js FILE [ARGUMENT…]
       stockade-guest compile <MODULE >CODE
       stockade-guest [OPTION…] code
       stockade-guest [OPTION…] pool [--at-once N]

Runs a WASM module (WASI preview 1), a component (preview 2), a JavaScript or a TypeScript program over the files of this root.
`stockade wasm` and `stockade js` start it inside a cage. `code` runs a script for `stockade agent --code`, which sends it
and answers its calls. `pool` runs one guest for every line of JSON that comes, at most N (64) at once, for `stockade pool`.

  --max-memory BYTES   of its linear memories or its heap (1073741824)
  --max-stack BYTES    of its calls (1048576)
  --max-cpu SECONDS    of processor time
  --of-version TEXT    end unless this is that version
  --code FILE          what the module was compiled to, if it has this digest and was made of that
  --code-digest HEX    module; else the module is compiled anew
  --code-of HEX
";
