//! Modules as sequences of calls, by themselves and as components, and the worlds that they run in.

use std::sync::Arc;

use engines::wasm::{Compiled, Wasm};
use engines::{End, GuestLimits, Input, Kept, Output, Preopen, Streams, World};
use rustix::fs::{Mode, OFlags};
use vfs::{Caller, Engine, FileSystem, Follow, Host, HostMode, Limits, Memory, Overlay, Owner};

/// What a call is given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    /// A number of 32 bits.
    I(u32),
    /// A number of 64 bits.
    L(u64),
    /// The number of 32 bits that lies here.
    At(u32),
}

pub(crate) use Word::{At, I, L};

/// How a module is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// By itself, over WASI preview 1.
    Module,
    /// As a component, in which what others have written makes calls of preview 2 of those of preview 1.
    Component,
}

const BOTH: &[Form] = &[Form::Module, Form::Component];

/// A module that is a sequence of calls.
#[derive(Debug)]
pub(crate) struct Program {
    data: String,
    /// What each form of it does.
    body: Vec<(&'static [Form], String)>,
    next: u32,
    steps: Vec<Step>,
    forms: &'static [Form],
}

#[derive(Debug)]
struct Step {
    call: String,
    /// What it returns: of a module, and of a component.
    expected: [u32; 2],
}

/// Where the number that a call writes lies, unless a test says otherwise.
pub(crate) const RESULT: u32 = 16;
/// Room for what calls write.
pub(crate) const ROOM: u32 = 1 << 15;

impl Program {
    pub(crate) fn new() -> Self {
        Self {
            data: String::new(),
            body: Vec::new(),
            next: 1024,
            steps: Vec::new(),
            forms: &[Form::Module, Form::Component],
        }
    }

    /// Calls that a component does not make, and why not.
    pub(crate) fn of_modules_alone(&mut self, _why: &str, calls: impl FnOnce(&mut Self)) {
        self.forms = &[Form::Module];
        calls(self);
        self.forms = BOTH;
    }

    /// Runs it as a module, and not as a component: why not.
    pub(crate) fn run_as_module(&self, _why: &str) -> Vec<u8> {
        self.run_as(Form::Module, None, &|_| {}, &|_| {})
    }

    /// What the call before returns in a component, whose interfaces have other words for it.
    pub(crate) fn as_component(&mut self, expected: u32) -> &mut Self {
        self.steps.last_mut().unwrap().expected[1] = expected;
        self
    }

    fn put(&mut self, text: impl Into<String>) {
        self.body.push((self.forms, text.into()));
    }

    /// Puts bytes into the memory: where they are, and how many.
    pub(crate) fn text(&mut self, bytes: impl AsRef<[u8]>) -> [Word; 2] {
        let bytes = bytes.as_ref();
        let at = self.next;
        let text: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
        self.data.push_str(&format!("(data (i32.const {at}) \"{text}\")\n"));
        let length = u32::try_from(bytes.len()).unwrap();
        self.next += length.next_multiple_of(8).max(8);
        [I(at), I(length)]
    }

    /// A list of one `iovec`.
    pub(crate) fn list(&mut self, at: u32, length: u32) -> [Word; 2] {
        let entry = [at.to_le_bytes(), length.to_le_bytes()].concat();
        let [list, _] = self.text(entry);
        [list, I(1)]
    }

    /// Makes a call, which must return this number.
    pub(crate) fn call(&mut self, name: &str, words: &[Word], expected: u32) -> &mut Self {
        let words: String = words.iter().map(|word| format!(" {}", written(*word))).collect();
        let call = format!("{name}{words}");
        self.steps.push(Step { call, expected: [expected, in_a_component(expected)] });
        let step = self.steps.len();
        self.put(format!(
            "(global.set $got (call ${name}{words}))
             (if (i32.ne (global.get $got) (i32.const {EXPECTED}{step}{EXPECTED})) (then
               (i32.store (i32.const {GOT}) (i32.const {step}))
               (i32.store (i32.const {}) (global.get $got))
               (i32.store (i32.const 4) (i32.const {GOT}))
               (i32.store (i32.const 8) (i32.const 8))
               (drop (call $fd_write (i32.const 2) (i32.const 4) (i32.const 1) (i32.const 12)))))\n",
            GOT + 4
        ));
        self
    }

