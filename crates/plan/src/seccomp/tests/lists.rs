//! The language of the lists, and what can be read back from them.

use super::super::assemble::{AssembleError, Variant, assemble};
use super::super::instruction::{Instruction, RETURN_K};
use super::*;

#[track_caller]
fn problem(text: &str) -> String {
    list::parse(text).unwrap_err().to_string()
}

/// K50
#[test]
fn a_word_that_is_not_known_fails_the_build() {
    assert_eq!(problem("# fine\n\ndeny ptrace"), "line 3: `deny` is not a rule");
    assert_eq!(problem("refuse"), "line 1: a rule needs a system call");
    assert_eq!(problem("answer EFOO ptrace"), "line 1: `EFOO` is not a known error");
    assert_eq!(problem("answer"), "line 1: `` is not a known error");
    assert_eq!(problem("kill iopl@vax"), "line 1: `vax` is not an architecture");
    assert_eq!(problem("otherwise EFOO"), "line 1: `EFOO` is not a known error");
    let late = "line 2: `otherwise` is the first line of a list";
    assert_eq!(problem("refuse bpf\notherwise EPERM"), late);
    assert_eq!(problem("otherwise EPERM\notherwise ENOSYS"), late);
    assert_eq!(problem("allow read"), "line 1: an `allow` without a condition says nothing");
    assert_eq!(problem("refuse a if arg6 is AF_UNIX"), "line 1: `arg6` is not an argument");
    assert_eq!(problem("refuse a if arg0 is AF_FOO"), "line 1: `AF_FOO` is not a known constant");
    assert_eq!(problem("refuse a if arg0 was AF_UNIX"), "line 1: `was` is not a test");
    assert_eq!(problem("refuse a if arg0 has NULL"), "line 1: `NULL` is not a known constant");
    assert_eq!(
        problem("refuse a if arg0 is NULL|AF_UNIX"),
        "line 1: `NULL` is not a known constant"
    );
    assert_eq!(problem("refuse a if arg0 is"), "line 1: `arg0 is` is not a condition");
}

/// K50, K136
#[test]
fn calls_must_exist_unless_marked() {
    let assembled = |text: &str, arch| {
        assemble(&list::parse(text).unwrap(), arch, Variant::WithoutNotify).map(|_| ())
    };
    assert_eq!(
        assembled("kill iopl", Arch::Aarch64).unwrap_err().to_string(),
        "line 1: `iopl` is not a system call of aarch64"
    );
    assert_eq!(assembled("kill iopl", Arch::X86_64), Ok(()));
    assert_eq!(assembled("kill iopl@x86_64", Arch::Aarch64), Ok(()));
    assert_eq!(
        assembled("refuse bpf\nkill bpf", Arch::X86_64),
        Err(AssembleError::Unreachable { line: 2, name: "bpf".to_owned() })
    );
}

/// K50
#[test]
fn an_answer_can_be_traced_to_its_lines() {
    let texts =
        |name| list_lines(Profile::Default, name).iter().map(|line| line.text).collect::<Vec<_>>();
    assert_eq!(texts("bpf"), ["refuse bpf"]);
    assert_eq!(texts("socket").len(), 4);
    assert!(texts("read").is_empty());
    for line in list_lines(Profile::Relaxed, "socket") {
        assert_eq!(Profile::Relaxed.list().lines().nth(line.number - 1), Some(line.text));
    }
}

/// K119: both tables agree with each other on names and numbers.
#[test]
fn names_and_numbers_are_inverse() {
    for arch in Arch::ALL {
        for number in 0..arch.table_size() {
            if let Some(name) = syscall_name(arch, number) {
                assert_eq!(syscall_number(arch, name), Some(number));
            }
        }
        assert_eq!(syscall_name(arch, u32::MAX), None);
        assert_eq!(syscall_number(arch, "no_such_call"), None);
    }
}

/// K50: what the build embedded is what the lists say now.
#[test]
fn embedded_programs_come_from_the_lists() {
    for profile in Profile::ALL {
        let rules = list::parse(profile.list()).unwrap();
        for arch in Arch::ALL {
            let plan = SeccompPlan::embedded(profile, arch);
            let with = assemble(&rules, arch, Variant::WithNotify).unwrap();
            let without = assemble(&rules, arch, Variant::WithoutNotify).unwrap();
            assert_eq!(plan.with_notify.instructions(), with);
            assert_eq!(plan.without_notify.instructions(), without);
        }
    }
    let list = list::parse(include_str!("../../../profiles/gatekeeper.list")).unwrap();
    for arch in Arch::ALL {
        let assembled = assemble(&list, arch, Variant::WithoutNotify).unwrap();
        assert_eq!(Helper::Gatekeeper.filter_for(arch).instructions(), assembled);
    }
}

/// K50: the kernel translates a program at every start, so no answer stands in it twice.
#[test]
fn each_answer_stands_once() {
    let profiles = Profile::ALL.into_iter().flat_map(|profile| {
        Arch::ALL.into_iter().flat_map(move |arch| {
            let plan = SeccompPlan::embedded(profile, arch);
            [plan.with_notify, plan.without_notify]
        })
    });
    for program in
        profiles.chain(Arch::ALL.into_iter().map(|arch| Helper::Gatekeeper.filter_for(arch)))
    {
        let is_answer = |instruction: &&Instruction| instruction.code == RETURN_K;
        let answers: Vec<&Instruction> = program.instructions().iter().filter(is_answer).collect();
        let different: std::collections::HashSet<&Instruction> = answers.iter().copied().collect();
        assert!(answers.len() > 1);
        assert_eq!(answers.len(), different.len());
    }
}
