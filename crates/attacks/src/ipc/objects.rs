//! System V and POSIX objects of the same user. T34

use std::ffi::CString;
use std::fs;
use std::path::Path;

use sys::raw;

use crate::attack::{Attack, Outcome, Refused};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T34", "system-v-memory", "reads a System V segment", |scene| {
        Ok(Outcome::of_reading(&raw::read_shared_memory(scene.names.key)?))
    })
    .steals(),
    Attack::new("T34", "system-v-messages", "takes a System V message", |scene| {
        Ok(Outcome::of_reading(&raw::read_message_queue(scene.names.key)?))
    })
    .steals(),
    Attack::new("T34", "posix-memory", "reads a POSIX memory object", |scene| {
        let path = Path::new("/dev/shm").join(&scene.names.object);
        Ok(Outcome::of_reading(&fs::read(path)?))
    })
    .steals(),
    Attack::new("T34", "posix-messages", "takes a POSIX message", |scene| {
        let name = CString::new(format!("/{}", scene.names.object))
            .map_err(|error| Refused(error.to_string()))?;
        Ok(Outcome::of_reading(&raw::read_posix_queue(&name)?))
    })
    .steals(),
    Attack::new("T34", "list-system-v", "lists the System V objects of the host", |scene| {
        let table = fs::read_to_string("/proc/sysvipc/shm")?;
        let wanted = scene.names.key.to_string();
        if table.lines().any(|line| line.split_whitespace().next() == Some(wanted.as_str())) {
            return Ok(Outcome::Succeeded("the host's segment is in the list".to_owned()));
        }
        Ok(Outcome::Failed("not in the list".to_owned()))
    }),
    Attack::new("T34", "display-by-variable", "finds a display to type on", |_| {
        match ["DISPLAY", "WAYLAND_DISPLAY"].iter().find(|name| std::env::var_os(name).is_some()) {
            Some(name) => Ok(Outcome::Succeeded(format!("{name} is set"))),
            None => Ok(Outcome::Failed("no such variable".to_owned())),
        }
    }),
];
