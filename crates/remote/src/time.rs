//! Times as requests and answers have them. Pure.

use vfs::Timestamp;

/// A day and a time of it, as signatures have them: `20261118T201503Z`.
pub(crate) fn compact(seconds: i64) -> String {
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let rest = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// A day and a time of it, as headers have them: `Wed, 18 Nov 2026 20:15:03 GMT`.
pub(crate) fn written(seconds: i64) -> String {
    let days = seconds.div_euclid(DAY);
    let (year, month, day) = date(days);
    let rest = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let name = |names: &[&'static str], number: i64| {
        usize::try_from(number).ok().and_then(|number| names.get(number).copied()).unwrap_or("")
    };
    // The first day of 1970 was a Thursday.
    let week_day = name(&DAYS, (days + 4).rem_euclid(7));
    let month = name(&MONTHS, month - 1);
    format!("{week_day}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// `2026-11-18T20:15:03.120Z`, as S3 lists it and Drive has it.
pub(crate) fn iso(text: &str) -> Option<Timestamp> {
    let (date, rest) = text.split_once('T')?;
    let rest = rest.strip_suffix('Z')?;
    let (clock, part) = rest.split_once('.').unwrap_or((rest, "0"));
    let mut date = date.splitn(3, '-').map(number);
    let mut clock = clock.splitn(3, ':').map(number);
    let days = days(date.next()??, date.next()??, date.next()??)?;
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let nanoseconds: String = part.chars().chain("000000000".chars()).take(9).collect();
    let seconds = days * DAY + hour * 3600 + minute * 60 + second;
    Some(Timestamp { seconds, nanoseconds: u32::try_from(number(&nanoseconds)?).ok()? })
}

/// The same with three digits of a second, as Drive is told it: the nearest time that a year of four digits has.
pub(crate) fn milliseconds(time: Timestamp) -> String {
    let seconds = time.seconds.clamp(FIRST, LAST);
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let rest = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let part = time.nanoseconds / 1_000_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{part:03}Z")
}

/// `Wed, 18 Nov 2026 20:15:03 GMT`, as a header has it.
pub(crate) fn http(text: &str) -> Option<Timestamp> {
    let rest = text.split_once(", ")?.1.strip_suffix(" GMT")?;
    let mut words = rest.split(' ');
    let (day, month, year) = (number(words.next()?)?, words.next()?, number(words.next()?)?);
    let month = MONTHS.iter().position(|name| *name == month)?;
    let mut clock = words.next()?.splitn(3, ':').map(number);
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let days = days(year, i64::try_from(month).ok()? + 1, day)?;
    let seconds = days * DAY + hour * 3600 + minute * 60 + second;
    Some(Timestamp { seconds, nanoseconds: 0 })
}

fn number(text: &str) -> Option<i64> {
    let is_number =
        !text.is_empty() && text.len() < 10 && text.bytes().all(|it| it.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Days since 1970, by the calendar that has a leap day every four years but in three of four centuries.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    is_date.then_some(era * 146_097 + of_era - 719_468)
}

fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

const DAY: i64 = 86_400;
/// The first second of the year 1, and the last of 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