    /// Opens a path below the first directory; where the descriptor's number lies.
    pub(crate) fn open(&mut self, path: &str, how: u32, flags: u32) -> Word {
        self.open_with(path, how, flags, EVERY_RIGHT)
    }

    pub(crate) fn open_with(&mut self, path: &str, how: u32, flags: u32, rights: u64) -> Word {
        let [path, length] = self.text(path);
        let [into, _] = self.text([0; 4]);
        let I(at) = into else { unreachable!() };
        let inheriting = L(EVERY_RIGHT);
        let words = [I(DIR), I(1), path, length, I(how), L(rights), inheriting, I(flags), into];
        self.call("path_open", &words, 0);
        At(at)
    }

    /// Writes bytes to a descriptor.
    pub(crate) fn write(&mut self, descriptor: Word, bytes: &str) {
        let [I(at), I(length)] = self.text(bytes) else { unreachable!() };
        let [list, count] = self.list(at, length);
        self.call("fd_write", &[descriptor, list, count, I(RESULT)], 0);
        self.show(RESULT, 4);
    }

    /// Reads bytes from a descriptor, and shows how many and which.
    pub(crate) fn read(&mut self, descriptor: Word, most: u32) {
        let [list, count] = self.list(ROOM, most);
        self.put(format!("(memory.fill (i32.const {ROOM}) (i32.const 46) (i32.const {most}))\n"));
        self.call("fd_read", &[descriptor, list, count, I(RESULT)], 0);
        self.show(RESULT, 4);
        self.show(ROOM, most);
    }

    /// Writes what lies in the memory to the output.
    pub(crate) fn show(&mut self, at: u32, length: u32) {
        let [list, count] = self.list(at, length);
        self.put(format!(
            "(drop (call $fd_write (i32.const 1) {} {} (i32.const 20)))\n",
            written(list),
            written(count)
        ));
    }

    /// Text of the module's own, between two calls.
    pub(crate) fn raw(&mut self, text: &str) {
        self.put(text);
    }

    pub(crate) fn bytes(&self, form: Form) -> Vec<u8> {
        let module = wat::parse_str(self.module(form)).unwrap();
        match form {
            Form::Module => module,
            Form::Component => component(&module),
        }
    }

