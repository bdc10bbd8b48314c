//! Lines and columns, asked for in any order.

use super::Source;

#[test]
fn columns_count_characters_whatever_was_asked_before() {
    let text = "a\u{e4}b = 1\n\nx = [\u{1f600}\u{1f600}, y, z]\nlast";
    let by_hand = |offset: usize| {
        let before = &text[..offset];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        (u32::try_from(line).unwrap(), u32::try_from(column).unwrap())
    };
    let offsets: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
    let forth_and_back = offsets.iter().chain(offsets.iter().rev());
    let source = Source::new("f", text);
    for offset in forth_and_back.chain(offsets.iter().step_by(3)) {
        assert_eq!(source.position(*offset), by_hand(*offset), "{offset}");
    }
    assert_eq!(source.position(2), (1, 1), "inside a character");
    assert_eq!(source.position(3), by_hand(3));
}
