//! The trusted side's way in.

use rustix::io::Errno;
use vfs::{Batch, Caller, Done, Kind};

use crate::engines;
use crate::posix::Shell;

/// A9: whole files, listings and removals go through the same walk as a guest's, one by one or together.
#[test]
fn trusted_calls_reach_the_same_files() {
    for subject in engines::all() {
        let (files, root) = (&subject.files, Caller::root());
        files.make_directories(&root, b"/home/user/deep").unwrap();
        files.make_directories(&root, b"/home/user/deep").unwrap();
        files.write_file(&root, b"/home/user/note", b"text").unwrap();
        let shell = Shell::new(files, 0);
        shell.symlink("/home", "/link").unwrap();
        let all = [
            Batch::Read(b"/link/user/note".to_vec()),
            Batch::Read(b"/missing".to_vec()),
            Batch::Write(b"/home/user/more".to_vec(), vec![7; 1 << 20]),
            Batch::List(b"/home/user".to_vec()),
            Batch::Stat(b"/link".to_vec()),
            Batch::MakeDirectories(b"/home/user/note/x".to_vec()),
            Batch::Read(b"/home/user/more".to_vec()),
        ];
        let done = files.batch(&root, &all, 1000);
        assert_eq!(done[0], Ok(Done::Contents(b"text".to_vec())), "{}", subject.name);
        assert_eq!(done[1].unwrap_err_errno(), Errno::NOENT);
        assert_eq!(done[2], Ok(Done::Nothing));
        let Ok(Done::Names(names)) = &done[3] else { panic!("{done:?}") };
        let mut names: Vec<_> = names.iter().map(|one| (one.name.as_slice(), one.kind)).collect();
        names.sort_by_key(|(name, _)| *name);
        let expected =
            [(&b"deep"[..], Kind::Directory), (b"more", Kind::File), (b"note", Kind::File)];
        assert_eq!(names, expected);
        let Ok(Done::Attributes(link)) = &done[4] else { panic!("{done:?}") };
        assert_eq!(link.kind, Kind::Link);
        assert_eq!(done[5].unwrap_err_errno(), Errno::NOTDIR);
        assert_eq!(done[6].unwrap_err_errno(), Errno::FBIG);
        // Only the link goes, not what it leads to.
        files.remove_tree(&root, b"/link").unwrap();
        assert_eq!(shell.text("/home/user/note"), Ok("text".into()));
        files.remove_tree(&root, b"/home").unwrap();
        assert_eq!(files.list(&root, b"/").unwrap(), []);
    }
}

trait ErrnoOf {
    fn unwrap_err_errno(&self) -> Errno;
}

impl ErrnoOf for vfs::Result<Done> {
    fn unwrap_err_errno(&self) -> Errno {
        self.as_ref().unwrap_err().errno
    }
}
