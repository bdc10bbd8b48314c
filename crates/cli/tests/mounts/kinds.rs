//! One program, written in C and in JavaScript: as a program of the processor, as a WASM module, by Node.js and as a guest. Each
//! finds the same in the same files, and leaves the same.

use std::process::Command;

use super::support::{Place, has};
use super::{can_mount, has_guests};

/// How the program is run, and with which words before its own.
const KINDS: &[(&str, &[&str])] = &[
    ("native", &["run", "--", "./count"]),
    ("wasm", &["wasm", "./count.wasm"]),
    ("node", &["run", "--", "node", "count.js"]),
    ("js", &["js", "count.js"]),
];

/// A24: in a directory of the host and in a store, which the cages of all four kinds have one after the other.
#[test]
fn the_same_program_gives_the_same_answers_in_each_kind() {
    if !can_mount() || !has_guests() || !has("node") || !has("clang") || !has("wasm-ld") {
        return;
    }
    let place = Place::new();
    place.write("count.c", COUNT_C);
    place.write("count.js", COUNT_JS);
    compile(&place, &["cc", "-O1", "-o", "count", "count.c"]);
    compile(&place, &["clang", "--target=wasm32-wasi", "-O1", "-o", "count.wasm", "count.c"]);
    for at in [".", "/mnt/store"] {
        let run = |words: &[&str]| {
            let (first, rest) = words.split_first().unwrap();
            let flags = [first, "-q", "--rw", ".", "--mount", "/mnt/store=store:data.db,rw"];
            let ended = place.ask([&flags, rest].concat());
            ended.expect_code(0);
            ended.stdout
        };
        run(&["run", "--", "sh", "-c", &format!("cd {at}; {DATA}")]);
        let told: Vec<_> = KINDS
            .iter()
            .map(|(kind, words)| {
                let result = format!("{at}/result-{kind}");
                let data = format!("{at}/data");
                let printed = run(&[words, &[data.as_str(), &result][..]].concat());
                (kind, printed, run(&["run", "--", "cat", &result]))
            })
            .collect();
        let (_, printed, left) = &told[0];
        assert!(
            printed.starts_with("7 entries\n") && left.contains("empty 0 0 811c9dc5"),
            "{told:?}"
        );
        for (kind, other, other_left) in &told {
            assert_eq!((other, other_left), (printed, left), "{kind} in {at}");
        }
    }
}

fn compile(place: &Place, words: &[&str]) {
    let status = Command::new(words[0]).args(&words[1..]).current_dir(&place.project).status();
    assert!(status.unwrap().success(), "{words:?}");
}

/// Files of several kinds and sizes.
const DATA: &str = "mkdir data; cd data; : >empty; printf 'one line' >one; seq 1 20000 >numbers; mkdir below; \
                    ln -s one link; ln -s nowhere broken; head -c 70000 /dev/zero >zeros; chmod 640 numbers";

/// For each entry of a directory, in order: its name, size, lines and a hash of its bytes; and for others what they are.
const COUNT_C: &str = r#"
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int count, char **words) {
  char *names[64], path[512], target[256];
  int found = 0;
  DIR *directory = opendir(words[1]);
  for (struct dirent *entry; (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) names[found++] = strdup(entry->d_name);
  qsort(names, found, sizeof *names, order);
  FILE *result = fopen(words[2], "w");
  for (int at = 0; at < found; at++) {
    struct stat is;
    snprintf(path, sizeof path, "%s/%s", words[1], names[at]);
    lstat(path, &is);
    if (S_ISLNK(is.st_mode)) {
      target[readlink(path, target, sizeof target - 1)] = 0;
      int failed = stat(path, &is) ? errno : 0;
      fprintf(result, "%s -> %s %s\n", names[at], target, failed == ENOENT ? "missing" : "there");
    } else if (S_ISDIR(is.st_mode)) {
      fprintf(result, "%s/\n", names[at]);
    } else {
      FILE *file = fopen(path, "r");
      uint32_t hash = 2166136261u;
      long lines = 0;
      for (int byte; (byte = getc(file)) != EOF;) { hash = (hash ^ byte) * 16777619u; lines += byte == '\n'; }
      fclose(file);
      fprintf(result, "%s %ld %ld %08x\n", names[at], (long)is.st_size, lines, hash);
    }
  }
  fclose(result);
  snprintf(path, sizeof path, "%s/below", words[1]);
  printf("%d entries\n%s\n", found, mkdir(path, 0755) && errno == EEXIST ? "EEXIST" : "made");
  snprintf(path, sizeof path, "%s/new", words[1]);
  printf("%s\n", rename(words[2], path) || rename(path, words[2]) ? "failed" : "renamed twice");
  return 0;
}
"#;

const COUNT_JS: &str = r"
const fs = require('fs');
const [data, result] = process.argv.slice(2);
const names = fs.readdirSync(data).sort();
let text = '';
for (const name of names) {
  const path = `${data}/${name}`, is = fs.lstatSync(path);
  if (is.isSymbolicLink()) text += `${name} -> ${fs.readlinkSync(path)} ${fs.existsSync(path) ? 'there' : 'missing'}\n`;
  else if (is.isDirectory()) text += `${name}/\n`;
  else {
    let hash = 2166136261, lines = 0;
    for (const byte of fs.readFileSync(path)) { hash = Math.imul(hash ^ byte, 16777619); lines += byte === 10; }
    text += `${name} ${is.size} ${lines} ${(hash >>> 0).toString(16).padStart(8, '0')}\n`;
  }
}
fs.writeFileSync(result, text);
let made = 'made';
try { fs.mkdirSync(`${data}/below`); } catch (error) { made = error.code; }
console.log(`${names.length} entries\n${made}`);
fs.renameSync(result, `${data}/new`); fs.renameSync(`${data}/new`, result);
console.log('renamed twice');
";
