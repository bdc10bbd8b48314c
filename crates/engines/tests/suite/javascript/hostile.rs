//! Programs that mean harm: each is ended by the limit that it reaches, or gets nothing by it.

use std::time::{Duration, Instant};

use engines::{End, GuestLimits, Limit};

use crate::program::engines;
use crate::run;

fn limits() -> GuestLimits {
    GuestLimits {
        max_memory: 32 << 20,
        max_stack: 512 << 10,
        max_descriptors: 16,
        max_cpu: Some(Duration::from_millis(300)),
        ..GuestLimits::default()
    }
}

fn end_of(source: &str) -> (End, String, String) {
    run(&engines().remove(0), source, |world| world.limits = limits())
}

/// A25: an endless loop ends by its limit, whatever it does to be left alone.
#[test]
fn endless_loops_end() {
    for source in [
        "for (;;);",
        "for (;;) try { for (;;); } catch {} finally { for (;;); }",
        "(async () => { for (;;) await null; })();",
        "function again() { process.nextTick(again); } again();",
        "function again() { setImmediate(again); } again();",
        "process.on('uncaughtException', () => { for (;;); }); process.on('exit', () => { for (;;); }); throw 1;",
        "/(a+)+$/.test('a'.repeat(40) + 'b');",
        "Array.from({ length: 1e9 }, () => 1).length; for (;;);",
        "const fs = require('fs'); for (;;) fs.statSync('/work');",
        "let p = new Proxy({}, { get() { for (;;); } }); console.log(p.x);",
        "Error.prepareStackTrace = () => { for (;;); }; null.x;",
    ] {
        let begun = Instant::now();
        let (end, _, complaint) = end_of(source);
        let passed = begun.elapsed();
        let is_memory = source.contains("1e9") && end == End::Reached(Limit::Memory);
        assert!(end == End::Reached(Limit::Cpu) || is_memory, "{source}: {end:?} {complaint}");
        // Its time is of the processor, which others have as well.
        assert!(passed < testing::slowly(Duration::from_secs(15)), "{source}: {passed:?}");
    }
}

/// A25: recursion and growth end at their limits, which are named.
#[test]
fn memory_and_stack_end() {
    for (source, limit) in [
        ("(function again() { again(); })();", Limit::Stack),
        ("const a = {}; a.toString = () => `${a}`; `${a}`;", Limit::Stack),
        ("const all = []; for (;;) all.push(new Array(100000).fill(1));", Limit::Memory),
        ("const all = []; for (;;) all.push('x'.repeat(1e6) + Math.random());", Limit::Memory),
        ("const all = []; for (;;) all.push(new ArrayBuffer(1 << 20));", Limit::Memory),
        // Of so small things that there is no room for an error either.
        ("const all = []; for (;;) all.push({});", Limit::Memory),
        ("const all = new Map(); for (let at = 0;; at++) all.set(at, at);", Limit::Memory),
        ("let f = () => {}; for (;;) { const g = f; f = () => g; }", Limit::Memory),
        (
            "const all = []; (async () => { for (;;) all.push(Promise.resolve()); })()",
            Limit::Memory,
        ),
        (
            "const all = []; for (;;) all.push(require('crypto').randomBytes(1 << 20));",
            Limit::Memory,
        ),
    ] {
        let (end, _, complaint) = run(&engines().remove(0), source, |world| {
            // What fills the memory takes its time on a busy machine.
            world.limits = GuestLimits { max_cpu: Some(Duration::from_secs(20)), ..limits() };
        });
        assert_eq!(end, End::Reached(limit), "{source}: {complaint}");
    }
    // What is caught goes on.
    let (end, shown, _) = end_of(
        "let deep = 0; (function again() { deep++; try { again(); } catch {} })(); console.log(deep > 100);
         try { new ArrayBuffer(1 << 30); } catch (error) { console.log(error instanceof Error); }",
    );
    assert_eq!((end, shown.as_str()), (End::Exited(0), "true\ntrue\n"));
}

/// A25: descriptors are bounded, and what is open is given back.
#[test]
fn descriptors_are_bounded() {
    let (end, shown, complaint) = end_of(
        "const fs = require('fs'); let count = 0;
         try { for (;;) { fs.openSync('main.js'); count++; } } catch (error) { console.log(count, error.code); }
         for (let fd = 3; fd < 3 + count; fd++) fs.closeSync(fd);
         for (let at = 0; at < 1000; at++) fs.closeSync(fs.openSync('main.js'));
         for (const fd of [-1, 99, 2 ** 31, 1.5, NaN]) { try { fs.readFileSync(fd); } catch (error) { console.log(error.code); } }",
    );
    assert_eq!(end, End::Exited(0), "{complaint}");
    assert_eq!(
        shown,
        "16 EMFILE\nERR_OUT_OF_RANGE\nEBADF\nERR_OUT_OF_RANGE\nERR_OUT_OF_RANGE\nERR_OUT_OF_RANGE\n"
    );
}

