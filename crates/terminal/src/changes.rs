//! What a program has changed on a terminal and not changed back, as far as it passed the filter: modes, colours, character
//! sets, the place of the cursor. Undoes just that. Knows the order in which it has to be undone, and never what the terminal
//! was like before the program: what it takes for normal is what shells expect.

/// What has to be undone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changes {
    /// One bit for each [`Change`].
    made: u64,
    /// Those that come back with the cursor, if the program has it put back to where it was saved.
    saved: u64,
    /// Titles that were put on the terminal's stack.
    titles: u8,
    /// Kinds of keyboard that were put on the terminal's stack.
    keyboards: u8,
    /// Whether the cursor is somewhere in a line that was written before.
    is_in_line: bool,
}

/// Something that can be changed and undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Synchronized,
    Frame,
    Alternate1049,
    Alternate1047,
    Alternate47,
    SideMargins,
    ScrollRegion,
    Attributes,
    Font,
    ShiftedOut,
    Drawing,
    Link,
    Palette,
    Foreground,
    Background,
    CursorColour,
    SelectionBackground,
    SelectionForeground,
    ReverseVideo,
    NoWrap,
    Insert,
    HiddenCursor,
    DimCursor,
    ConsoleCursor,
    CursorStyle,
    CursorKeys,
    NoRepeat,
    Keypad,
    KeypadMode,
    MouseX10,
    MouseButtons,
    MouseDrags,
    MouseMoves,
    MouseUtf8,
    MouseSgr,
    MouseUrxvt,
    MousePixels,
    Focus,
    BracketedPaste,
    Graphemes,
    ColourScheme,
    Resizes,
    OtherKeys,
    KeyboardFlags,
    /// The cursor was put elsewhere than where text comes next.
    Cursor,
}

/// Whether a mode is on where nobody has changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is off, or on, and changing that is undone.
    Off(Change),
    On(Change),
    /// Nobody needs it on, and off it does no harm.
    OffOnly,
    /// It does no harm either way.
    Free,
}

impl Changes {
    pub(super) fn make(&mut self, change: Change) {
        self.made |= bit(change);
    }

    pub(super) fn unmake(&mut self, change: Change) {
        self.made &= !bit(change);
    }

    pub(super) fn set(&mut self, change: Change, is_made: bool) {
        if is_made { self.make(change) } else { self.unmake(change) }
    }

    /// What the terminal keeps with the cursor is saved.
    pub(super) fn save_cursor(&mut self) {
        self.saved |= self.made & kept_with_cursor();
    }

    /// What was ever saved with the cursor may come back.
    pub(super) fn restore_cursor(&mut self) {
        self.made |= self.saved | bit(Change::Cursor);
    }

    pub(super) fn push_title(&mut self) -> bool {
        push(&mut self.titles)
    }

    /// Only a title that this program has put there is its to take.
    pub(super) fn pop_title(&mut self) -> bool {
        pop(&mut self.titles, 1)
    }

    pub(super) fn push_keyboard(&mut self) -> bool {
        push(&mut self.keyboards)
    }

    pub(super) fn pop_keyboards(&mut self, count: u32) -> bool {
        pop(&mut self.keyboards, count)
    }

    /// Whether a control byte may pass. Not the one that has the terminal tell its name, nor those that
    /// no terminal needs and that begin file transfers on some.
    pub(super) fn note_control_byte(&mut self, byte: u8) -> bool {
        match byte {
            LINE_FEED => self.is_in_line = false,
            BACKSPACE | CARRIAGE_RETURN => self.is_in_line = true,
            SHIFT_OUT => self.make(Change::ShiftedOut),
            SHIFT_IN => self.unmake(Change::ShiftedOut),
            NULL | BELL | TAB | VERTICAL_TAB | FORM_FEED | DELETE => {}
            _ => return false,
        }
        true
    }

    /// Appends what undoes everything.
    pub(super) fn undo(&mut self, written: &mut Vec<u8>) {
        if self.made & bit(Change::Alternate1049) != 0 {
            self.restore_cursor();
        }
        // The alternate screen, which is left below, has a stack of its own.
        if self.keyboards > 0 {
            written.extend_from_slice(format!("\x1b[<{}u", self.keyboards).as_bytes());
        }
        for (change, undo) in UNDO {
            let is_made = self.made & bit(*change) != 0;
            let is_made = is_made || *change == Change::KeyboardFlags && self.keyboards > 0;
            let is_made = is_made || *change == Change::Cursor && self.is_in_line;
            if is_made {
                written.extend_from_slice(undo);
            }
        }
        for _ in 0..self.titles {
            written.extend_from_slice(b"\x1b[23;0;0t");
        }
        // What the terminal has saved stays there.
        *self = Self { saved: self.saved, ..Self::default() };
    }
}

fn push(stack: &mut u8) -> bool {
    let has_room = *stack < DEEPEST_STACK;
    *stack += u8::from(has_room);
    has_room
}

fn pop(stack: &mut u8, count: u32) -> bool {
    match u8::try_from(count).ok().and_then(|count| stack.checked_sub(count)) {
        Some(left) => *stack = left,
        None => return false,
    }
    true
}

fn bit(change: Change) -> u64 {
    1 << change as u64
}

fn kept_with_cursor() -> u64 {
    [Change::Attributes, Change::Font, Change::ShiftedOut, Change::Drawing, Change::NoWrap]
        .into_iter()
        .fold(0, |bits, change| bits | bit(change))
}

