//! The keys of a manifest, and what holds between them.

use policy::text::{read_cpus, read_memory, read_pids};

use super::tree::{Node, Shape};
use super::{Reader, capabilities, typed};
use crate::model::{
    Argument, ArgumentType, Backend, CodeFile, Hint, Limits, MAX_OUTPUT, MAX_TIMEOUT_SEC, Manifest,
};

pub(super) fn read(reader: &mut Reader, node: &Node) -> Option<Manifest> {
    let mut manifest = empty();
    let mut name = None;
    let mut code_at: Option<&str> = None;
    for entry in reader.entries(node, "", KEYS) {
        let (node, at) = (entry.node, entry.at.as_str());
        match entry.key {
            "name" => name = read_name(reader, node, at),
            "version" => set(&mut manifest.version, reader.line(node, at)),
            "summary" => set(&mut manifest.summary, reader.line(node, at)),
            "code" | "code_path" => {
                if let Some(earlier) = code_at.replace(entry.key) {
                    let message = format!("`{earlier}` and `{}` are the same", entry.key);
                    reader.report(node.line, at, message, "keep one of them");
                }
                set(&mut manifest.code, path(reader, node, at));
            }
            "interpreter" => manifest.interpreter = words(reader, node, at),
            "files" => manifest.files = files(reader, node, at),
            "path_args" => manifest.path_args = words(reader, node, at).into_iter().collect(),
            "args" => manifest.arguments = Some(typed::read(reader, node, at)),
            "capabilities" => manifest.capabilities = capabilities::read(reader, node, at),
            "backend" => {
                let words = [Backend::Native, Backend::Bwrap].map(|known| (known.word(), known));
                manifest.backend = reader.word(node, at, words).unwrap_or_default();
            }
            _ => limit(reader, &mut manifest.limits, entry.key, node, at),
        }
    }
    if code_at.is_none() {
        let help = "name the executor's entry, such as `code = \"read_notes.py\"`";
        reader.report(node.line, "", "`code` is missing", help);
        return None;
    }
    manifest.name = name.unwrap_or_else(|| name_of(&manifest.code));
    if manifest.interpreter.is_empty() {
        manifest.interpreter = interpreter_of(&manifest.code);
    }
    check_path_arguments(reader, node, &mut manifest);
    check_mentions(reader, node, &manifest);
    Some(manifest)
}

fn empty() -> Manifest {
    Manifest {
        name: String::new(),
        version: "0".to_owned(),
        summary: String::new(),
        code: String::new(),
        interpreter: Vec::new(),
        files: Vec::new(),
        arguments: None,
        path_args: Default::default(),
        capabilities: Vec::new(),
        limits: Limits::default(),
        backend: Backend::default(),
    }
}

fn set(field: &mut String, text: Option<&str>) {
    if let Some(text) = text {
        text.clone_into(field);
    }
}

fn read_name(reader: &mut Reader, node: &Node, at: &str) -> Option<String> {
    let text = reader.text(node, at)?;
    if text.is_empty() || text.len() > LONGEST_NAME || !text.chars().all(is_of_name) {
        let help = format!("a name has letters, digits, `-` and `_`, at most {LONGEST_NAME} bytes");
        reader.report(node.line, at, format!("`{text}` is no name of an executor"), &help);
        return None;
    }
    Some(text.to_owned())
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}

/// The stem of the code's file, in the letters of a name.
fn name_of(code: &str) -> String {
    let file = code.rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or("executor");
    let letters = stem.chars().map(|letter| if is_of_name(letter) { letter } else { '_' });
    letters.take(LONGEST_NAME).collect()
}

fn interpreter_of(code: &str) -> Vec<String> {
    let extension = code.rsplit('/').next().and_then(|file| file.rsplit_once('.'));
    match extension.map(|(_, extension)| extension) {
        Some("py") => vec!["python3".to_owned()],
        Some("js" | "mjs") => vec!["node".to_owned()],
        // Run by what runs guests, without a runtime of their own.
        Some("wasm") => vec!["stockade".to_owned(), "wasm".to_owned()],
        Some("ts" | "mts" | "cts") => vec!["stockade".to_owned(), "js".to_owned()],
        _ => Vec::new(),
    }
}

/// A path of the executor's own: absolute or relative to the manifest, and not upwards.
fn path<'tree>(reader: &mut Reader, node: &'tree Node, at: &str) -> Option<&'tree str> {
    let text = reader.line(node, at)?;
    let names_a_file = !text.ends_with('/') && !matches!(text, "." | "~");
    if text.split('/').any(|segment| segment == "..") || !names_a_file || text.starts_with("~") {
        let help = "write it relative to the manifest's directory and without `..`, or absolute";
        reader.report(node.line, at, format!("`{text}` is no path of a file here"), help);
        return None;
    }
    Some(text)
}

fn words(reader: &mut Reader, node: &Node, at: &str) -> Vec<String> {
    let items = reader.list(node, at).unwrap_or_default();
    let word = |(index, item): (usize, &Node)| {
        reader.line(item, &format!("{at}[{index}]")).map(str::to_owned)
    };
    items.iter().enumerate().filter_map(word).collect()
}

fn files(reader: &mut Reader, node: &Node, at: &str) -> Vec<CodeFile> {
    let mut files = Vec::new();
    for (index, item) in reader.list(node, at).unwrap_or_default().iter().enumerate() {
        let at = format!("{at}[{index}]");
        let (mut named, mut sha256) = (None, None);
        for entry in reader.entries(item, &at, FILE_KEYS) {
            match entry.key {
                "path" => named = path(reader, entry.node, &entry.at),
                _ => sha256 = digest(reader, entry.node, &entry.at),
            }
        }
        match (named, sha256) {
            (Some(path), Some(sha256)) => files.push(CodeFile { path: path.to_owned(), sha256 }),
            _ => reader.report(item.line, &at, "needs `path` and `sha256`", ""),
        }
    }
    files
}