/// A1: whatever a program does to the objects that it finds, it gets hold of nothing but its world.
#[test]
fn prototype_games_get_nothing() {
    let (end, shown, complaint) = end_of(
        "const seen = [];
         for (const name of ['call', 'apply', 'bind']) { const old = Function.prototype[name]; Function.prototype[name] = function (...all) { for (const one of [this, ...all]) if (one && typeof one === 'object' && 'readText' in one) seen.push('native'); return Reflect.apply(old, this, all); }; }
         Object.prototype.flag = 'w'; Array.prototype[Symbol.iterator] = Array.prototype.values;
         const get = Map.prototype.get; Map.prototype.get = function (key) { seen.push(typeof key); return Reflect.apply(get, this, [key]); };
         Object.defineProperty(Object.prototype, 'native', { set(value) { seen.push('set'); } });
         const fs = require('fs');
         delete Object.prototype.flag;
         console.log(fs.readFileSync('/secret', 'utf8'));
         console.log(typeof native, typeof internal, typeof globalThis.native, seen.includes('native'), seen.includes('set'));
         const names = Object.getOwnPropertyNames(globalThis); console.log(names.includes('native'), names.includes('std'), names.includes('os'), names.includes('bjson'));
         try { throw new Error(); } catch (error) { console.log(typeof error.stack); }
         for (const escape of ['std', 'os', 'bjson', 'qjs:os', 'inspector/promises']) { try { require(escape); console.log('there is', escape); } catch (error) { if (error.code !== 'MODULE_NOT_FOUND') console.log(error.code); } }
         for (const act of [() => require('child_process').execSync('id'), () => require('net').connect(1), () => new (require('worker_threads').Worker)('x'), () => require('vm').runInNewContext('1'), () => process.binding('fs'), () => process.kill(1), () => process.dlopen({}, 'x')]) { try { act(); console.log('did not fail'); } catch (error) { if (!error.code && !(error instanceof TypeError)) console.log(error); } }
         Promise.prototype.then = function () { return 1; }; (async () => { await 1; console.log('awaited'); })();",
    );
    assert_eq!(end, End::Exited(0), "{complaint}");
    assert_eq!(
        shown,
        "secret\nundefined undefined undefined false false\nfalse false false false\nstring\nthere is os\nawaited\n"
    );
}

/// A2: a program cannot do more than its user may, by any operation.
#[test]
fn permissions_hold() {
    let (end, shown, complaint) = run(
        &engines().remove(0),
        "const fs = require('fs'); const codes = [];
         for (const act of [() => fs.readFileSync('/secret'), () => fs.writeFileSync('/secret', ''), () => fs.writeFileSync('/new', ''), () => fs.unlinkSync('/secret'), () => fs.renameSync('/secret', '/work/x'), () => fs.linkSync('/secret', '/work/x'), () => fs.chmodSync('/secret', 0o777), () => fs.truncateSync('/secret'), () => fs.chownSync('/secret', 0, 0), () => fs.utimesSync('/secret', 1, 1), () => fs.copyFileSync('/secret', '/work/x'), () => fs.accessSync('/secret', fs.constants.R_OK), () => fs.rmSync('/work', { recursive: true }), () => fs.mkdirSync('/d'), () => fs.symlinkSync('x', '/l'), () => fs.openSync('/secret', 'r+')]) { try { act(); codes.push('did not fail'); } catch (error) { codes.push(error.code); } }
         console.log(codes.join(' '));",
        |world| {
            let root = vfs::Caller::root();
            world.files.set_mode(&root, vfs::At::Root, b"/secret", 0o600).unwrap();
            world.caller = vfs::Caller::of(1000, 1000);
        },
    )
    .clone();
    assert_eq!(end, End::Exited(0), "{complaint}");
    let allowed = ["EACCES", "EPERM", "ENOTEMPTY"];
    assert!(shown.trim().split(' ').all(|code| allowed.contains(&code)), "{shown}");
}

/// A23: how a program ends: its status, its streams, and what nobody caught.
#[test]
fn ends_are_told() {
    for (source, status, output, error) in [
        ("process.exitCode = 4; console.log('x'); console.error('y');", 4, "x\n", "y\n"),
        ("try { process.exit(5); } catch {} finally { console.log('no'); }", 5, "", ""),
        ("throw new TypeError('mine');", 1, "", "TypeError: mine"),
        ("Promise.reject(new Error('nobody'));", 1, "", "Error: nobody"),
        ("throw 5;", 1, "", "Uncaught 5"),
        ("let x = ;", 1, "", "SyntaxError"),
        (
            "setTimeout(() => { throw new Error('late'); }, 1); setTimeout(() => console.log('no'), 50);",
            1,
            "",
            "Error: late",
        ),
        (
            "console.log(require('fs').readFileSync(0, 'utf8'), process.argv.slice(2), process.env.A);",
            0,
            "input [ 'one' ] 1\n",
            "",
        ),
        (
            "process.stdin.on('data', (data) => console.log(String(data))).on('end', () => console.log('end'));",
            0,
            "input\nend\n",
            "",
        ),
    ] {
        let (end, shown, complaint) = run(&engines().remove(0), source, |world| {
            world.arguments = vec![b"main.js".to_vec(), b"one".to_vec()];
            world.environment = vec![(b"A".to_vec(), b"1".to_vec())];
        });
        assert_eq!((end, shown.as_str()), (End::Exited(status), output), "{source}: {complaint}");
        assert!(complaint.contains(error), "{source}: {complaint}");
    }
}

