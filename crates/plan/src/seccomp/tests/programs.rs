//! The reader of programs and the interpreter, on good, bad and random input.

use proptest::prelude::*;

use super::super::instruction::*;
use super::super::{MAX_INSTRUCTIONS, ProgramError};
use super::*;

/// Those of one instruction, in order.
type Fields = (u16, u8, u8, u32);

fn program(instructions: &[Fields]) -> Result<Program, ProgramError> {
    let instructions = instructions.iter();
    Program::new(instructions.map(|&(code, jt, jf, k)| Instruction::new(code, jt, jf, k)).collect())
}

const END: Fields = (RETURN_A, 0, 0, 0);

/// K27, K50
#[test]
fn only_what_the_kernel_takes_is_a_program() {
    let refused: &[(&str, &[Fields])] = &[
        ("no return at the end", &[(LOAD_K, 0, 0, 1)]),
        ("jump at the end", &[(JUMP_ALWAYS, 0, 0, 0)]),
        ("load beyond the data", &[(LOAD_DATA, 0, 0, 64), END]),
        ("unaligned load", &[(LOAD_DATA, 0, 0, 2), END]),
        ("half-word load", &[(0x28, 0, 0, 0), END]),
        ("indirect load", &[(0x40, 0, 0, 0), END]),
        ("jump past the end", &[(JUMP_ALWAYS, 0, 0, 1), END]),
        ("jump far past the end", &[(JUMP_ALWAYS, 0, 0, u32::MAX), END]),
        ("branch past the end", &[(JUMP_EQUAL_K, 1, 0, 0), END]),
        ("other branch past the end", &[(JUMP_EQUAL_K, 0, 1, 0), END]),
        ("memory word 16", &[(STORE_A, 0, 0, 16), END]),
        ("memory never written", &[(LOAD_MEMORY, 0, 0, 0), END]),
        (
            "memory written on one path only",
            &[(JUMP_EQUAL_K, 1, 0, 0), (STORE_A, 0, 0, 3), (LOADX_MEMORY, 0, 0, 3), END],
        ),
        ("division by the constant 0", &[(DIVIDE_K, 0, 0, 0), END]),
        ("shift by 32", &[(SHIFT_LEFT_K, 0, 0, 32), END]),
        ("modulo, which seccomp does not have", &[(0x94, 0, 0, 3), END]),
        ("no such operation", &[(0xffff, 0, 0, 0), END]),
    ];
    for (what, instructions) in refused {
        assert!(program(instructions).is_err(), "{what}");
    }
    let taken: &[&[Fields]] = &[
        &[END],
        &[(JUMP_ALWAYS, 0, 0, 0), END],
        &[(STORE_A, 0, 0, 15), (LOADX_MEMORY, 0, 0, 15), END],
        &[(LOAD_DATA, 0, 0, 60), END],
        &[
            (JUMP_EQUAL_K, 1, 0, 0),
            (STORE_A, 0, 0, 3),
            (STORE_X, 0, 0, 3),
            (LOAD_MEMORY, 0, 0, 3),
            END,
        ],
    ];
    for instructions in taken {
        assert!(program(instructions).is_ok(), "{instructions:?}");
    }
}

/// K27: sizes are checked before anything else.
#[test]
fn lengths_are_bounded() {
    let one = [RETURN_K.to_le_bytes()[0], 0, 0, 0, 0, 0, 0, 0];
    for (length, fits) in
        [(0, false), (7, false), (8, true), (9, false), (8 * MAX_INSTRUCTIONS, true)]
    {
        let bytes: Vec<u8> = one.iter().copied().cycle().take(length).collect();
        assert_eq!(Program::from_bytes(&bytes).is_ok(), fits, "{length}");
    }
    let too_long: Vec<u8> = one.iter().copied().cycle().take(8 * (MAX_INSTRUCTIONS + 1)).collect();
    assert_eq!(
        Program::from_bytes(&too_long),
        Err(ProgramError::Length { bytes: 8 * (MAX_INSTRUCTIONS + 1) })
    );
}

/// K27
#[test]
fn the_text_form_is_lower_case_hexadecimal() {
    let program = program(&[(RETURN_K, 0, 0, 0x7fff_0000)]).unwrap();
    let text = serde_json::to_string(&program).unwrap();
    assert_eq!(text, "\"060000000000ff7f\"");
    assert_eq!(serde_json::from_str::<Program>(&text).unwrap(), program);
    for bad in ["\"060000000000FF7F\"", "\"06000000000ff7f\"", "\"zz0000000000ff7f\"", "\"\"", "7"]
    {
        assert!(serde_json::from_str::<Program>(bad).is_err(), "{bad}");
    }
}

#[track_caller]
fn returns(instructions: &[Fields], expected: u32) {
    let program = program(instructions).unwrap();
    let arguments = [0x1111_2222_3333_4444, 2, 3, 4, 5, 0x6666_7777_8888_9999];
    let data =
        SeccompData { instruction_pointer: 0xaaaa_bbbb_cccc_dddd, number: 7, arch: 9, arguments };
    assert_eq!(interpret(&program, &data), Action::from_return_value(expected));
}

