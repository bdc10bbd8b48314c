//! A checked classic BPF program: what holding one proves is that the kernel's own checks
//! (`bpf_check_classic` and `seccomp_check_filter`) would pass, and that it ends on every input.
//! Never repairs what it reads.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::instruction::*;

/// The most instructions that the kernel takes (`BPF_MAXINSNS`).
pub const MAX_INSTRUCTIONS: usize = 4096;

/// Words of scratch memory that a program has (`BPF_MEMWORDS`).
pub(super) const MEMORY_WORDS: u32 = 16;

/// Bytes of `struct seccomp_data`.
pub(super) const DATA_BYTES: u32 = 64;

/// A system call filter.
///
/// INVARIANT: not empty, at most [`MAX_INSTRUCTIONS`]; every operation is one that seccomp allows;
/// every jump goes forward to an instruction; the last instruction returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Vec<Instruction>);

/// Why bytes are not a system call filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// Not a whole number of instructions, none, or too many.
    #[error("{bytes} bytes are not 1 to {MAX_INSTRUCTIONS} instructions of 8 bytes")]
    Length {
        /// How many there are.
        bytes: usize,
    },
    /// An operation that seccomp does not allow, or an operand out of its range.
    #[error(
        "instruction {position} has operation {code:#x} with operand {k:#x}, which no system call filter may have"
    )]
    Operation {
        /// Counted from 0.
        position: usize,
        /// Its operation.
        code: u16,
        /// Its operand.
        k: u32,
    },
    /// A jump past the end.
    #[error("instruction {position} jumps past the end of the program")]
    Jump {
        /// Counted from 0.
        position: usize,
    },
    /// Scratch memory read on a path that never wrote it.
    #[error("instruction {position} reads a word of memory that may not have been written")]
    Memory {
        /// Counted from 0.
        position: usize,
    },
    /// The program can run off its end.
    #[error("the last instruction does not return")]
    NoReturn,
    /// Not hexadecimal text.
    #[error("the text is not hexadecimal")]
    NotHexadecimal,
}

impl Program {
    /// Checks and takes instructions.
    pub fn new(instructions: Vec<Instruction>) -> Result<Self, ProgramError> {
        check(&instructions)?;
        Ok(Self(instructions))
    }

    /// Reads an array of the kernel's `struct sock_filter`, little-endian.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ProgramError> {
        let (chunks, rest) = bytes.as_chunks::<INSTRUCTION_BYTES>();
        if !rest.is_empty() || chunks.is_empty() || chunks.len() > MAX_INSTRUCTIONS {
            return Err(ProgramError::Length { bytes: bytes.len() });
        }
        let instructions = chunks.iter().map(|&[c0, c1, jt, jf, k0, k1, k2, k3]| Instruction {
            code: u16::from_le_bytes([c0, c1]),
            jt,
            jf,
            k: u32::from_le_bytes([k0, k1, k2, k3]),
        });
        Self::new(instructions.collect())
    }

    /// Writes what [`Self::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * INSTRUCTION_BYTES);
        for instruction in &self.0 {
            bytes.extend_from_slice(&instruction.code.to_le_bytes());
            bytes.extend_from_slice(&[instruction.jt, instruction.jf]);
            bytes.extend_from_slice(&instruction.k.to_le_bytes());
        }
        bytes
    }

    /// The instructions in order.
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }

    /// Takes a program that was assembled when this crate was built; a test checks each of them.
    pub(super) fn embedded(instructions: &'static [Instruction]) -> Self {
        Self(instructions.to_vec())
    }
}

impl Serialize for Program {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexadecimal(&self.to_bytes()))
    }
}

impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let bytes = from_hexadecimal(text.as_bytes()).map_err(de::Error::custom)?;
        Self::from_bytes(&bytes).map_err(de::Error::custom)
    }
}

/// Two lower-case digits for each byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
    let mut digits = vec![0; bytes.len() * 2];
    for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 0xf)];
    }
    // Each of them is ASCII.
    String::from_utf8(digits).unwrap_or_default()
}

