//! Which string sequences pass: titles, colours, links to the web, marks, pictures. Not the clipboard, files, notifications,
//! fonts, the directory in which the next window's shell starts, settings that are reported back, keys and macros that are defined,
//! or commands of a terminal's own, which can start programs.

use super::Answers;
use super::changes::{Change, Changes};

/// Whether an operating system command may reach the terminal.
pub(super) fn command_passes(body: &[u8], changes: &mut Changes, answers: Answers) -> bool {
    let Ok(body) = std::str::from_utf8(body) else { return false };
    // Terminals differ in what a control character does there.
    if body.chars().any(char::is_control) {
        return false;
    }
    let (number, rest) = match body.split_once(';') {
        Some((number, rest)) => (number, Some(rest)),
        None => (body, None),
    };
    match (number, rest) {
        ("0" | "1" | "2" | "133", _) => true,
        ("4", Some(rest)) => is_palette(rest, changes, answers),
        ("8", Some(rest)) => is_link(rest, changes),
        ("104", rest) => {
            if rest.is_none() {
                changes.unmake(Change::Palette);
            }
            true
        }
        (number, Some(colour)) => {
            let Some(change) = colour_change(number) else { return false };
            set_colour(colour, change, changes, answers)
        }
        (number, None) => {
            let change = number.strip_prefix('1').and_then(colour_change);
            change.map(|change| changes.unmake(change)).is_some()
        }
    }
}

/// Pairs of a colour's number and its value.
fn is_palette(pairs: &str, changes: &mut Changes, answers: Answers) -> bool {
    let asks = pairs.split(';').any(|part| part == QUESTION);
    changes.make(Change::Palette);
    !asks || answers == Answers::ToProgram
}

/// One colour. A second one would be that of something else.
fn set_colour(colour: &str, change: Change, changes: &mut Changes, answers: Answers) -> bool {
    match colour {
        QUESTION => answers == Answers::ToProgram,
        colour if colour.contains(';') => false,
        _ => {
            changes.make(change);
            true
        }
    }
}

fn colour_change(number: &str) -> Option<Change> {
    Some(match number {
        "10" => Change::Foreground,
        "11" => Change::Background,
        "12" => Change::CursorColour,
        "17" => Change::SelectionBackground,
        "19" => Change::SelectionForeground,
        _ => return None,
    })
}

fn is_link(rest: &str, changes: &mut Changes) -> bool {
    let Some((_, target)) = rest.split_once(';') else { return false };
    let is_web = target.starts_with("https://") || target.starts_with("http://");
    let passes = target.is_empty() || is_web;
    if passes {
        changes.set(Change::Link, is_web);
    }
    passes
}

/// Whether a device control string may reach the terminal: a picture, or the frame around what is to be
/// drawn at once.
pub(super) fn device_passes(body: &[u8], changes: &mut Changes) -> bool {
    match body {
        b"=1s" => changes.make(Change::Frame),
        b"=2s" => changes.unmake(Change::Frame),
        body => {
            let is_parameter = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
            let mut picture = body.iter().skip_while(|byte| is_parameter(byte));
            let is_picture = picture.next() == Some(&b'q');
            changes.make(Change::Cursor);
            return is_picture && picture.all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\n'));
        }
    }
    true
}

const QUESTION: &str = "?";