    fn module(&self, form: Form) -> String {
        let parts = self.body.iter().filter(|(forms, _)| forms.contains(&form));
        let mut body: String = parts.map(|(_, text)| text.as_str()).collect();
        for (number, step) in (1..).zip(&self.steps) {
            let [of_module, of_component] = step.expected;
            let expected = if form == Form::Module { of_module } else { of_component };
            body = body.replace(&format!("{EXPECTED}{number}{EXPECTED}"), &expected.to_string());
        }
        let imports: String = CALLS
            .iter()
            .map(|(name, kinds)| {
                let kinds: String =
                    kinds.chars().map(|kind| if kind == 'l' { " i64" } else { " i32" }).collect();
                let result = if *name == "proc_exit" { "" } else { "(result i32)" };
                format!(
                    "(import \"wasi_snapshot_preview1\" \"{name}\" (func ${name} (param{kinds}) {result}))\n"
                )
            })
            .collect();
        format!(
            "(module {imports} (memory (export \"memory\") 4) (global $got (mut i32) (i32.const 0))
             {} (func (export \"_start\") {}))",
            self.data, body
        )
    }

    /// Runs it over every engine: what it has shown, which is the same everywhere.
    pub(crate) fn run(&self) -> Vec<u8> {
        self.run_in(|_| {}, |_| {})
    }

    /// The same, in a world that is prepared and looked at.
    pub(crate) fn run_in(
        &self,
        prepare: impl Fn(&mut World),
        look: impl Fn(&FileSystem),
    ) -> Vec<u8> {
        let mut shown: Option<Vec<u8>> = None;
        for form in BOTH {
            shown = Some(self.run_as(*form, shown, &prepare, &look));
        }
        shown.unwrap()
    }

    /// That every call has returned what it must: the others are told of by step and number.
    fn check(&self, form: Form, engine: &str, told: &[u8]) {
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        let wrong = told.chunks(8).map(|one| {
            let Step { call, expected } = &self.steps[number(&one[..4]) as usize - 1];
            format!("{call} = {}, not {expected:?}\n", number(&one[4..]))
        });
        let wrong: String = wrong.collect();
        assert!(wrong.is_empty(), "{form:?} in {engine}:\n{wrong}");
    }

    fn run_as(
        &self,
        form: Form,
        mut shown: Option<Vec<u8>>,
        prepare: &impl Fn(&mut World),
        look: &impl Fn(&FileSystem),
    ) -> Vec<u8> {
        let bytes = self.bytes(form);
        let compiled: std::cell::OnceCell<(Wasm, Compiled)> = std::cell::OnceCell::new();
        for engine in engines() {
            let (mut world, kept) = world(&engine);
            prepare(&mut world);
            let files = world.files.clone();
            let (wasm, program) = compiled.get_or_init(|| {
                let wasm = Wasm::new(&world.limits).unwrap();
                let program = wasm.compile(&bytes).unwrap();
                (wasm, program)
            });
            let end = wasm.run(program, world).unwrap();
            self.check(form, engine.0, &kept.1.bytes());
            assert_eq!(end, End::Exited(0), "{form:?} in {}", engine.0);
            look(&files);
            let now = kept.0.bytes();
            let before = shown.get_or_insert_with(|| now.clone());
            assert_eq!(
                String::from_utf8_lossy(before),
                String::from_utf8_lossy(&now),
                "{form:?} in {}",
                engine.0
            );
        }
        shown.unwrap()
    }
}

/// A module as a component.
pub(crate) fn component(module: &[u8]) -> Vec<u8> {
    let encoder = wit_component::ComponentEncoder::default().validate(true).module(module).unwrap();
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER;
    encoder.adapter("wasi_snapshot_preview1", adapter).unwrap().encode().unwrap()
}

/// What preview 2 has another word for, whatever the call.
const fn in_a_component(expected: u32) -> u32 {
    match expected {
        // A path that leaves its directory is `not-permitted` there.
        NOTCAPABLE => PERM,
        other => other,
    }
}

fn written(word: Word) -> String {
    match word {
        I(number) => format!("(i32.const {number})"),
        L(number) => format!("(i64.const {number})"),
        At(address) => format!("(i32.load (i32.const {address}))"),
    }
}

pub(crate) type Named = (&'static str, Arc<dyn Engine>, Option<Arc<tempfile::TempDir>>);

/// One of each kind, with an empty root.
pub(crate) fn engines() -> Vec<Named> {
    let limits = Limits::default();
    let memory = || -> Arc<dyn Engine> { Arc::new(Memory::new(&Caller::root(), 0o755, limits)) };
    let overlay = Overlay::new(vec![memory()], memory(), &limits).unwrap();
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open =
        |place: &tempfile::TempDir| rustix::fs::open(place.path(), flags, Mode::empty()).unwrap();
    let host = Host::new(open(&place), HostMode::Writable, &limits).unwrap();
    let with_mounts = Host::of_root(open(&other), &limits).unwrap();
    vec![
        ("memory", memory(), None),
        ("overlay", Arc::new(overlay), None),
        ("host", Arc::new(host), Some(Arc::new(place))),
        ("host and what is mounted there", Arc::new(with_mounts), Some(Arc::new(other))),
    ]
}

/// Whoever runs the tests: the guest is that, and owns its directory.
pub(crate) fn caller() -> Caller {
    Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// A world over an engine, with `/work` as the module's one directory, and what it writes.
pub(crate) fn world(engine: &Named) -> (World, (Kept, Kept)) {
    let files = FileSystem::new(Arc::clone(&engine.1), &Limits::default());
    let (root, caller) = (Caller::root(), caller());
    files.make_directories(&root, b"/work").unwrap();
    files.write_file(&root, b"/secret", b"secret").unwrap();
    let owner = Owner { uid: Some(caller.uid), gid: Some(caller.gid) };
    files.set_owner(&root, vfs::At::Root, b"/work", Follow::No, owner).unwrap();
    let mut world = World::new(files, caller, b"program");
    world.preopens = vec![Preopen::open(&world.files, &world.caller, b"/work", b"/work").unwrap()];
    let kept = (Kept::new(1 << 20), Kept::new(1 << 20));
    world.streams = Streams {
        input: Input::Bytes(b"input".to_vec()),
        output: Output::Kept(kept.0.clone()),
        error: Output::Kept(kept.1.clone()),
    };
    (world, kept)
}

/// Runs a module written by hand, in memory.
pub(crate) fn run_text(text: &str, limits: GuestLimits) -> (End, Vec<u8>) {
    let engine = engines().remove(0);
    let (mut world, kept) = world(&engine);
    world.limits = limits;
    let wasm = Wasm::new(&limits).unwrap();
    let module = wasm.compile(&wat::parse_str(text).unwrap()).unwrap();
    (wasm.run(&module, world).unwrap(), kept.0.bytes())
}

/// Where a step and what it has returned lie, of one that has returned something else.
const GOT: u32 = 24;

/// Stands around the number of a step where what it returns is to be.
const EXPECTED: char = '@';

/// The first directory of a module.
pub(crate) const DIR: u32 = 3;
pub(crate) const EVERY_RIGHT: u64 = (1 << 30) - 1;
pub(crate) const CREATE: u32 = 1;
pub(crate) const DIRECTORY: u32 = 2;
pub(crate) const EXCLUSIVE: u32 = 4;
pub(crate) const TRUNCATE: u32 = 8;
pub(crate) const APPEND: u32 = 1;

pub(crate) const BADF: u32 = 8;
pub(crate) const EXIST: u32 = 20;
pub(crate) const FAULT: u32 = 21;
pub(crate) const INVAL: u32 = 28;
pub(crate) const ISDIR: u32 = 31;
pub(crate) const LOOP: u32 = 32;
pub(crate) const MFILE: u32 = 33;
pub(crate) const NAMETOOLONG: u32 = 37;
pub(crate) const NOENT: u32 = 44;
pub(crate) const NOMEM: u32 = 48;
pub(crate) const NOSPC: u32 = 51;
pub(crate) const NOTDIR: u32 = 54;
pub(crate) const NOTEMPTY: u32 = 55;
pub(crate) const NOTSOCK: u32 = 57;
pub(crate) const NOTSUP: u32 = 58;
pub(crate) const PERM: u32 = 63;
pub(crate) const SPIPE: u32 = 70;
pub(crate) const NOTCAPABLE: u32 = 76;

/// Every call, and whether its words are long.
pub(crate) const CALLS: &[(&str, &str)] = &[
    ("args_get", "ii"),
    ("args_sizes_get", "ii"),
    ("environ_get", "ii"),
    ("environ_sizes_get", "ii"),
    ("clock_res_get", "ii"),
    ("clock_time_get", "ili"),
    ("fd_advise", "illi"),
    ("fd_allocate", "ill"),
    ("fd_close", "i"),
    ("fd_datasync", "i"),
    ("fd_fdstat_get", "ii"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_fdstat_set_rights", "ill"),
    ("fd_filestat_get", "ii"),
    ("fd_filestat_set_size", "il"),
    ("fd_filestat_set_times", "illi"),
    ("fd_pread", "iiili"),
    ("fd_prestat_get", "ii"),
    ("fd_prestat_dir_name", "iii"),
    ("fd_pwrite", "iiili"),
    ("fd_read", "iiii"),
    ("fd_readdir", "iiili"),
    ("fd_renumber", "ii"),
    ("fd_seek", "ilii"),
    ("fd_sync", "i"),
    ("fd_tell", "ii"),
    ("fd_write", "iiii"),
    ("path_create_directory", "iii"),
    ("path_filestat_get", "iiiii"),
    ("path_filestat_set_times", "iiiilli"),
    ("path_link", "iiiiiii"),
    ("path_open", "iiiiillii"),
    ("path_readlink", "iiiiii"),
    ("path_remove_directory", "iii"),
    ("path_rename", "iiiiii"),
    ("path_symlink", "iiiii"),
    ("path_unlink_file", "iii"),
    ("poll_oneoff", "iiii"),
    ("proc_exit", "i"),
    ("proc_raise", "i"),
    ("sched_yield", ""),
    ("random_get", "ii"),
    ("sock_accept", "iii"),
    ("sock_recv", "iiiiii"),
    ("sock_send", "iiiii"),
    ("sock_shutdown", "ii"),
];
