//! Names that are ours and names that are not.

use super::*;

/// K147, K156
#[test]
fn a_name_reads_back() {
    let name = GroupName::of_this_process("01HZY8ABCDEF").unwrap();
    assert_eq!(name.supervisor, std::process::id());
    assert!(!name.is_abandoned());
    assert_eq!(GroupName::parse(&name.to_string()), Some(name));
}

#[test]
fn a_name_of_somebody_else_is_none_of_ours() {
    for other in [
        "",
        "stockade",
        "stockade-",
        "stockade-1",
        "stockade-1-2",
        "stockade-1-2-",
        "stockade--1-2-3-x",
        "stockade-+1-2-3-x",
        "stockade-1-2-x",
        "stockade-1-2-3",
        "stockade-1-2-3-",
        "stockade-1-2-x-y",
        "stockade-1-2-3-x-y",
        "stockade-1-2-3-../x",
        "stockade-99999999999-2-3-x",
        "stockade-1-99999999999999999999-3-x",
        "x-stockade-1-2-3-x",
        "stockade.slice",
    ] {
        assert_eq!(GroupName::parse(other), None, "{other}");
    }
}

/// T51: an invocation cannot lead anywhere.
#[test]
fn an_invocation_is_one_plain_word() {
    for bad in ["", ".", "..", "a/b", "a\0", "a b", "a-b", "ä", "a\n", &"a".repeat(65)] {
        assert!(GroupName::of_this_process(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn another_process_with_the_same_id_is_another() {
    let mut name = GroupName::of_this_process("x").unwrap();
    name.started += 1;
    assert!(name.is_abandoned());
}

/// K156: in a container with the host's control groups, process ids mean something else.
#[test]
fn a_group_of_another_process_id_namespace_is_left_alone() {
    let mut name = GroupName::of_this_process("x").unwrap();
    name.started += 1;
    for namespace in [name.namespace + 1, 0] {
        let other = GroupName { namespace, ..name.clone() };
        assert!(!other.is_abandoned(), "{other}");
    }
}

#[test]
fn a_programs_name_cannot_confuse_the_start_time() {
    let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20";
    assert_eq!(start_time_in(&format!("12 (a) b) (c) {rest}")), Some(4242));
    assert_eq!(start_time_in(&format!("12 (a) {}", rest.replace('S', "Z"))), None);
    assert_eq!(start_time_in("12 (a) S 1"), None);
    assert_eq!(start_time_in(""), None);
}
