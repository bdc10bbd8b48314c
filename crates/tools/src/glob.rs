//! Patterns of names: `*`, `?`, `[a-z]`, `{a,b}` and `**` for any number of directories. Takes time that grows with
//! pattern times name, whatever the pattern is.

/// A pattern.
#[derive(Debug)]
pub(crate) struct Glob(Vec<Vec<Segment>>);

#[derive(Debug)]
enum Segment {
    /// Any number of directories.
    Any,
    /// One name.
    Name(Vec<char>),
}

impl Glob {
    /// Reads a pattern; the reason if it is none.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut texts = vec![text.to_owned()];
        // Braces are written out first.
        while let Some(at) = texts.iter().position(|text| text.contains('{')) {
            let text = texts.swap_remove(at);
            let (before, rest) = text.split_once('{').unwrap_or_default();
            let Some((inside, after)) = rest.split_once('}') else {
                return Err("a `{` has no `}`".to_owned());
            };
            if inside.contains('{') {
                return Err("braces within braces are not supported".to_owned());
            }
            texts.extend(inside.split(',').map(|choice| format!("{before}{choice}{after}")));
            if texts.len() > MOST_CHOICES {
                return Err(format!("it stands for more than {MOST_CHOICES} patterns"));
            }
        }
        let segment = |part: &str| match part {
            "**" => Segment::Any,
            name => Segment::Name(name.chars().collect()),
        };
        let segments = |text: &String| {
            text.split('/').filter(|part| !part.is_empty() && *part != ".").map(segment).collect()
        };
        Ok(Self(texts.iter().map(segments).collect()))
    }

    /// Whether a relative path fits.
    pub(crate) fn fits(&self, path: &str) -> bool {
        let names: Vec<Vec<char>> = path.split('/').map(|name| name.chars().collect()).collect();
        self.0.iter().any(|pattern| match pattern.as_slice() {
            // A pattern without a slash is about names, wherever they are.
            [Segment::Name(pattern)] => names.last().is_some_and(|name| name_fits(pattern, name)),
            pattern => path_fits(pattern, &names),
        })
    }
}

/// Goes back to the last `**` when something does not fit, and to no earlier one: that finds a fit if there is one.
fn path_fits(pattern: &[Segment], names: &[Vec<char>]) -> bool {
    let (mut at, mut name, mut back) = (0, 0, None);
    while name < names.len() {
        match (pattern.get(at), names.get(name)) {
            (Some(Segment::Any), _) => {
                back = Some((at, name));
                at += 1;
            }
            (Some(Segment::Name(part)), Some(there)) if name_fits(part, there) => {
                (at, name) = (at + 1, name + 1)
            }
            _ => match back {
                Some((any, from)) => {
                    back = Some((any, from + 1));
                    (at, name) = (any + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|rest| matches!(rest, Segment::Any))
}

/// The same for letters and `*`.
fn name_fits(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut letter, mut back) = (0, 0, None);
    while let Some(there) = name.get(letter) {
        let fit = match pattern.get(at) {
            Some('*') => {
                back = Some((at, letter));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(pattern.get(at..).unwrap_or_default(), *there),
            Some(other) => (other == there).then_some(1),
            None => None,
        };
        match (fit, back) {
            (Some(length), _) => (at, letter) = (at + length, letter + 1),
            (None, Some((star, from))) => {
                back = Some((star, from + 1));
                (at, letter) = (star + 1, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|rest| *rest == '*')
}

/// Whether a letter fits a class at the beginning of a pattern, and how long the class is.
fn class(pattern: &[char], letter: char) -> Option<usize> {
    let end = pattern.iter().skip(2).position(|part| *part == ']').map(|at| at + 2);
    let Some(end) = end else { return (letter == '[').then_some(1) };
    let inside = pattern.get(1..end).unwrap_or_default();
    let (is_negated, inside) = match inside {
        ['!' | '^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut rest = inside;
    let mut fits = false;
    loop {
        match rest {
            [from, '-', to, more @ ..] => {
                fits |= (*from..=*to).contains(&letter);
                rest = more;
            }
            [one, more @ ..] => {
                fits |= *one == letter;
                rest = more;
            }
            [] => break,
        }
    }
    (fits != is_negated).then_some(end + 1)
}

const MOST_CHOICES: usize = 64;

#[cfg(test)]
mod tests;
