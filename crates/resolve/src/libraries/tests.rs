//! Where loaders look. Depends on no particular library being installed.

use super::*;

fn path(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

#[test]
fn search_paths_are_expanded() {
    let table: [(&[u8], &[&str]); 6] = [
        (b"/opt/lib", &["/opt/lib"]),
        (b"$ORIGIN/../lib:/x", &["/opt/tool/bin/../lib", "/x"]),
        (b"${ORIGIN}", &["/opt/tool/bin"]),
        (b"relative:/absolute", &["/absolute"]),
        (b"/usr/$LIB/x", &[]),
        (b"", &[]),
    ];
    for (list, expected) in table {
        let expanded = expand(list, &path("/opt/tool/bin/program"));
        let expected: Vec<_> = expected.iter().map(|text| text.as_bytes().to_vec()).collect();
        assert_eq!(expanded, expected);
    }
}

#[test]
fn search_paths_of_the_old_kind_are_inherited_and_the_new_kind_switches_them_off() {
    let libraries = Libraries { cache: LibraryCache::default() };
    let above = vec![b"/above".to_vec()];
    let old = Elf { rpath: Some(b"/old:/above".to_vec()), ..Elf::default() };
    let inherited = libraries.inherited_directories(&path("/bin/x"), &old, &above);
    assert_eq!(inherited, [b"/above".to_vec(), b"/old".to_vec()]);
    let both = Elf { runpath: Some(b"/new".to_vec()), ..old };
    assert_eq!(libraries.inherited_directories(&path("/bin/x"), &both, &above), above);
    let search = Search {
        library: b"libx.so",
        needed_by: &path("/bin/x"),
        elf: &both,
        inherited: &above,
        interpreter: b"/lib64/ld-linux-x86-64.so.2",
    };
    assert_eq!(named_before_cache(&search), [b"/new".to_vec()]);
}

#[test]
fn musl_is_recognised_by_its_loader() {
    assert_eq!(musl_architecture(b"/lib/ld-musl-x86_64.so.1").as_deref(), Some("x86_64"));
    assert_eq!(musl_architecture(b"/lib64/ld-linux-x86-64.so.2"), None);
    let libraries = Libraries { cache: LibraryCache::default() };
    let search = Search {
        library: b"libc.so",
        needed_by: &path("/bin/x"),
        elf: &Elf::default(),
        inherited: &[],
        interpreter: b"/lib/ld-musl-x86_64.so.1",
    };
    assert_eq!(libraries.find(&search), Answer::BuiltIn);
}

#[test]
fn a_library_of_another_processor_is_passed_over() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let own = Elf::read(&file).unwrap().machine;
    let program = std::env::current_exe().unwrap();
    assert!(is_library_for(program.as_os_str().as_bytes(), own));
    assert!(!is_library_for(program.as_os_str().as_bytes(), own + 1));
    assert!(!is_library_for(b"/etc/passwd", own));
    assert!(!is_library_for(b"/nothing/here", own));
}
