//! What a file is, by how it begins and never by its name. Reads only what it is given. A26

/// What a program is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestKind {
    /// A module of WebAssembly.
    Module,
    /// A component of WebAssembly, which is another format behind the same four bytes.
    Component,
    /// A program for the processor.
    Native,
    /// Text that names its interpreter.
    Script,
    /// Anything else.
    Other,
}

impl GuestKind {
    /// What begins so. Eight bytes tell all of them apart.
    pub fn of(start: &[u8]) -> Self {
        match start {
            [0, b'a', b's', b'm', _, _, 0, 0, ..] => Self::Module,
            [0, b'a', b's', b'm', _, _, 1, 0, ..] => Self::Component,
            [0x7f, b'E', b'L', b'F', ..] => Self::Native,
            [b'#', b'!', ..] => Self::Script,
            _ => Self::Other,
        }
    }
}
