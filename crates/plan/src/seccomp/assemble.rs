//! Turns a profile's rules into a classic BPF program: architecture check, binary search over the
//! system call number, then tests of arguments where there are any, then the answers. Runs when the
//! crate is built and in tests; never at run time.
//!
//! Only the number and the architecture are read before an unconditional answer, so the kernel can
//! work out which calls are always allowed and answer those from its cache without running the
//! program (`seccomp_cache_prepare` in `kernel/seccomp.c`).

use super::arch::{Arch, syscall_name, syscall_number};
use super::instruction::{
    Instruction, JUMP_BITS_K, JUMP_EQUAL_K, JUMP_NOT_LESS_K, LOAD_DATA, OFFSET_ARCH,
    OFFSET_ARGUMENTS, OFFSET_NUMBER, RET_ALLOW, RET_ERRNO, RET_KILL_PROCESS, RET_USER_NOTIFY,
    RETURN_K,
};
use super::list::{Answer, List, Rule, Term};

/// Whether someone listens for refused calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Refused and killing calls are handed to the supervisor, which answers.
    WithNotify,
    /// The program answers everything itself.
    WithoutNotify,
}

/// Why rules do not make a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AssembleError {
    #[error("line {line}: `{name}` is not a system call of {}", arch.name())]
    UnknownCall { line: usize, name: String, arch: Arch },
    #[error("line {line}: an earlier line already answers every `{name}`")]
    Unreachable { line: usize, name: String },
    #[error("a jump over {distance} instructions is too far")]
    JumpTooFar { distance: usize },
}

/// The program of a list.
pub(crate) fn assemble(
    list: &List,
    arch: Arch,
    variant: Variant,
) -> Result<Vec<Instruction>, AssembleError> {
    let otherwise = list.otherwise.map_or(RET_ALLOW, |errno| RET_ERRNO | u32::from(errno));
    let answers = call_answers(&list.rules, arch, variant, otherwise)?;
    let ranges = ranges(&answers, arch, otherwise);
    let mut program = vec![
        Instruction::new(LOAD_DATA, 0, 0, OFFSET_ARCH),
        Instruction::new(JUMP_EQUAL_K, 1, 0, arch.audit_number()),
        Instruction::new(RETURN_K, 0, 0, RET_KILL_PROCESS),
        Instruction::new(LOAD_DATA, 0, 0, OFFSET_NUMBER),
    ];
    program.extend(search(&ranges)?);
    share_returns(&program)
}

/// The same program with each answer once, at its end. The kernel translates a program anew for every
/// start, and almost half of it would be answers.
fn share_returns(program: &[Instruction]) -> Result<Vec<Instruction>, AssembleError> {
    let mut answers: Vec<Instruction> = Vec::new();
    let mut steps: Vec<(usize, Instruction)> = Vec::new();
    for (position, instruction) in program.iter().enumerate() {
        if instruction.code != RETURN_K {
            steps.push((position, *instruction));
        } else if !answers.contains(instruction) {
            answers.push(*instruction);
        }
    }
    // Every step is a test or comes before one, so an answer is reached by jumps alone.
    let place = |old: usize| match program.get(old) {
        Some(answer) if answer.code == RETURN_K => {
            let among = answers.iter().position(|known| known == answer).unwrap_or_default();
            steps.len() + among
        }
        _ => steps.partition_point(|(position, _)| *position < old),
    };
    let mut shared = Vec::with_capacity(steps.len() + answers.len());
    for (new, (old, step)) in steps.iter().enumerate() {
        let moved = |over: u8| distance(place(old + 1 + usize::from(over)) - (new + 1));
        shared.push(match step.code {
            LOAD_DATA => *step,
            code => Instruction::new(code, moved(step.jt)?, moved(step.jf)?, step.k),
        });
    }
    shared.extend(answers);
    Ok(shared)
}

/// What happens to one call, or to a range of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    /// Tried in order.
    conditional: Vec<(Vec<Term>, u32)>,
    /// If none of those holds.
    otherwise: u32,
}

impl Outcome {
    fn plain(value: u32) -> Self {
        Self { conditional: Vec::new(), otherwise: value }
    }
}

/// A call number with what its rules say.
struct CallOutcome {
    number: u32,
    outcome: Outcome,
    /// Whether a rule without a condition was seen.
    complete: bool,
}

fn call_answers(
    rules: &[Rule],
    arch: Arch,
    variant: Variant,
    otherwise: u32,
) -> Result<Vec<CallOutcome>, AssembleError> {
    let mut answers: Vec<CallOutcome> = Vec::new();
    for rule in rules {
        let value = return_value(rule.answer, variant);
        for call in &rule.calls {
            if call.only.is_some_and(|only| only != arch) {
                continue;
            }
            let (line, name) = (rule.line, &call.name);
            let number = syscall_number(arch, name).ok_or_else(|| AssembleError::UnknownCall {
                line,
                name: name.clone(),
                arch,
            })?;
            let position = match answers.iter().position(|known| known.number == number) {
                Some(position) => position,
                None => {
                    let outcome = Outcome::plain(otherwise);
                    answers.push(CallOutcome { number, outcome, complete: false });
                    answers.len() - 1
                }
            };
            let Some(known) = answers.get_mut(position).filter(|known| !known.complete) else {
                return Err(AssembleError::Unreachable { line, name: name.clone() });
            };
            if rule.terms.is_empty() {
                known.outcome.otherwise = value;
                known.complete = true;
            } else {
                known.outcome.conditional.push((rule.terms.clone(), value));
            }
        }
    }
    Ok(answers)
}

