//! What a run says about itself: one line at the beginning at a terminal, everything with `--verbose`, less with
//! `--quiet`.

use super::support::{Ended, Place, has, stockade_binary};
use super::terminal::on_terminal;

#[test]
fn a_run_at_a_terminal_says_what_the_program_may_do() {
    if !has("script") {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.home.join("other")).unwrap();
    let screen = |flags: &str| {
        let line = format!("'{}' run {flags} -- true", stockade_binary().display());
        let ended = Ended::of(on_terminal(&place, &line).output().unwrap());
        ended.expect_code(0).stdout.clone()
    };
    let plain = screen("");
    let expected = "the program may read `~/project`, change nothing of yours and reach no host";
    assert!(plain.contains(expected), "{plain}");
    let more = screen("--rw ../other --net b.example,a.example:443 --host-port 5432");
    let expected = "the program may read `~/project`, change `~/other` and reach `a.example:443`, `b.example`, \
                    port 5432 of this machine";
    assert!(more.contains(expected), "{more}");
    let many = screen("--net a.example,b.example,c.example,d.example --rw .");
    assert!(
        many.contains(
            "change `~/project` and reach `a.example`, `b.example`, `c.example` and 1 more"
        ),
        "{many}"
    );
    assert!(!screen("-q").contains("may read"));
    // A program that reads standard error gets nothing of it.
    assert_eq!(place.shell(&[], "true").expect_code(0).stderr, "");
}

#[test]
fn verbose_and_quiet() {
    let place = Place::new();
    place.default_cage("fs = [{ ro = \".\" }]\nenv = [\"LANG\"]");
    let ended = place.shell(&["-v", "--net", "example.org"], "true");
    let project = place.project.display();
    ended.expect_code(0).says(&format!("detail: ro `{project}` (stockade.toml:3)"));
    ended.says("net `example.org` (--net example.org)").says("env `LANG`").says("detail: layers:");
    ended.says("policy ").says("files and plan ").says(" ms, program ");
    assert!(!place.shell(&[], "true").stderr.contains("detail"));
    place.shell(&["-v", "-q"], "true").expect_code(2);
}