/// A21, A25: a million files are more than there may be, and links lead round in circles or nowhere else.
#[test]
fn files_and_links_are_bounded() {
    let limits = vfs::Limits { max_inodes: 2000, ..vfs::Limits::default() };
    let engine: std::sync::Arc<dyn vfs::Engine> =
        std::sync::Arc::new(vfs::Memory::new(&vfs::Caller::root(), 0o755, limits));
    let (end, shown, complaint) = run(
        &("memory", engine, None),
        "const fs = require('fs'); let count = 0;
         try { for (; count < 1e6; count++) fs.writeFileSync(`/work/${count}`, ''); } catch (error) { console.log(error.code, count > 1000 && count < 2000); }
         for (let at = 0; at < 100; at++) fs.unlinkSync(`/work/${at}`);
         const tell = (act) => { try { console.log(act()); } catch (error) { console.log(error.code); } };
         fs.symlinkSync('b', 'a'); fs.symlinkSync('a', 'b'); tell(() => fs.readFileSync('a')); tell(() => fs.realpathSync('a'));
         fs.symlinkSync('../../../../secret', 'out'); tell(() => fs.readFileSync('out', 'utf8')); tell(() => fs.realpathSync('out'));
         for (let at = 0; at < 50; at++) fs.symlinkSync(at === 0 ? '/secret' : `l${at - 1}`, `l${at}`); tell(() => fs.readFileSync('l39', 'utf8')); tell(() => fs.readFileSync('l45'));
         tell(() => fs.linkSync('/work', 'hard')); tell(() => fs.renameSync('/work', '/work/inside')); tell(() => fs.mkdirSync('x/'.repeat(3000)));
         tell(() => fs.readFileSync('nul\\0byte')); tell(() => fs.symlinkSync('x'.repeat(5000), 'long')); tell(() => fs.rmSync('.', { recursive: true }));",
        |_| {},
    );
    assert_eq!(end, End::Exited(0), "{complaint}");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[..7],
        ["ENOSPC true", "ELOOP", "ELOOP", "secret", "/secret", "secret", "ELOOP"]
    );
    assert!(lines[7..].iter().all(|line| line.starts_with('E')), "{shown}");
}

/// A25: calls of the host end with the program's time as well.
#[test]
fn long_calls_end_with_the_time() {
    for source in [
        "const all = Buffer.alloc(1 << 20); for (;;) require('crypto').createHash('sha512').update(all).digest();",
        "const fs = require('fs'); fs.writeFileSync('large', Buffer.alloc(4 << 20)); for (;;) fs.readFileSync('large');",
        "const text = '(a:b=c)=>'.repeat(3000); require('fs').writeFileSync('x.cts', text); for (;;) try { require('./x.cts'); } catch {}",
    ] {
        let begun = Instant::now();
        let (end, _, complaint) = end_of(source);
        assert_eq!(end, End::Reached(Limit::Cpu), "{source}: {complaint}");
        assert!(begun.elapsed() < testing::slowly(Duration::from_secs(5)), "{source}");
    }
}

/// A1: without a word of whoever made its world a program starts nothing and asks nobody.
#[test]
fn nothing_is_around_a_program_without_a_word() {
    let (end, shown, complaint) = end_of(
        "const { spawnSync, exec } = require('child_process');
         console.log(spawnSync('/bin/true').error.code); exec('true', (error) => console.log(error.code));
         fetch('http://127.0.0.1:9/').catch((error) => console.log(error.cause.code));
         fetch('data:text/plain,a%20b').then((answer) => answer.text()).then(console.log);",
    );
    assert_eq!(end, End::Exited(0), "{complaint}");
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["EACCES", "EACCES", "EACCES", "a b"]);
}

/// A25: what a guest finds in place is no module that it can have.
#[test]
fn what_is_in_place_cannot_be_imported() {
    let source = "const names = ['node:internal/fs', 'internal/fs', 'node:internal/errors', 'node:internal/../fs'];
        const all = (all) => console.log(all.map((one) => one.status).join());
        Promise.allSettled(names.map((name) => import(name))).then(all);
        for (const name of names) try { require(name); console.log(name); } catch {}";
    let (end, shown, complaint) = end_of(source);
    let none = "rejected,rejected,rejected,rejected\n";
    assert_eq!((end, shown.as_str()), (End::Exited(0), none), "{complaint}");
}
