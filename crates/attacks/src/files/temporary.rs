//! Directories that programs share: the host's `/tmp`, and writes that only seem to work. T14, T59

use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T14", "read-host-tmp", "reads a file in the host's `/tmp`", |scene| {
        Ok(Outcome::of_reading(&fs::read(&scene.temporary_file)?))
    })
    .steals(),
    Attack::new("T14", "list-host-tmp", "finds a predictable name in `/tmp`", |scene| {
        let wanted = scene.temporary_file.file_name();
        let found =
            fs::read_dir("/tmp")?.flatten().any(|entry| Some(entry.file_name().as_ref()) == wanted);
        if found {
            return Ok(Outcome::Succeeded("the host's file is in the list".to_owned()));
        }
        Ok(Outcome::Failed("not in the list".to_owned()))
    }),
    Attack::new(
        "T14",
        "predictable-name-in-tmp",
        "puts a link where a host program would write next",
        link_where_host_writes,
    )
    .harms(),
    Attack::new("T14", "host-devices", "opens a device that only the host should have", |_| {
        open_device()
    })
    .twin(crate::attack::Twin::Root),
    Attack::new("T59", "write-outside", "writes to a path that nothing grants", |scene| {
        fs::write(scene.target(), scene.mark())?;
        Ok(Outcome::Attempted("written".to_owned()))
    })
    .harms(),
    Attack::new(
        "T59",
        "write-that-vanishes",
        "makes a file in the root, which nothing grants, and is told that it worked",
        |_| make_nameless_in_root(),
    )
    .twin(crate::attack::Twin::Root),
    Attack::new("T59", "write-beside-project", "writes to the home, beside the project", |scene| {
        fs::write(scene.home.join(scene.mark()), scene.mark())?;
        Ok(Outcome::Attempted("written".to_owned()))
    })
    .harms(),
];

/// The host's program is this attack's twin: it writes through the name that it expects to be new.
fn link_where_host_writes(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let mut name = scene.temporary_file.as_os_str().to_owned();
    name.push("-next");
    symlink(scene.target(), &name)?;
    let written = fs::write(&name, scene.mark());
    fs::remove_file(&name)?;
    written?;
    Ok(Outcome::Attempted("written through the link".to_owned()))
}

/// Without a name, so that nothing is left of it where it works.
fn make_nameless_in_root() -> Result<Outcome, Refused> {
    match rustix::fs::open("/", OFlags::TMPFILE | OFlags::WRONLY, Mode::RUSR | Mode::WUSR) {
        Ok(_) => Ok(Outcome::Succeeded("made it".to_owned())),
        Err(Errno::OPNOTSUPP) => Ok(Outcome::NotApplicable(
            "the root's file system has only files with names".to_owned(),
        )),
        Err(errno) => Err(errno.into()),
    }
}

fn open_device() -> Result<Outcome, Refused> {
    let mut refusal = Refused("no device".to_owned());
    for device in ["/dev/kmsg", "/dev/mem", "/dev/fuse", "/dev/loop-control", "/dev/kvm"] {
        match fs::File::open(device) {
            Ok(_) => return Ok(Outcome::Succeeded(format!("opened {device}"))),
            Err(error) => refusal = error.into(),
        }
    }
    Err(refusal)
}
