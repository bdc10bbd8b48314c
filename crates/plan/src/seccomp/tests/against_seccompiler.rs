//! The same rules through another assembler. It can express one answer per filter, so each answer
//! of a list becomes a filter of its own.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::*;

/// The conditions under which a call gets `wanted`, if its rules are all of that one answer.
fn rules_with(rules: &[Rule], arch: Arch, wanted: Answer) -> BTreeMap<i64, Vec<SeccompRule>> {
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for rule in rules.iter().filter(|rule| rule.answer == wanted) {
        for call in &rule.calls {
            let Some(number) = syscall_number(arch, &call.name) else { continue };
            let mixed = rules.iter().any(|other| {
                other.answer != wanted && other.calls.iter().any(|named| named.name == call.name)
            });
            if !mixed {
                let alternatives = calls.entry(number.into()).or_default();
                // Terms are joined by `and`: one alternative of each, in every combination.
                let mut joined: Vec<Vec<SeccompCondition>> = vec![Vec::new()];
                for term in &rule.terms {
                    let choices = alternatives_of(term);
                    joined = joined
                        .iter()
                        .flat_map(|so_far| {
                            choices
                                .iter()
                                .map(|one| [so_far.as_slice(), std::slice::from_ref(one)].concat())
                        })
                        .collect();
                }
                let conditions = joined.into_iter().filter(|joined| !joined.is_empty());
                alternatives.extend(conditions.map(|joined| SeccompRule::new(joined).unwrap()));
            }
        }
    }
    calls
}

fn alternatives_of(term: &Term) -> Vec<SeccompCondition> {
    let condition = |argument: u8, operator, value: u32| {
        let length = SeccompCmpArgLen::Dword;
        SeccompCondition::new(argument, length, operator, value.into()).unwrap()
    };
    match term {
        Term::Is { argument, values } => {
            values.iter().map(|value| condition(*argument, SeccompCmpOp::Eq, *value)).collect()
        }
        Term::Has { argument, bits } => (0..32)
            .map(|bit| 1_u32 << bit)
            .filter(|bit| bits & bit != 0)
            .map(|bit| condition(*argument, SeccompCmpOp::MaskedEq(bit.into()), bit))
            .collect(),
        Term::Null { argument } => {
            let length = SeccompCmpArgLen::Qword;
            vec![SeccompCondition::new(*argument, length, SeccompCmpOp::Eq, 0).unwrap()]
        }
    }
}

fn other_program(calls: BTreeMap<i64, Vec<SeccompRule>>, arch: Arch) -> Program {
    let target = match arch {
        Arch::X86_64 => TargetArch::x86_64,
        Arch::Aarch64 => TargetArch::aarch64,
    };
    let (matched, otherwise) = (SeccompAction::Errno(1), SeccompAction::Allow);
    let filter = SeccompFilter::new(calls, otherwise, matched, target).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    let instructions = program.iter().map(|instruction| {
        super::super::Instruction::new(
            instruction.code,
            instruction.jt,
            instruction.jf,
            instruction.k,
        )
    });
    Program::new(instructions.collect()).unwrap()
}

/// K50, K119, K130, K132
#[test]
fn another_assembler_agrees() {
    let values =
        [0, 1, 17, 0x80, 0x5412, 0x541c, 0x5423, 0x2_0000, 0x1000_0000, 0x1_0000_5412, u64::MAX];
    for profile in Profile::ALL {
        let rules = list::parse(profile.list()).unwrap().rules;
        for arch in Arch::ALL {
            let ours = SeccompPlan::embedded(profile, arch).without_notify;
            let answers =
                [(Answer::Refuse, Action::Errno(EPERM)), (Answer::Kill, Action::KillProcess)];
            for (answer, action) in answers {
                let calls = rules_with(&rules, arch, answer);
                if calls.is_empty() {
                    continue;
                }
                let numbers: Vec<i64> = calls.keys().copied().collect();
                let theirs = other_program(calls, arch);
                for number in (0..arch.table_size()).filter(|n| syscall_name(arch, *n).is_some()) {
                    for value in values {
                        let data = SeccompData::of(arch, number, [value; 6]);
                        let refused = interpret(&theirs, &data) == Action::Errno(EPERM);
                        if refused {
                            assert_eq!(interpret(&ours, &data), action, "{data:x?}");
                        } else if numbers.contains(&number.into()) {
                            assert_eq!(interpret(&ours, &data), Action::Allow, "{data:x?}");
                        }
                    }
                }
            }
        }
    }
}
