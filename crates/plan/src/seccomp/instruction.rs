//! One instruction of a classic BPF program, and the numbers of `linux/filter.h`,
//! `linux/bpf_common.h` and `linux/seccomp.h` that filters are made of. Holds no logic.

/// A `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Operation.
    pub code: u16,
    /// Instructions to skip if a test holds.
    pub jt: u8,
    /// Instructions to skip if it does not.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

impl Instruction {
    /// Its four fields in the order of the kernel's structure.
    pub const fn new(code: u16, jt: u8, jf: u8, k: u32) -> Self {
        Self { code, jt, jf, k }
    }
}

/// Offset of the system call number in `struct seccomp_data`.
pub(crate) const OFFSET_NUMBER: u32 = 0;
/// Offset of the architecture.
pub(crate) const OFFSET_ARCH: u32 = 4;
/// Offset of the first argument; each takes eight bytes, the lower half first, because both
/// architectures are little-endian.
pub(crate) const OFFSET_ARGUMENTS: u32 = 16;

pub(crate) const RET_KILL_PROCESS: u32 = 0x8000_0000;
pub(crate) const RET_ERRNO: u32 = 0x0005_0000;
pub(crate) const RET_USER_NOTIFY: u32 = 0x7fc0_0000;
pub(crate) const RET_ALLOW: u32 = 0x7fff_0000;

pub(crate) const LOAD_K: u16 = 0x00;
pub(crate) const LOADX_K: u16 = 0x01;
pub(crate) const STORE_A: u16 = 0x02;
pub(crate) const STORE_X: u16 = 0x03;
pub(crate) const LOAD_DATA: u16 = 0x20;
pub(crate) const LOAD_MEMORY: u16 = 0x60;
pub(crate) const LOADX_MEMORY: u16 = 0x61;
pub(crate) const LOAD_LENGTH: u16 = 0x80;
pub(crate) const LOADX_LENGTH: u16 = 0x81;
pub(crate) const ADD_K: u16 = 0x04;
pub(crate) const ADD_X: u16 = 0x0c;
pub(crate) const SUBTRACT_K: u16 = 0x14;
pub(crate) const SUBTRACT_X: u16 = 0x1c;
pub(crate) const MULTIPLY_K: u16 = 0x24;
pub(crate) const MULTIPLY_X: u16 = 0x2c;
pub(crate) const DIVIDE_K: u16 = 0x34;
pub(crate) const DIVIDE_X: u16 = 0x3c;
pub(crate) const OR_K: u16 = 0x44;
pub(crate) const OR_X: u16 = 0x4c;
pub(crate) const AND_K: u16 = 0x54;
pub(crate) const AND_X: u16 = 0x5c;
pub(crate) const SHIFT_LEFT_K: u16 = 0x64;
pub(crate) const SHIFT_LEFT_X: u16 = 0x6c;
pub(crate) const SHIFT_RIGHT_K: u16 = 0x74;
pub(crate) const SHIFT_RIGHT_X: u16 = 0x7c;
pub(crate) const NEGATE: u16 = 0x84;
pub(crate) const XOR_K: u16 = 0xa4;
pub(crate) const XOR_X: u16 = 0xac;
pub(crate) const JUMP_ALWAYS: u16 = 0x05;
pub(crate) const JUMP_EQUAL_K: u16 = 0x15;
pub(crate) const JUMP_EQUAL_X: u16 = 0x1d;
pub(crate) const JUMP_GREATER_K: u16 = 0x25;
pub(crate) const JUMP_GREATER_X: u16 = 0x2d;
pub(crate) const JUMP_NOT_LESS_K: u16 = 0x35;
pub(crate) const JUMP_NOT_LESS_X: u16 = 0x3d;
pub(crate) const JUMP_BITS_K: u16 = 0x45;
pub(crate) const JUMP_BITS_X: u16 = 0x4d;
pub(crate) const RETURN_K: u16 = 0x06;
pub(crate) const RETURN_A: u16 = 0x16;
pub(crate) const A_TO_X: u16 = 0x07;
pub(crate) const X_TO_A: u16 = 0x87;
