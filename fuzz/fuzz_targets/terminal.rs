//! What a caged program may write to the user's terminal, on two streams and in any pieces: a real terminal's parser behind the
//! filter is told nothing that it must not do, has nothing open after any piece, and is in order before our own words. What has
//! passed passes again.
#![no_main]

#[path = "../../crates/terminal/tests/filter/terminal.rs"]
mod terminal;

use ::terminal::{Answers, Filter, Source};
use libfuzzer_sys::fuzz_target;
use terminal::{State, Terminal};

fuzz_target!(|data: &[u8]| {
    let Some((settings, mut rest)) = data.split_first() else { return };
    let answers = if settings & 1 == 0 { Answers::ToProgram } else { Answers::ToOthers };
    let mut filter = Filter::new(answers);
    let mut terminal = Terminal::default();
    terminal.screen.has_one_place = settings & 2 != 0;
    let mut all_passed = Vec::new();
    // Each piece has a byte before it that says how long it is, where it comes from, and whether our words come after it.
    while let Some((head, after)) = rest.split_first() {
        let (piece, after) = after.split_at(usize::from(head >> 2).min(after.len()));
        rest = after;
        let source = if head & 1 == 0 { Source::Output } else { Source::Error };
        let mut passed = Vec::new();
        filter.pass(source, piece, &mut passed);
        terminal.take(&passed);
        all_passed.extend(&passed);
        assert!(terminal.shows_what_comes());
        if head & 2 != 0 {
            restore(&mut filter, &mut terminal, &mut all_passed);
        }
    }
    restore(&mut filter, &mut terminal, &mut all_passed);
    assert_eq!(terminal.screen.forbidden, Vec::<String>::new());
    assert!(answers == Answers::ToProgram || terminal.screen.asked.is_empty());
    let mut again = Vec::new();
    Filter::new(answers).pass(Source::Output, &all_passed, &mut again);
    assert_eq!(again, all_passed);
});

fn restore(filter: &mut Filter, terminal: &mut Terminal, all_passed: &mut Vec<u8>) {
    let mut undo = Vec::new();
    filter.restore(&mut undo);
    terminal.take(&undo);
    all_passed.extend(&undo);
    assert_eq!(terminal.screen.state, State::default());
    assert!(terminal.shows_what_comes());
}
