//! Any bytes as a system call filter: taken or refused, never a panic; what is taken comes back
//! unchanged and ends on every call.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::seccomp::{Arch, Program, SeccompData, interpret};

fuzz_target!(|data: &[u8]| {
    let Ok(program) = Program::from_bytes(data) else { return };
    assert_eq!(program.to_bytes(), data);
    let text = serde_json::to_string(&program).expect("a program has a text form");
    let again: Program = serde_json::from_str(&text).expect("the text form can be read");
    assert_eq!(again, program);
    let word = |index: usize| {
        let byte = |offset: usize| data.get((index * 8 + offset) % data.len()).copied();
        u64::from_le_bytes(std::array::from_fn(|offset| byte(offset).unwrap_or(0)))
    };
    for arch in Arch::ALL {
        let arguments = std::array::from_fn(word);
        let number = u32::from_le_bytes(std::array::from_fn(|index| data[index % data.len()]));
        interpret(&program, &SeccompData::of(arch, number, arguments));
    }
});
