//! Which two- and three-byte escape sequences pass. Not those that change how the terminal reads bytes or answers, that
//! shift character sets for good or for one character, or that make it tell what it is.

use super::changes::{Change, Changes};

/// Whether `ESC` and these may reach the terminal.
pub(super) fn passes(body: &[u8], changes: &mut Changes) -> bool {
    match body {
        // Tabulators, and the coding in which this filter reads.
        b"H" | b"%G" => {}
        b"7" => changes.save_cursor(),
        b"8" => changes.restore_cursor(),
        b"=" => changes.make(Change::Keypad),
        b">" => changes.unmake(Change::Keypad),
        // Lines, the reset, the screen full of letters: what was changed is undone again all the same.
        b"D" | b"E" | b"M" | b"c" | b"#8" => changes.make(Change::Cursor),
        b"(0" => changes.make(Change::Drawing),
        b"(B" => changes.unmake(Change::Drawing),
        // Without a shift these sets are not shown.
        b")0" | b")B" | b"*0" | b"*B" | b"+0" | b"+B" => {}
        _ => return false,
    }
    true
}