/// K50: each operation does what the kernel's does.
#[test]
fn operations_compute() {
    const ERRNO: u32 = 0x0005_0000;
    let binary: &[(u16, u16, u32, u32, u32)] = &[
        (ADD_K, ADD_X, u32::MAX, 3, 2),
        (SUBTRACT_K, SUBTRACT_X, 1, 3, u32::MAX - 1),
        (MULTIPLY_K, MULTIPLY_X, 0x8000_0001, 2, 2),
        (DIVIDE_K, DIVIDE_X, 7, 2, 3),
        (AND_K, AND_X, 6, 3, 2),
        (OR_K, OR_X, 6, 3, 7),
        (XOR_K, XOR_X, 6, 3, 5),
        (SHIFT_LEFT_K, SHIFT_LEFT_X, 3, 31, 0x8000_0000),
        (SHIFT_RIGHT_K, SHIFT_RIGHT_X, 0x8000_0000, 31, 1),
    ];
    for &(with_k, with_x, a, operand, result) in binary {
        let equal = (JUMP_EQUAL_K, 0, 1, result);
        let (yes, no) = ((RETURN_K, 0, 0, ERRNO | 1), (RETURN_K, 0, 0, ERRNO | 2));
        returns(&[(LOAD_K, 0, 0, a), (with_k, 0, 0, operand), equal, yes, no], ERRNO | 1);
        let load_x = (LOADX_K, 0, 0, operand);
        returns(&[(LOAD_K, 0, 0, a), load_x, (with_x, 0, 0, 0), equal, yes, no], ERRNO | 1);
    }
    returns(&[(LOADX_K, 0, 0, 0), (DIVIDE_X, 0, 0, 0), (RETURN_K, 0, 0, ERRNO)], 0);
    returns(&[(LOAD_K, 0, 0, 1), (NEGATE, 0, 0, 0), END], u32::MAX);
    returns(&[(LOAD_LENGTH, 0, 0, 0), (OR_K, 0, 0, ERRNO), END], ERRNO | 64);
    returns(&[(LOADX_LENGTH, 0, 0, 0), (X_TO_A, 0, 0, 0), (OR_K, 0, 0, ERRNO), END], ERRNO | 64);
    returns(
        &[
            (LOAD_K, 0, 0, ERRNO | 4),
            (A_TO_X, 0, 0, 0),
            (STORE_X, 0, 0, 1),
            (LOAD_MEMORY, 0, 0, 1),
            END,
        ],
        ERRNO | 4,
    );
    for (offset, word) in [
        (0, 7),
        (4, 9),
        (8, 0xcccc_dddd),
        (12, 0xaaaa_bbbb),
        (16, 0x3333_4444),
        (20, 0x1111_2222),
        (24, 2),
        (28, 0),
        (60, 0x6666_7777),
    ] {
        let equal = (JUMP_EQUAL_K, 0, 1, word);
        let yes = (RETURN_K, 0, 0, ERRNO | 1);
        returns(&[(LOAD_DATA, 0, 0, offset), equal, yes, (RETURN_K, 0, 0, 0)], ERRNO | 1);
    }
    let tests: &[(u16, u16, u32, u32, bool)] = &[
        (JUMP_EQUAL_K, JUMP_EQUAL_X, 3, 3, true),
        (JUMP_GREATER_K, JUMP_GREATER_X, 3, 3, false),
        (JUMP_GREATER_K, JUMP_GREATER_X, u32::MAX, 3, true),
        (JUMP_NOT_LESS_K, JUMP_NOT_LESS_X, 3, 3, true),
        (JUMP_BITS_K, JUMP_BITS_X, 6, 1, false),
        (JUMP_BITS_K, JUMP_BITS_X, 6, 2, true),
    ];
    for &(with_k, with_x, a, operand, holds) in tests {
        let answers = [(RETURN_K, 0, 0, ERRNO | 1), (RETURN_K, 0, 0, ERRNO | 2)];
        let result = ERRNO | if holds { 1 } else { 2 };
        returns(&[(LOAD_K, 0, 0, a), (with_k, 0, 1, operand), answers[0], answers[1]], result);
        let load_x = (LOADX_K, 0, 0, operand);
        returns(&[(LOAD_K, 0, 0, a), load_x, (with_x, 0, 1, 0), answers[0], answers[1]], result);
    }
}

/// K50
#[test]
fn return_values_are_those_of_the_kernel() {
    for (value, action) in [
        (0x7fff_1234, Action::Allow),
        (0x7ffc_0000, Action::Log),
        (0x7ff0_0005, Action::Trace(5)),
        (0x7fc0_0000, Action::Notify),
        (0x0005_0001, Action::Errno(1)),
        (0x0005_ffff, Action::Errno(4095)),
        (0x0003_0002, Action::Trap(2)),
        (0x0000_0000, Action::KillThread),
        (0x8000_0000, Action::KillProcess),
        (0x7ffe_0000, Action::KillProcess),
        (0x1234_0000, Action::KillProcess),
    ] {
        assert_eq!(Action::from_return_value(value), action, "{value:#x}");
    }
}

fn arbitrary_instruction() -> impl Strategy<Value = [u8; 8]> {
    let codes = prop::sample::select((0..=255_u8).collect::<Vec<_>>());
    let operand = prop_oneof![0..80_u32, any::<u32>()];
    (codes, 0..4_u8, 0..4_u8, operand).prop_map(|(code, jt, jf, k)| {
        let k = k.to_le_bytes();
        [code, 0, jt, jf, k[0], k[1], k[2], k[3]]
    })
}

proptest! {
    /// K27: whatever is taken comes back unchanged and ends on any input.
    #[test]
    fn random_programs_end(
        instructions in prop::collection::vec(arbitrary_instruction(), 1..24),
        number in any::<u32>(),
        arguments in any::<[u64; 6]>(),
    ) {
        let mut bytes: Vec<u8> = instructions.concat();
        bytes.extend([0x16, 0, 0, 0, 0, 0, 0, 0]);
        if let Ok(program) = Program::from_bytes(&bytes) {
            prop_assert_eq!(program.to_bytes(), bytes);
            interpret(&program, &SeccompData::of(Arch::X86_64, number, arguments));
        }
    }
}