fn from_hexadecimal(text: &[u8]) -> Result<Vec<u8>, ProgramError> {
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(ProgramError::NotHexadecimal);
    }
    pairs
        .iter()
        .map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?))
        .collect::<Option<Vec<u8>>>()
        .ok_or(ProgramError::NotHexadecimal)
}

/// Lower case only, so that a program has one text form.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

fn check(instructions: &[Instruction]) -> Result<(), ProgramError> {
    if instructions.is_empty() || instructions.len() > MAX_INSTRUCTIONS {
        return Err(ProgramError::Length { bytes: instructions.len() * INSTRUCTION_BYTES });
    }
    for (position, instruction) in instructions.iter().enumerate() {
        let Instruction { code, k, .. } = *instruction;
        if !is_allowed(code, k) {
            return Err(ProgramError::Operation { position, code, k });
        }
        let last_target = match code {
            JUMP_ALWAYS => usize::try_from(k).ok(),
            _ if is_conditional_jump(code) => Some(usize::from(instruction.jt.max(instruction.jf))),
            _ => continue,
        };
        let remaining = instructions.len() - position - 1;
        if last_target.is_none_or(|skipped| skipped >= remaining) {
            return Err(ProgramError::Jump { position });
        }
    }
    if !instructions.last().is_some_and(|last| matches!(last.code, RETURN_K | RETURN_A)) {
        return Err(ProgramError::NoReturn);
    }
    check_memory(instructions)
}

/// Follows which words are written on every path to an instruction. All jumps go forward, so one
/// pass is enough; an instruction that no path reaches keeps "all", as in the kernel.
fn check_memory(instructions: &[Instruction]) -> Result<(), ProgramError> {
    let mut written_on_entry = vec![u16::MAX; instructions.len()];
    let mut written: u16 = 0;
    for (position, instruction) in instructions.iter().enumerate() {
        written &= written_on_entry.get(position).copied().unwrap_or(0);
        let mut reaches = |skipped: usize, written: u16| {
            if let Some(entry) = written_on_entry.get_mut(position + 1 + skipped) {
                *entry &= written;
            }
        };
        let word = 1_u16.checked_shl(instruction.k).unwrap_or(0);
        match instruction.code {
            STORE_A | STORE_X => written |= word,
            LOAD_MEMORY | LOADX_MEMORY if written & word == 0 => {
                return Err(ProgramError::Memory { position });
            }
            JUMP_ALWAYS => {
                reaches(usize::try_from(instruction.k).unwrap_or(usize::MAX), written);
                written = u16::MAX;
            }
            code if is_conditional_jump(code) => {
                reaches(usize::from(instruction.jt), written);
                reaches(usize::from(instruction.jf), written);
                written = u16::MAX;
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_allowed(code: u16, k: u32) -> bool {
    match code {
        LOAD_DATA => k < DATA_BYTES && k.is_multiple_of(4),
        LOAD_MEMORY | LOADX_MEMORY | STORE_A | STORE_X => k < MEMORY_WORDS,
        DIVIDE_K => k != 0,
        SHIFT_LEFT_K | SHIFT_RIGHT_K => k < 32,
        LOAD_LENGTH | LOADX_LENGTH | LOAD_K | LOADX_K | RETURN_K | RETURN_A | ADD_K | ADD_X
        | SUBTRACT_K | SUBTRACT_X | MULTIPLY_K | MULTIPLY_X | DIVIDE_X | AND_K | AND_X | OR_K
        | OR_X | XOR_K | XOR_X | SHIFT_LEFT_X | SHIFT_RIGHT_X | NEGATE | A_TO_X | X_TO_A
        | JUMP_ALWAYS => true,
        other => is_conditional_jump(other),
    }
}

fn is_conditional_jump(code: u16) -> bool {
    matches!(
        code,
        JUMP_EQUAL_K
            | JUMP_EQUAL_X
            | JUMP_GREATER_K
            | JUMP_GREATER_X
            | JUMP_NOT_LESS_K
            | JUMP_NOT_LESS_X
            | JUMP_BITS_K
            | JUMP_BITS_X
    )
}

const INSTRUCTION_BYTES: usize = 8;
