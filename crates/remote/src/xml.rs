//! As much of XML as stores list with: tags without attributes, and five entities. Only what is asked for is looked at;
//! everything is bounded by the length of the answer. Pure.

/// What is between a tag and its end, for each.
pub(crate) fn elements<'a>(text: &'a str, tag: &str) -> impl Iterator<Item = &'a str> {
    let (begin, end) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&begin)?;
        let (inside, after) = after.split_once(&end)?;
        rest = after;
        Some(inside)
    })
}

/// The first of them.
pub(crate) fn element<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    elements(text, tag).next()
}

/// The text that a tag's content stands for.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        let (entity, after) = after.split_once(';')?;
        all.push_str(before);
        all.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let number = entity.strip_prefix('#')?;
                let code = match number.strip_prefix('x') {
                    Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code)?
            }
        });
        rest = after;
    }
    all.push_str(rest);
    Some(all)
}