fn digest(reader: &mut Reader, node: &Node, at: &str) -> Option<String> {
    let text = reader.text(node, at)?;
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        reader.report(
            node.line,
            at,
            "must be 64 hexadecimal digits",
            "`sha256sum FILE` prints them",
        );
        return None;
    }
    Some(text.to_ascii_lowercase())
}

fn limit(reader: &mut Reader, limits: &mut Limits, key: &str, node: &Node, at: &str) {
    let written = match &node.shape {
        Shape::Text(text) => text.clone(),
        Shape::Integer(number) => number.to_string(),
        Shape::Number(number) => number.to_string(),
        _ => {
            reader.wrong::<()>(node, at, "a number, or a text with a number and a unit");
            return;
        }
    };
    let expected = match key {
        "timeout_sec" => {
            let seconds = written.parse().ok().filter(|sec| (1..=MAX_TIMEOUT_SEC).contains(sec));
            seconds.map(|seconds| limits.timeout_sec = seconds).ok_or("1 to 86400 seconds")
        }
        "max_output" => {
            let most = bytes(&written);
            most.map(|most| limits.max_output = most).ok_or("1 byte to 64 MiB, such as `\"1M\"`")
        }
        "memory" => {
            limits.memory_mb = read_memory(&written);
            limits.memory_mb.map(drop).ok_or("a size such as `\"512M\"`, at least 16 MiB")
        }
        "pids" => {
            limits.pids = read_pids(&written);
            limits.pids.map(drop).ok_or("a number from 1 to 4194304")
        }
        _ => {
            limits.cpu_millis = read_cpus(&written);
            limits.cpu_millis.map(drop).ok_or("a number of processors from 0.01 to 1000")
        }
    };
    if let Err(expected) = expected {
        reader.report(node.line, at, format!("must be {expected}"), "");
    }
}

/// `65536`, `64K` or `1M`.
fn bytes(written: &str) -> Option<u64> {
    let digits = written.trim_end_matches('B').trim_end_matches('i');
    let (digits, factor) = match (digits.strip_suffix('K'), digits.strip_suffix('M')) {
        (Some(digits), _) => (digits, 1024),
        (_, Some(digits)) => (digits, 1024 * 1024),
        _ => (digits, 1),
    };
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_plain)?;
    number.checked_mul(factor).filter(|bytes| (1..=MAX_OUTPUT).contains(bytes))
}

/// `path_args` is the short form of the type `path`: brought into the types where there are some.
fn check_path_arguments(reader: &mut Reader, node: &Node, manifest: &mut Manifest) {
    let Some(arguments) = &mut manifest.arguments else { return };
    for name in &manifest.path_args {
        match arguments.get_mut(name) {
            Some(Argument { kind: kind @ ArgumentType::Text, .. }) => *kind = ArgumentType::Path,
            Some(Argument { kind: ArgumentType::List, items, .. })
                if matches!(items, None | Some(ArgumentType::Text)) =>
            {
                *items = Some(ArgumentType::Path);
            }
            Some(argument) if argument.kind == ArgumentType::Path => {}
            Some(Argument { items: Some(ArgumentType::Path), .. }) => {}
            Some(argument) => {
                let message = format!("`{name}` is of the type `{}`", argument.kind.word());
                reader.report(
                    node.line,
                    "path_args",
                    message,
                    "a path is a text or a list of texts",
                );
            }
            None => {
                let message = format!("there is no argument `{name}`");
                reader.report(node.line, "path_args", message, "name it in `[args]`");
            }
        }
    }
}

/// What capabilities say about arguments: each exists, and one that a hint names is a path or a URL.
fn check_mentions(reader: &mut Reader, node: &Node, manifest: &Manifest) {
    for (index, capability) in manifest.capabilities.iter().enumerate() {
        let at = format!("capabilities[{index}]");
        let is_known = |name: &str| {
            manifest.arguments.as_ref().is_none_or(|arguments| arguments.contains_key(name))
        };
        if let Some(when) = capability.when.as_ref().filter(|when| !is_known(&when.argument)) {
            let message = format!("`when` is about `{}`, which is no argument", when.argument);
            reader.report(node.line, &at, message, "name it in `[args]`");
        }
        let wanted = match capability.family() {
            "network" => ArgumentType::Url,
            _ => ArgumentType::Path,
        };
        for hint in &capability.hints {
            if let Hint::Argument(name) = hint
                && manifest.text_type_of(name) != wanted
            {
                let word = wanted.word();
                let message = format!("`arg:{name}` is about an argument that is no {word}");
                let help = format!("give it `type = \"{word}\"` in `[args.{name}]`");
                reader.report(node.line, &at, message, &help);
            }
        }
    }
}

/// Every key of a manifest.
pub(crate) const KEYS: &[&str] = &[
    "name",
    "version",
    "summary",
    "code",
    "code_path",
    "interpreter",
    "files",
    "path_args",
    "timeout_sec",
    "max_output",
    "backend",
    "memory",
    "pids",
    "cpus",
    "args",
    "capabilities",
];

/// Every key of a file.
pub(crate) const FILE_KEYS: &[&str] = &["path", "sha256"];

/// As long as the name of a cage.
const LONGEST_NAME: usize = 64;
