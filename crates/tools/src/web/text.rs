//! From markup to text that a model reads: what is shown of a page, one line for each block, with the places that links
//! lead to. Knows the few elements that matter and takes everything else for text; whatever it is given, it ends.

/// The text of a page.
pub(super) fn of_markup(page: &str) -> String {
    let (mut text, mut rest, mut link) = (String::new(), page, None::<String>);
    while let Some(at) = rest.find('<') {
        let (before, tagged) = rest.split_at(at);
        add(&mut text, before);
        if let Some(after) = tagged.strip_prefix("<!--") {
            rest = after.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some((tag, after)) = tagged.get(1..).and_then(|tagged| tagged.split_once('>')) else {
            rest = "";
            break;
        };
        rest = after;
        let name: String = tag
            .chars()
            .take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '/')
            .collect::<String>()
            .to_ascii_lowercase();
        match name.as_str() {
            "script" | "style" | "noscript" | "svg" | "template" => rest = past(rest, &name),
            "a" => link = attribute(tag, "href").filter(|place| !place.starts_with('#')),
            "/a" => {
                if let Some(place) = link.take() {
                    text.push_str(&format!(" ({place})"));
                }
            }
            "li" => text.push_str("\n- "),
            "td" | "th" => text.push_str(" | "),
            "br" | "p" | "/p" | "div" | "/div" | "tr" | "/tr" | "/ul" | "/ol" | "pre" | "/pre"
            | "section" | "/section" | "article" | "table" | "/table" | "header" | "footer"
            | "hr" => {
                text.push('\n');
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => text.push_str("\n\n# "),
            "/h1" | "/h2" | "/h3" | "/h4" | "/h5" | "/h6" | "/title" => text.push('\n'),
            _ => {}
        }
    }
    add(&mut text, rest);
    tidy(&text)
}

/// What comes after the end of an element whose contents nobody reads.
fn past<'a>(rest: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}");
    // Letters that change their length in small ones would move the place.
    let place = rest
        .as_bytes()
        .windows(end.len())
        .position(|part| part.eq_ignore_ascii_case(end.as_bytes()));
    let after = place.and_then(|at| rest.get(at..)).unwrap_or_default();
    after.split_once('>').map_or("", |(_, after)| after)
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let at = tag.find(&format!("{name}="))? + name.len() + 1;
    let value = tag.get(at..)?;
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value.get(1..)?.split(quote).next()?,
        _ => value.split_ascii_whitespace().next()?,
    };
    Some(entities(value))
}

fn add(text: &mut String, part: &str) {
    text.push_str(&entities(part));
}

fn entities(part: &str) -> String {
    let mut shown = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('&') {
        let (before, entity) = rest.split_at(at);
        shown.push_str(before);
        let end = entity.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';');
        let read = end.and_then(|end| Some((letter(entity.get(1..end)?)?, entity.get(end + 1..)?)));
        match read {
            Some((letter, after)) => {
                shown.push(letter);
                rest = after;
            }
            None => {
                shown.push('&');
                rest = entity.get(1..).unwrap_or_default();
            }
        }
    }
    shown.push_str(rest);
    shown
}

fn letter(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let read = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        return read.ok().and_then(char::from_u32).filter(|letter| !letter.is_control());
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "copy" => '©',
        _ => return None,
    })
}

/// Lines without space around them, and at most one empty one between others.
fn tidy(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut was_empty = true;
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() && was_empty {
            continue;
        }
        was_empty = line.is_empty();
        shown.push_str(&line);
        shown.push('\n');
    }
    shown
}

const LONGEST_ENTITY: usize = 12;
