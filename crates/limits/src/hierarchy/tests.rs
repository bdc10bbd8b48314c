//! Texts of real and of strange machines.

use super::*;

const HYBRID_GROUPS: &str = "\
8:pids:/
4:memory:/nested/one two
2:cpu,cpuacct:/a
1:name=systemd:/
0::/
";

const HYBRID_MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

fn place(mount_point: &str, relative: &str) -> Result<Place, Absent> {
    Ok(Place { mount_point: mount_point.into(), relative: relative.into() })
}

fn parse(groups: &str, mounts: &str) -> Hierarchies {
    Hierarchies::parse(groups.as_bytes(), mounts.as_bytes())
}

/// K144
#[test]
fn each_controller_of_a_hybrid_host_has_its_own_place() {
    let found = parse(HYBRID_GROUPS, HYBRID_MOUNTS);
    assert_eq!(found.version_one("memory"), place("/sys/fs/cgroup/memory", "nested/one two"));
    assert_eq!(found.version_one("pids"), place("/sys/fs/cgroup/pids", ""));
    assert_eq!(found.version_one("cpu"), place("/sys/fs/cgroup/cpu,cpuacct", "a"));
    assert_eq!(found.version_one("hugetlb"), Err(Absent::Unknown));
    assert_eq!(found.version_two(), place("/sys/fs/cgroup/unified", ""));
}

/// K144
#[test]
fn one_hierarchy_for_everything() {
    let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
    let found = parse("0::/user.slice/a.scope\n", mounts);
    assert_eq!(found.version_two(), place("/sys/fs/cgroup", "user.slice/a.scope"));
    assert_eq!(found.version_one("memory"), Err(Absent::Unknown));
}

#[test]
fn a_part_of_a_hierarchy_may_be_mounted() {
    let mounts = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
    let found = |group: &str| parse(group, mounts).version_two();
    assert_eq!(found("0::/docker/abc/inner"), place("/sys/fs/cgroup", "inner"));
    assert_eq!(found("0::/docker/abc"), place("/sys/fs/cgroup", ""));
    assert_eq!(found("0::/docker/abcdef"), Err(Absent::NotMounted));
    assert_eq!(found("0::/elsewhere"), Err(Absent::NotMounted));
}

/// T51: a path cannot lead out of the mount.
#[test]
fn a_group_outside_of_the_namespace_is_not_reachable() {
    let found = parse("0::/../../other", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw");
    assert_eq!(found.version_two(), Err(Absent::NotMounted));
}

#[test]
fn escapes_and_nonsense() {
    let mounts = "30 23 0:26 / /a\\040b\\134 rw - cgroup2 cgroup rw\n30 23\n\n1 2 3 x y - - -";
    assert_eq!(parse("0::/x", mounts).version_two(), place("/a b\\", "x"));
    for (groups, mounts) in [("", ""), ("0:", "- cgroup2"), ("::", "a b c d e f - cgroup2 x y")] {
        assert!(parse(groups, mounts).version_two().is_err());
    }
}
