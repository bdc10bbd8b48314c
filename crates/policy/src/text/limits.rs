//! `limits`: numbers with a range each, in a text of their own or with a unit in a flag. `cpu_shares` is converted here and nowhere else.

use toml::de::DeValue;

use super::decode::{Decoder, Value};
use super::diagnostic::{Code, Diagnostic, Span};
use super::words;
use crate::Limits;

/// Least and most of a limit.
pub(crate) struct Bounds {
    pub(crate) word: &'static str,
    pub(crate) least: i64,
    pub(crate) most: i64,
}

// The upper ends keep later arithmetic exact (bytes of memory in 64 bits) or are the kernel's own
// (threads of a machine, cgroup weights).
pub(crate) const MEMORY_MB: Bounds = Bounds { word: "memory_mb", least: 16, most: 1 << 40 };
pub(crate) const CPU_SHARES: Bounds = Bounds { word: "cpu_shares", least: 2, most: 262_144 };
pub(crate) const CPU_WEIGHT: Bounds = Bounds { word: "cpu_weight", least: 1, most: 10_000 };
pub(crate) const CPU_MILLIS: Bounds = Bounds { word: "cpus", least: 10, most: 1_000_000 };
pub(crate) const PIDS: Bounds = Bounds { word: "pids", least: 1, most: 4_194_304 };
pub(crate) const WALLTIME_SEC: Bounds = Bounds { word: "walltime_sec", least: 1, most: 1 << 40 };
pub(crate) const TMP_MB: Bounds = Bounds { word: "tmp_mb", least: 1, most: 1 << 23 };
pub(crate) const HOME_MB: Bounds = Bounds { word: "home_mb", least: 1, most: 1 << 23 };
pub(crate) const WORKSPACE_MB: Bounds = Bounds { word: "workspace_mb", least: 1, most: 16 << 20 };

impl Bounds {
    fn hold<T: TryFrom<i64>>(&self, number: i64) -> Option<T> {
        let is_within = (self.least..=self.most).contains(&number);
        T::try_from(number).ok().filter(|_| is_within)
    }
}

/// `512M`, in MiB: the limit on memory as a flag has it.
pub fn memory(written: &str) -> Option<u64> {
    MEMORY_MB.hold(mebibytes(written)?)
}

/// `512M`, in MiB: the room of a file system in memory as a flag has it.
pub(super) fn room(written: &str) -> Option<u64> {
    TMP_MB.hold(mebibytes(written)?)
}

/// The same, of what layers take.
pub(super) fn workspace(written: &str) -> Option<u64> {
    WORKSPACE_MB.hold(mebibytes(written)?)
}

/// Nobody means thousandths of a byte by `8m`.
const SIZES: &[(&str, i64)] =
    &[("M", 1), ("m", 1), ("G", 1024), ("g", 1024), ("T", 1024 * 1024), ("t", 1024 * 1024)];

fn mebibytes(written: &str) -> Option<i64> {
    let digits = written.trim_end_matches(['B', 'b']).trim_end_matches('i');
    with_unit(digits, SIZES)
}

/// `90` or `10m`, in seconds.
pub(super) fn time(written: &str) -> Option<u64> {
    let units = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("", 1)];
    WALLTIME_SEC.hold(with_unit(written, &units)?)
}

/// `128`: the limit on processes as a flag has it.
pub fn pids(written: &str) -> Option<u32> {
    PIDS.hold(whole_number(written)?)
}

/// `1.5`, in thousandths: the limit on processors as a flag has it.
pub fn cpus(written: &str) -> Option<u32> {
    let is_plain = written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    millis_of(written).filter(|_| is_plain)
}

fn with_unit(written: &str, units: &[(&str, i64)]) -> Option<i64> {
    units
        .iter()
        .find_map(|(unit, factor)| whole_number(written.strip_suffix(unit)?)?.checked_mul(*factor))
}

