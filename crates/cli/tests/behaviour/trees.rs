//! Random trees of children, three levels deep, each of them walked in a real cage: what a child can do its parent can.

use std::fmt::Write as _;

use super::support::{Place, stockade_binary};

/// Numbers without a pattern, the same at every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }

    /// The flags of one child.
    fn request(&mut self) -> String {
        const PATHS: [&str; 9] =
            [".", "a", "a/b", "a/b/c", "d", "a/b/c/three", "/usr/share", "/tmp", "../outside"];
        let mut flags = String::new();
        for _ in 0..=self.roll(3) {
            let kind = ["ro", "rw"][self.roll(2)];
            write!(flags, "--{kind} {} ", PATHS[self.roll(PATHS.len())]).unwrap();
        }
        for (flag, sides) in [("--net ", 2), ("--env KEEP ", 2), ("--commands ls,cat,perl ", 4)] {
            if self.roll(sides) == 0 {
                flags.push_str(flag);
            }
        }
        flags
    }
}

/// What a process can do, one line each, by what the shell does itself as far as that goes.
const WALK: &str = r#"
for f in sum a/one a/b/two a/b/c/three d/four /etc/passwd /tmp/root /tmp/own/f /proc/1/environ; do
  true 2>/dev/null < $f && echo "read $f"; true 2>/dev/null >> $f && echo "write $f"
done
for d in . a a/b a/b/c d /tmp /tmp/own; do true 2>/dev/null > $d/made && echo "make $d" && rm $d/made; done
perl -e 'socket(S, 2, 1, 0) and print "network\n"' 2>/dev/null
id > /dev/null 2>&1 && echo "command id"
test -n "$KEEP" && echo "variable"
true 2>/dev/null <&9 && echo "descriptor"
echo end
"#;

/// V34, V35, T51: 300 trees, or as many as `STOCKADE_TREES` says.
#[test]
fn what_a_child_can_do_its_parent_can_in_random_trees() {
    const PARTS: usize = 4;
    if !testing::has("perl") {
        return;
    }
    let place = Place::new();
    for file in ["a/one", "a/b/two", "a/b/c/three", "d/four", "sum"] {
        place.write(file, "text");
    }
    place.write("scripts/walk", WALK);
    let own = stockade_binary();
    let trees =
        std::env::var("STOCKADE_TREES").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    let mut parts = vec![String::new(); PARTS];
    for tree in 0..trees {
        // The last first: each level begins the next one.
        let mut next = String::new();
        for level in (1..=3).rev() {
            let script = format!("scripts/{tree}.{level}");
            place.write(&script, format!("echo begin {tree} {level}\n. scripts/walk\n{next}"));
            next = format!(
                "'{}' spawn {}--ro scripts --ro '{}' -- sh {script} 2>/dev/null\n",
                own.display(),
                dice.request(),
                own.display()
            );
        }
        parts[tree % PARTS].push_str(&next);
    }
    for (number, part) in parts.iter().enumerate() {
        place.write(&format!("scripts/part{number}"), part);
    }
    let line = format!(
        "export KEEP=kept; exec 9< sum; mkdir /tmp/own; echo > /tmp/own/f; echo > /tmp/root; . scripts/walk; \
         for n in $(seq 0 {}); do sh scripts/part$n > /tmp/part$n & done; wait; cat /tmp/part*",
        PARTS - 1
    );
    let ro = own.to_str().unwrap();
    let ended = place.shell(&["--rw", ".", "--ro", ro, "--net", "example.com:443"], &line);
    ended.expect_code(0);
    let (root, walks) = ended.stdout.split_once("end\n").unwrap();
    let lines = |walk: &str| walk.lines().map(str::to_owned).collect::<Vec<_>>();
    let root = lines(root);
    assert!(root.len() > 20, "{root:?}");
    let mut above = vec![root];
    let (mut walked, mut less) = (0, 0);
    for walk in walks.split("begin ").skip(1) {
        let (name, seen) = walk.split_once('\n').unwrap();
        let level: usize = name.rsplit(' ').next().unwrap().parse().unwrap();
        let (seen, _) = seen.split_once("end\n").unwrap_or_else(|| panic!("{name}: {seen}"));
        above.truncate(level);
        assert_eq!(above.len(), level, "{name}");
        let (seen, parent) = (lines(seen), above.last().unwrap());
        let more: Vec<_> = seen.iter().filter(|line| !parent.contains(line)).collect();
        assert!(more.is_empty(), "{name}: {more:?}, and not its parent: {parent:?}");
        assert!(!seen.contains(&"descriptor".to_owned()), "{name}: {seen:?}");
        walked += 1;
        less += usize::from(seen.len() < parent.len());
        above.push(seen);
    }
    assert!(walked >= trees / 2 && less > walked / 4, "{walked} walked, {less} of them less");
}