/// A private mode of the terminal that a program may set or reset. Not one that changes how the terminal reads bytes, what it
/// is, its window, or where it writes.
pub(super) fn private_mode(number: u32) -> Option<Mode> {
    Some(match number {
        1 => Mode::Off(Change::CursorKeys),
        5 => Mode::Off(Change::ReverseVideo),
        7 => Mode::On(Change::NoWrap),
        8 => Mode::On(Change::NoRepeat),
        9 => Mode::Off(Change::MouseX10),
        25 => Mode::On(Change::HiddenCursor),
        47 => Mode::Off(Change::Alternate47),
        66 => Mode::Off(Change::KeypadMode),
        69 => Mode::Off(Change::SideMargins),
        1000 => Mode::Off(Change::MouseButtons),
        1002 => Mode::Off(Change::MouseDrags),
        1003 => Mode::Off(Change::MouseMoves),
        1004 => Mode::Off(Change::Focus),
        1005 => Mode::Off(Change::MouseUtf8),
        1006 => Mode::Off(Change::MouseSgr),
        1015 => Mode::Off(Change::MouseUrxvt),
        1016 => Mode::Off(Change::MousePixels),
        1047 => Mode::Off(Change::Alternate1047),
        1049 => Mode::Off(Change::Alternate1049),
        2004 => Mode::Off(Change::BracketedPaste),
        2026 => Mode::Off(Change::Synchronized),
        2027 => Mode::Off(Change::Graphemes),
        2031 => Mode::Off(Change::ColourScheme),
        2048 => Mode::Off(Change::Resizes),
        // Columns, smooth scrolling, origin and highlighting, which strings that set a terminal up switch off.
        3 | 4 | 6 | 1001 => Mode::OffOnly,
        // Blinking, scrolling by keys, meta keys, the saved cursor.
        12 | 1007 | 1034 | 1036 | 1048 => Mode::Free,
        _ => return None,
    })
}

/// A mode of the standard that a program may set or reset.
pub(super) fn standard_mode(number: u32) -> Option<Mode> {
    Some(match number {
        4 => Mode::Off(Change::Insert),
        34 => Mode::On(Change::DimCursor),
        _ => return None,
    })
}

/// What undoes each change, in order. Leaving a screen brings a saved cursor back and attributes with it. Margins move the
/// cursor, which is saved meanwhile, with attributes that must be in order by then.
const UNDO: &[(Change, &[u8])] = &[
    (Change::Synchronized, b"\x1b[?2026l"),
    (Change::Frame, b"\x1bP=2s\x1b\\"),
    (Change::Alternate1049, b"\x1b[?1049l"),
    (Change::Alternate1047, b"\x1b[?1047l"),
    (Change::Alternate47, b"\x1b[?47l"),
    (Change::Attributes, b"\x1b[0m"),
    (Change::Font, b"\x1b[10m"),
    (Change::ShiftedOut, b"\x0f"),
    (Change::Drawing, b"\x1b(B"),
    (Change::NoWrap, b"\x1b[?7h"),
    (Change::SideMargins, b"\x1b7\x1b[?69l\x1b8"),
    (Change::ScrollRegion, b"\x1b7\x1b[r\x1b8"),
    (Change::Link, b"\x1b]8;;\x1b\\"),
    (Change::Palette, b"\x1b]104\x1b\\"),
    (Change::Foreground, b"\x1b]110\x1b\\"),
    (Change::Background, b"\x1b]111\x1b\\"),
    (Change::CursorColour, b"\x1b]112\x1b\\"),
    (Change::SelectionBackground, b"\x1b]117\x1b\\"),
    (Change::SelectionForeground, b"\x1b]119\x1b\\"),
    (Change::ReverseVideo, b"\x1b[?5l"),
    (Change::Insert, b"\x1b[4l"),
    (Change::HiddenCursor, b"\x1b[?25h"),
    (Change::DimCursor, b"\x1b[34h"),
    (Change::ConsoleCursor, b"\x1b[?0c"),
    (Change::CursorStyle, b"\x1b[0 q"),
    (Change::CursorKeys, b"\x1b[?1l"),
    (Change::NoRepeat, b"\x1b[?8h"),
    (Change::Keypad, b"\x1b>"),
    (Change::KeypadMode, b"\x1b[?66l"),
    (Change::MouseX10, b"\x1b[?9l"),
    (Change::MouseButtons, b"\x1b[?1000l"),
    (Change::MouseDrags, b"\x1b[?1002l"),
    (Change::MouseMoves, b"\x1b[?1003l"),
    (Change::MouseUtf8, b"\x1b[?1005l"),
    (Change::MouseSgr, b"\x1b[?1006l"),
    (Change::MouseUrxvt, b"\x1b[?1015l"),
    (Change::MousePixels, b"\x1b[?1016l"),
    (Change::Focus, b"\x1b[?1004l"),
    (Change::BracketedPaste, b"\x1b[?2004l"),
    (Change::Graphemes, b"\x1b[?2027l"),
    (Change::ColourScheme, b"\x1b[?2031l"),
    (Change::Resizes, b"\x1b[?2048l"),
    (Change::OtherKeys, b"\x1b[>4m"),
    (Change::KeyboardFlags, b"\x1b[=0u"),
    // What the program has written behind the cursor must not read as the rest of our words.
    (Change::Cursor, b"\x1b[J"),
];

/// As many as terminals keep.
const DEEPEST_STACK: u8 = 8;

const NULL: u8 = 0x00;
const BELL: u8 = 0x07;
const BACKSPACE: u8 = 0x08;
const TAB: u8 = 0x09;
const LINE_FEED: u8 = 0x0a;
const VERTICAL_TAB: u8 = 0x0b;
const FORM_FEED: u8 = 0x0c;
const CARRIAGE_RETURN: u8 = 0x0d;
const SHIFT_OUT: u8 = 0x0e;
const SHIFT_IN: u8 = 0x0f;
const DELETE: u8 = 0x7f;
