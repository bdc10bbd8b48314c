//! Files as lines for a person: nothing in a name moves a cursor.

use std::fmt::Write as _;

use policy::shown::shown;

use crate::entry::Entry;

/// One line for each file, as `ls -l` has them.
pub(super) fn lines(entries: &[Entry]) -> String {
    let width = entries.iter().map(|entry| entry.size.to_string().len()).max().unwrap_or(1);
    entries.iter().fold(String::new(), |mut all, entry| {
        let (mode, size) = (entry.permissions(), entry.size);
        let date = date(entry.modified);
        let _fits = writeln!(all, "{mode} {size:>width$} {date} {}", named(entry, &name(entry)));
        all
    })
}

/// Everything that is known of one.
pub(super) fn described(entry: &Entry) -> String {
    let mut all = format!(
        "path      {}\nkind      {}\nsize      {}\nmode      {} ({:04o})\nowner     {}:{}\nmodified  {}\n",
        shown(&entry.name),
        entry.kind,
        entry.size,
        entry.permissions(),
        entry.mode,
        entry.uid,
        entry.gid,
        date(entry.modified)
    );
    if let Some(target) = &entry.target {
        let _fits = writeln!(all, "leads to  {}", shown(target));
    }
    all
}

/// A tree with branches.
pub(super) fn drawn(entries: &[Entry]) -> String {
    let depth = |entry: &Entry| entry.name.as_bytes().iter().filter(|byte| **byte == b'/').count();
    let depths: Vec<usize> = entries.iter().map(depth).collect();
    let mut all = String::new();
    // From the last on it is known for each level whether something comes after.
    let mut goes_on: Vec<bool> = Vec::new();
    let mut lines = Vec::new();
    for (entry, depth) in entries.iter().zip(&depths).rev() {
        goes_on.resize(depth + 1, false);
        let mut line = String::new();
        for level in goes_on.iter().take(*depth) {
            line.push_str(if *level { "│   " } else { "    " });
        }
        let is_followed = goes_on.get(*depth).copied().unwrap_or_default();
        line.push_str(if is_followed { "├── " } else { "└── " });
        if let Some(level) = goes_on.get_mut(*depth) {
            *level = true;
        }
        let last = entry.name.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let name = shown(plan::ByteString::from(last)).to_string();
        lines.push(format!("{line}{}\n", named(entry, &name)));
    }
    all.extend(lines.into_iter().rev());
    all
}

/// An amount of bytes, for a person.
pub(super) fn amount(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut whole = bytes;
    let mut part = 0;
    while whole >= 1024 && unit + 1 < units.len() {
        part = whole % 1024 * 10 / 1024;
        whole /= 1024;
        unit += 1;
    }
    let unit = units.get(unit).copied().unwrap_or_default();
    if unit == "B" { format!("{whole} B") } else { format!("{whole}.{part} {unit}") }
}

fn name(entry: &Entry) -> String {
    shown(&entry.name).to_string()
}

/// A name with what tells its kind.
fn named(entry: &Entry, name: &str) -> String {
    match (&entry.target, entry.kind) {
        (Some(target), _) => format!("{name} -> {}", shown(target)),
        (None, "directory") => format!("{name}/"),
        _ => name.to_owned(),
    }
}

/// A moment as `YYYY-MM-DD HH:MM`, in the world's time.
fn date(seconds: i64) -> String {
    let days = seconds.div_euclid(DAY);
    let minutes = seconds.rem_euclid(DAY) / 60;
    // Howard Hinnant's `civil_from_days`: years that begin in March, in eras of 400.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minutes / 60, minutes % 60)
}

const DAY: i64 = 24 * 60 * 60;

#[cfg(test)]
mod tests;