/// Digits alone.
pub(super) fn whole_number(written: &str) -> Option<i64> {
    written.bytes().all(|byte| byte.is_ascii_digit()).then(|| written.parse().ok())?
}

pub(super) fn decode<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> Limits {
    let mut limits = Limits::default();
    let Some(table) = decoder.table(value, "a table such as `{ memory_mb = 512 }`") else {
        return limits;
    };
    let mut weight_at: Option<Span> = None;
    for entry in decoder.entries(table, words::LIMITS, "in `limits`") {
        match entry.word {
            "memory_mb" => limits.memory_mb = whole(decoder, entry.value, &MEMORY_MB),
            "pids" => limits.pids = whole(decoder, entry.value, &PIDS),
            "walltime_sec" => limits.walltime_sec = whole(decoder, entry.value, &WALLTIME_SEC),
            "tmp_mb" => limits.tmp_mb = whole(decoder, entry.value, &TMP_MB),
            "home_mb" => limits.home_mb = whole(decoder, entry.value, &HOME_MB),
            "workspace_mb" => limits.workspace_mb = whole(decoder, entry.value, &WORKSPACE_MB),
            "cpus" => limits.cpu_millis = processors(decoder, entry.value),
            _ => {
                let weight = if entry.word == "cpu_shares" {
                    whole(decoder, entry.value, &CPU_SHARES).map(weight_of_shares)
                } else {
                    whole(decoder, entry.value, &CPU_WEIGHT)
                };
                if let Some(earlier) = weight_at.replace(entry.at.clone()) {
                    let message = "`cpu_shares` and `cpu_weight` are the same limit on two scales";
                    decoder.report(
                        Diagnostic::new(Code::LimitTwice, entry.at, message)
                            .also_at(earlier, "already given here")
                            .help("keep one of them"),
                    );
                }
                limits.cpu_weight = weight;
            }
        }
    }
    limits
}

/// The scale of cgroup v1 (2 to 262144) on that of v2 (1 to 10000), as the kernel's documentation
/// and container runtimes convert it.
pub fn weight_of_shares(shares: u32) -> u32 {
    let above_least = u64::from(shares.saturating_sub(2));
    let weight = 1 + above_least * 9999 / 262_142;
    u32::try_from(weight).unwrap_or(10_000).min(10_000)
}

fn whole<'text, T: TryFrom<i64>>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
    bounds: &Bounds,
) -> Option<T> {
    let number = decoder.integer(value, "a whole number")?;
    let held = bounds.hold(number);
    if held.is_none() {
        let range = if number < bounds.least {
            format!("at least {}", bounds.least)
        } else {
            format!("at most {}", bounds.most)
        };
        out_of_range(decoder, value, bounds.word, &range);
    }
    held
}

fn processors<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> Option<u32> {
    let text = match value.get_ref() {
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Integer(_) => decoder.integer(value, "a number")?.to_string(),
        _ => return decoder.wrong_type(value, "a number such as `1.5`"),
    };
    let millis = millis_of(&text);
    if millis.is_none() {
        out_of_range(decoder, value, CPU_MILLIS.word, "at least 0.01 and at most 1000");
    }
    millis
}

/// Thousandths of a processor, if the number is in range.
fn millis_of(text: &str) -> Option<u32> {
    let millis = (text.parse::<f64>().ok()? * 1000.0).floor();
    // A comparison with a number that is none is false, so this also refuses `nan`.
    if millis >= CPU_MILLIS.least as f64 && millis <= CPU_MILLIS.most as f64 {
        Some(millis as u32)
    } else {
        None
    }
}

fn out_of_range(decoder: &mut Decoder<'_>, value: &Value<'_>, word: &str, range: &str) {
    let message = format!("`{word}` is {range}");
    let diagnostic = Diagnostic::new(Code::OutOfRange, value.span(), message);
    decoder.report(diagnostic.label("out of range"));
}