fn return_value(answer: Answer, variant: Variant) -> u32 {
    match (answer, variant) {
        (Answer::Allow, _) => RET_ALLOW,
        (Answer::Errno(errno), _) => RET_ERRNO | u32::from(errno),
        // An error number of 0 is success (seccomp(2)).
        (Answer::Ignore, _) => RET_ERRNO,
        (Answer::Refuse | Answer::Kill | Answer::Watch, Variant::WithNotify) => RET_USER_NOTIFY,
        (Answer::Watch, Variant::WithoutNotify) => RET_ALLOW,
        (Answer::Refuse, Variant::WithoutNotify) => RET_ERRNO | EPERM,
        (Answer::Kill, Variant::WithoutNotify) => RET_KILL_PROCESS,
    }
}

/// The whole number line as ranges with equal outcome, each given by its first number.
fn ranges(answers: &[CallOutcome], arch: Arch, otherwise: u32) -> Vec<(u32, Outcome)> {
    let mut ranges: Vec<(u32, Outcome)> = Vec::new();
    let mut add = |start: u32, outcome: Outcome| {
        if ranges.last().is_none_or(|(_, previous)| *previous != outcome) {
            ranges.push((start, outcome));
        }
    };
    for number in 0..arch.table_size() {
        let outcome = match answers.iter().find(|known| known.number == number) {
            Some(known) => known.outcome.clone(),
            None if syscall_name(arch, number).is_some() => Outcome::plain(otherwise),
            None => Outcome::plain(RET_ERRNO | ENOSYS),
        };
        add(number, outcome);
    }
    add(arch.table_size(), Outcome::plain(RET_ERRNO | ENOSYS));
    if arch == Arch::X86_64 {
        add(X32_BIT, Outcome::plain(RET_KILL_PROCESS));
    }
    // A tracer writes -1 to have a call skipped. The kernel runs nothing for it, and any other
    // answer would replace the result that the tracer chose.
    add(SKIPPED_CALL, Outcome::plain(RET_ALLOW));
    ranges
}

fn search(ranges: &[(u32, Outcome)]) -> Result<Vec<Instruction>, AssembleError> {
    let (lower, upper) = ranges.split_at(ranges.len() / 2);
    let (Some((_, outcome)), Some((first_of_upper, _))) = (ranges.first(), upper.first()) else {
        return Ok(Vec::new());
    };
    if lower.is_empty() {
        return answer(outcome);
    }
    let below = search(lower)?;
    let mut block =
        vec![Instruction::new(JUMP_NOT_LESS_K, distance(below.len())?, 0, *first_of_upper)];
    block.extend(below);
    block.extend(search(upper)?);
    Ok(block)
}

fn answer(outcome: &Outcome) -> Result<Vec<Instruction>, AssembleError> {
    let mut block = Vec::new();
    for (terms, value) in &outcome.conditional {
        block.extend(conditional_answer(terms, *value)?);
    }
    block.push(Instruction::new(RETURN_K, 0, 0, outcome.otherwise));
    Ok(block)
}

/// Built from the end, so that the way out of the block is always as long as what is there.
fn conditional_answer(terms: &[Term], value: u32) -> Result<Vec<Instruction>, AssembleError> {
    let mut block = vec![Instruction::new(RETURN_K, 0, 0, value)];
    for term in terms.iter().rev() {
        let out = distance(block.len())?;
        let mut test = Vec::new();
        match term {
            Term::Has { argument, bits } => {
                test.push(load_argument(*argument));
                test.push(Instruction::new(JUMP_BITS_K, 0, out, *bits));
            }
            Term::Null { argument } => {
                test.push(load_argument(*argument));
                test.push(Instruction::new(JUMP_EQUAL_K, 0, distance(block.len() + 2)?, 0));
                test.push(load_upper_half(*argument));
                test.push(Instruction::new(JUMP_EQUAL_K, 0, out, 0));
            }
            Term::Is { argument, values } => {
                test.push(load_argument(*argument));
                for (index, value) in values.iter().enumerate() {
                    let remaining = values.len() - 1 - index;
                    let no_match = if remaining == 0 { out } else { 0 };
                    test.push(Instruction::new(
                        JUMP_EQUAL_K,
                        distance(remaining)?,
                        no_match,
                        *value,
                    ));
                }
            }
        }
        test.append(&mut block);
        block = test;
    }
    Ok(block)
}

fn load_argument(argument: u8) -> Instruction {
    Instruction::new(LOAD_DATA, 0, 0, OFFSET_ARGUMENTS + 8 * u32::from(argument))
}

fn load_upper_half(argument: u8) -> Instruction {
    Instruction::new(LOAD_DATA, 0, 0, OFFSET_ARGUMENTS + 8 * u32::from(argument) + 4)
}

fn distance(instructions: usize) -> Result<u8, AssembleError> {
    u8::try_from(instructions).map_err(|_| AssembleError::JumpTooFar { distance: instructions })
}

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
/// Set in the number of every call made through the x32 entry point.
const X32_BIT: u32 = 0x4000_0000;
const SKIPPED_CALL: u32 = u32::MAX;
