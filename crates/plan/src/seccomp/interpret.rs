//! Runs a system call filter on one call, as the kernel would. Behind `why --syscall`, behind the
//! answers of a cage's pid 1 and behind the tests of every filter; never installs one.

use super::arch::Arch;
use super::instruction::{
    self as op, OFFSET_ARCH, OFFSET_ARGUMENTS, OFFSET_NUMBER, RET_ALLOW, RET_ERRNO,
    RET_KILL_PROCESS, RET_USER_NOTIFY,
};
use super::program::{DATA_BYTES, MEMORY_WORDS, Program};

/// What a filter sees of a call: the kernel's `struct seccomp_data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeccompData {
    /// Number of the call.
    pub number: u32,
    /// `AUDIT_ARCH_*` of the entry point.
    pub arch: u32,
    /// Where the call was made.
    pub instruction_pointer: u64,
    /// Its six argument registers.
    pub arguments: [u64; 6],
}

impl SeccompData {
    /// A call through the ordinary entry point of `arch`.
    pub fn of(arch: Arch, number: u32, arguments: [u64; 6]) -> Self {
        Self { number, arch: arch.audit_number(), instruction_pointer: 0, arguments }
    }

    /// The aligned 32-bit word at an offset of the kernel's structure.
    fn word(&self, offset: u32) -> u32 {
        let half = |value: u64| {
            let shift = if offset.is_multiple_of(8) { 0 } else { 32 };
            u32::try_from(value >> shift & u64::from(u32::MAX)).unwrap_or(u32::MAX)
        };
        match offset {
            OFFSET_NUMBER => self.number,
            OFFSET_ARCH => self.arch,
            8 | 12 => half(self.instruction_pointer),
            _ => {
                let index = usize::try_from(offset.saturating_sub(OFFSET_ARGUMENTS) / 8);
                half(index.ok().and_then(|i| self.arguments.get(i)).copied().unwrap_or(0))
            }
        }
    }
}

/// What a filter decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The call happens.
    Allow,
    /// The call happens and the kernel logs it.
    Log,
    /// A tracer decides.
    Trace(u16),
    /// The process that holds the filter's listener decides.
    Notify,
    /// The call fails with this error number.
    Errno(u16),
    /// The thread gets `SIGSYS` with a handler's chance.
    Trap(u16),
    /// The thread dies.
    KillThread,
    /// The process dies.
    KillProcess,
}

impl Action {
    /// The decision in a filter's return value; one that the kernel does not know kills.
    pub fn from_return_value(value: u32) -> Self {
        let data = u16::try_from(value & 0xffff).unwrap_or(u16::MAX);
        match value & 0xffff_0000 {
            RET_ALLOW => Self::Allow,
            RET_LOG => Self::Log,
            RET_TRACE => Self::Trace(data),
            RET_USER_NOTIFY => Self::Notify,
            // The kernel caps the number at MAX_ERRNO.
            RET_ERRNO => Self::Errno(data.min(MAX_ERRNO)),
            RET_TRAP => Self::Trap(data),
            RET_KILL_THREAD => Self::KillThread,
            RET_KILL_PROCESS => Self::KillProcess,
            _ => Self::KillProcess,
        }
    }
}

/// What `program` decides about a call.
pub fn interpret(program: &Program, data: &SeccompData) -> Action {
    Action::from_return_value(return_value(program, data))
}

fn return_value(program: &Program, data: &SeccompData) -> u32 {
    let mut a: u32 = 0;
    let mut x: u32 = 0;
    let mut memory = [0_u32; MEMORY_WORDS as usize];
    let mut rest = program.instructions();
    while let Some((instruction, following)) = rest.split_first() {
        let k = instruction.k;
        let word = usize::try_from(k).unwrap_or(usize::MAX);
        let mut skipped = 0;
        match instruction.code {
            op::RETURN_K => return k,
            op::RETURN_A => return a,
            op::LOAD_DATA => a = data.word(k),
            op::LOAD_K => a = k,
            op::LOADX_K => x = k,
            op::LOAD_LENGTH => a = DATA_BYTES,
            op::LOADX_LENGTH => x = DATA_BYTES,
            op::LOAD_MEMORY => a = memory.get(word).copied().unwrap_or(0),
            op::LOADX_MEMORY => x = memory.get(word).copied().unwrap_or(0),
            op::STORE_A | op::STORE_X => {
                if let Some(cell) = memory.get_mut(word) {
                    *cell = if instruction.code == op::STORE_A { a } else { x };
                }
            }
            op::A_TO_X => x = a,
            op::X_TO_A => a = x,
            op::JUMP_ALWAYS => skipped = word,
            code => match (arithmetic(code, a, x, k), test(code, a, x, k)) {
                (Some(Arithmetic::Value(value)), _) => a = value,
                (Some(Arithmetic::DivisionByZero), _) => return 0,
                (None, Some(holds)) => {
                    skipped = usize::from(if holds { instruction.jt } else { instruction.jf });
                }
                (None, None) => return RET_KILL_PROCESS,
            },
        }
        rest = following.get(skipped..).unwrap_or_default();
    }
    // A checked program returns before it ends; the safe answer stands here all the same.
    RET_KILL_PROCESS
}

enum Arithmetic {
    Value(u32),
    /// The kernel ends the program with 0.
    DivisionByZero,
}

fn arithmetic(code: u16, a: u32, x: u32, k: u32) -> Option<Arithmetic> {
    let value = match code {
        op::ADD_K => a.wrapping_add(k),
        op::ADD_X => a.wrapping_add(x),
        op::SUBTRACT_K => a.wrapping_sub(k),
        op::SUBTRACT_X => a.wrapping_sub(x),
        op::MULTIPLY_K => a.wrapping_mul(k),
        op::MULTIPLY_X => a.wrapping_mul(x),
        op::DIVIDE_K | op::DIVIDE_X => {
            match a.checked_div(if code == op::DIVIDE_K { k } else { x }) {
                Some(quotient) => quotient,
                None => return Some(Arithmetic::DivisionByZero),
            }
        }
        op::AND_K => a & k,
        op::AND_X => a & x,
        op::OR_K => a | k,
        op::OR_X => a | x,
        op::XOR_K => a ^ k,
        op::XOR_X => a ^ x,
        op::SHIFT_LEFT_K => a.wrapping_shl(k),
        op::SHIFT_LEFT_X => a.wrapping_shl(x),
        op::SHIFT_RIGHT_K => a.wrapping_shr(k),
        op::SHIFT_RIGHT_X => a.wrapping_shr(x),
        op::NEGATE => a.wrapping_neg(),
        _ => return None,
    };
    Some(Arithmetic::Value(value))
}

fn test(code: u16, a: u32, x: u32, k: u32) -> Option<bool> {
    Some(match code {
        op::JUMP_EQUAL_K => a == k,
        op::JUMP_EQUAL_X => a == x,
        op::JUMP_GREATER_K => a > k,
        op::JUMP_GREATER_X => a > x,
        op::JUMP_NOT_LESS_K => a >= k,
        op::JUMP_NOT_LESS_X => a >= x,
        op::JUMP_BITS_K => a & k != 0,
        op::JUMP_BITS_X => a & x != 0,
        _ => return None,
    })
}

const RET_KILL_THREAD: u32 = 0x0000_0000;
const RET_TRAP: u32 = 0x0003_0000;
const RET_TRACE: u32 = 0x7ff0_0000;
const RET_LOG: u32 = 0x7ffc_0000;
const MAX_ERRNO: u16 = 4095;
