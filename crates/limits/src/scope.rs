//! A scope of systemd: a control group that systemd makes and removes, in which only it may write.
//!
//! A scope is made for processes that exist, so the cage's first process is put into it while it
//! waits behind the gate. What systemd says it has done is not believed but read back from the
//! control group: the process must be in it and every limit must hold there.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::backend::Obstacle;
use crate::dbus::{BusError, Call, Connection, Message, Value, Writer, reach};
use crate::directory::{Directory, Version};
use crate::hierarchy::{Hierarchies, Place};
use crate::name::{GroupName, PREFIX};
use crate::numbers::{Limit, Numbers};
use crate::watch::Watch;
use crate::{LimitsError, Swept, Usage, v2};

#[cfg(test)]
mod tests;

/// The manager that serves this caller: the system's for root, else the user's own.
#[derive(Debug)]
pub(crate) struct Manager {
    door: Door,
    mount_point: PathBuf,
    held: Vec<Limit>,
    obstacles: Vec<(Limit, Obstacle)>,
}

/// How the manager is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Door {
    /// Over a message bus.
    Bus(PathBuf),
    /// Over the manager's own socket, where no bus is installed.
    Direct(PathBuf),
}

impl Manager {
    /// Looks for systemd, with all controllers in the one hierarchy of version 2. None where there is
    /// no systemd of that kind.
    pub(crate) fn find(hierarchies: &Hierarchies) -> Option<Result<Self, Obstacle>> {
        // What sd_booted(3) looks for.
        if !Path::new("/run/systemd/system").is_dir() {
            return None;
        }
        let mount_point = hierarchies.version_two().ok()?.mount_point;
        let user = rustix::process::geteuid();
        let root = Place { mount_point: mount_point.clone(), relative: PathBuf::new() };
        let available =
            Directory::open(&root, Version::Two).ok()?.read("cgroup.controllers").ok()?;
        if !Limit::ALL.iter().any(|limit| v2::has_word(&available, limit.controller())) {
            return None;
        }
        let (doors, given) = if user.is_root() {
            (SYSTEM_DOORS.map(PathBuf::from), available)
        } else {
            let user = user.as_raw();
            let runtime = PathBuf::from(format!("/run/user/{user}"));
            let unit = format!("user.slice/user-{user}.slice/user@{user}.service");
            let own = Place { mount_point: mount_point.clone(), relative: unit.into() };
            let given = Directory::open(&own, Version::Two).ok();
            let given = given.and_then(|own| own.read("cgroup.controllers").ok());
            ([runtime.join("bus"), runtime.join("systemd/private")], given.unwrap_or(available))
        };
        let [bus, private] = doors;
        // A socket may be left over, or covered where a service was shut out.
        let (door, stream) = if let Ok(stream) = reach(&bus) {
            (Door::Bus(bus), stream)
        } else if let Ok(stream) = reach(&private) {
            (Door::Direct(private), stream)
        } else {
            return Some(Err(no_manager(&bus)));
        };
        if !counts_processes_as_we_do(&stream) {
            return Some(Err(elsewhere()));
        }
        let mut manager = Self { door, mount_point, held: Vec::new(), obstacles: Vec::new() };
        for limit in Limit::ALL {
            match v2::has_word(&given, limit.controller()) {
                true => manager.held.push(limit),
                false => manager.obstacles.push((limit, not_given(limit))),
            }
        }
        Some(Ok(manager))
    }

    pub(crate) fn holds(&self) -> &[Limit] {
        &self.held
    }

    pub(crate) fn obstacles(&self) -> &[(Limit, Obstacle)] {
        &self.obstacles
    }

    /// What is in the way of asking it anything.
    pub(crate) fn trouble(&self) -> Option<Obstacle> {
        let error = self.connect(Instant::now() + LONGEST_CALL).err()?;
        Some(no_answer(&error))
    }

    /// Gets ready to ask for a scope.
    pub(crate) fn prepare(
        &self,
        numbers: &Numbers,
        name: &GroupName,
    ) -> Result<Scope, LimitsError> {
        let talk = self.connect(Instant::now() + LONGEST_START).map_err(|error| {
            let Obstacle { why, fix } = no_answer(&error);
            LimitsError::Unusable { limits: numbers.limits(), why, fix }
        })?;
        Ok(Scope {
            name: name.clone(),
            numbers: *numbers,
            mount_point: self.mount_point.clone(),
            talk: Some(talk),
            made: None,
            last: Mutex::new(Usage::default()),
        })
    }

    /// Kills what is left in scopes of supervisors that are gone. systemd removes them.
    pub(crate) fn sweep(&self) -> Vec<Swept> {
        let deadline = Instant::now() + LONGEST_CALL;
        let Ok(mut talk) = self.connect(deadline) else { return Vec::new() };
        let Ok(units) = talk.scopes() else { return Vec::new() };
        let stale = units.into_iter().filter_map(|(unit, description)| {
            let name = GroupName::parse(&description)?;
            (unit == unit_of(&name) && name.is_abandoned()).then_some((unit, name))
        });
        stale
            .map(|(unit, name)| {
                let killed = talk.kill(&unit);
                Swept {
                    invocation: name.invocation,
                    supervisor: name.supervisor,
                    path: PathBuf::from(unit),
                    killed: usize::from(killed.is_ok()),
                    left: killed.err().map(LimitsError::from),
                }
            })
            .collect()
    }

    fn connect(&self, deadline: Instant) -> Result<Talk, BusError> {
        let (path, destination) = match &self.door {
            Door::Bus(path) => (path, Some(SYSTEMD)),
            Door::Direct(path) => (path, None),
        };
        let connection = Connection::open(path, deadline)?;
        let mut talk = Talk { connection, destination };
        if destination.is_some() {
            talk.connection.hello()?;
            talk.connection.add_match(JOB_REMOVED_RULE)?;
        }
        // Signals are sent to subscribers alone.
        talk.manager("Subscribe", "", &[])?;
        Ok(talk)
    }
}

/// A conversation with a manager.
#[derive(Debug)]
struct Talk {
    connection: Connection,
    destination: Option<&'static str>,
}

impl Talk {
    fn manager(&mut self, member: &str, signature: &str, body: &[u8]) -> Result<Message, BusError> {
        self.connection.call(&Call {
            destination: self.destination,
            path: "/org/freedesktop/systemd1",
            interface: "org.freedesktop.systemd1.Manager",
            member,
            signature,
            body,
        })
    }

    /// Has a scope made for a process, and waits until that is done.
    fn start(&mut self, name: &GroupName, numbers: &Numbers, pid: Pid) -> Result<(), LimitsError> {
        let body = start_arguments(name, numbers, pid);
        let reply = self.manager("StartTransientUnit", "ssa(sv)a(sa(sv))", &body)?;
        let job = reply.reader().text()?.to_owned();
        let result = self.connection.wait_for_signal(|message| {
            let removed = message.member.as_deref() == Some("JobRemoved");
            removed.then(|| job_result(message, &job).ok().flatten()).flatten()
        })?;
        match result.as_str() {
            "done" => Ok(()),
            _ => Err(LimitsError::Scope { unit: unit_of(name), result }),
        }
    }

    /// The scopes of ours that are loaded, with their descriptions.
    fn scopes(&mut self) -> Result<Vec<(String, String)>, BusError> {
        let mut body = Writer::new();
        body.array(4, |_| {});
        body.array(4, |body| body.text(&format!("{PREFIX}*.scope")));
        let reply = self.manager("ListUnitsByPatterns", "asas", &body.into_bytes())?;
        let mut units = Vec::new();
        reply.reader().array(8, |reader| {
            reader.structure()?;
            let (unit, description) = (reader.text()?.to_owned(), reader.text()?.to_owned());
            reader.skip("ssssouso")?;
            units.push((unit, description));
            Ok(())
        })?;
        Ok(units)
    }

    fn kill(&mut self, unit: &str) -> Result<(), BusError> {
        let mut body = Writer::new();
        body.text(unit);
        body.text("all");
        // A signal is of the type `i`, which has the form of `u`.
        body.number(9);
        self.manager("KillUnit", "ssi", &body.into_bytes()).map(drop)
    }
}

/// A scope that was asked for, or is going to be.
#[derive(Debug)]
pub(crate) struct Scope {
    name: GroupName,
    numbers: Numbers,
    mount_point: PathBuf,
    talk: Option<Talk>,
    made: Option<Made>,
    /// What was read last. systemd removes the group with its last process, and the counters too.
    last: Mutex<Usage>,
}

#[derive(Debug)]
struct Made {
    own: Directory,
    watch: Watch,
}

impl Scope {
    pub(crate) fn adopt(&mut self, pid: Pid) -> Result<(), LimitsError> {
        // The connection is given up: a bus lets one user have only so many.
        if let Some(mut talk) = self.talk.take() {
            talk.start(&self.name, &self.numbers, pid)?;
        }
        let own = self.group_of(pid)?;
        read_back(&own, &self.numbers)?;
        let watch = v2::begin_to_watch(&own, &self.numbers)?;
        self.made = Some(Made { own, watch });
        Ok(())
    }

    /// The group in which the process really is, which must be the scope.
    fn group_of(&self, pid: Pid) -> Result<Directory, LimitsError> {
        let text = std::fs::read(format!("/proc/{}/cgroup", pid.as_raw_nonzero()));
        let unit = unit_of(&self.name);
        let text = text.unwrap_or_default();
        let relative = String::from_utf8_lossy(&text)
            .lines()
            .find_map(|line| line.strip_prefix("0::/").map(PathBuf::from))
            .filter(|path| path.file_name().is_some_and(|name| name == unit.as_str()));
        let Some(relative) = relative else {
            let result = "the process is not in it".to_owned();
            return Err(LimitsError::Scope { unit, result });
        };
        Directory::open(&Place { mount_point: self.mount_point.clone(), relative }, Version::Two)
    }

    pub(crate) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.made.as_ref().map(|made| made.watch.as_fd())
    }

    pub(crate) fn usage(&self) -> Usage {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Made { own, watch }) = &self.made {
            // The group may go while it is read.
            *last = v2::read_usage(own, Some(watch)).after(*last);
        }
        *last
    }

    pub(crate) fn kill(&self, deadline: Instant) -> Result<(), LimitsError> {
        self.made.as_ref().map_or(Ok(()), |made| v2::kill(&made.own, deadline))
    }

    /// Waits until the last process is gone; systemd does the rest.
    pub(crate) fn remove(&mut self, deadline: Instant) -> Result<(), LimitsError> {
        let Some(Made { own, .. }) = &self.made else { return Ok(()) };
        loop {
            let left = own.processes().map_or(0, |left| left.len());
            if left == 0 {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(LimitsError::StillInUse { path: own.path().to_owned(), left });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What the scope is to be.
fn start_arguments(name: &GroupName, numbers: &Numbers, pid: Pid) -> Vec<u8> {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut properties = vec![
        ("Description", Value::Text(name.to_string())),
        ("Slice", text("stockade.slice")),
        ("CollectMode", text("inactive-or-failed")),
        ("PIDs", Value::Numbers(vec![pid.as_raw_nonzero().get().unsigned_abs()])),
    ];
    if let Some(bytes) = numbers.memory {
        properties.push(("MemoryMax", Value::Number(bytes)));
        properties.push(("MemorySwapMax", Value::Number(0)));
    }
    if let Some(pids) = numbers.pids {
        properties.push(("TasksMax", Value::Number(pids)));
    }
    if let Some(weight) = numbers.weight {
        properties.push(("CPUWeight", Value::Number(u64::from(weight))));
    }
    if let Some(quota) = numbers.quota_per_second() {
        properties.push(("CPUQuotaPerSecUSec", Value::Number(quota)));
    }
    let mut body = Writer::new();
    body.text(&unit_of(name));
    body.text("fail");
    body.array(8, |body| {
        for (name, value) in &properties {
            body.structure(|body| {
                body.text(name);
                body.variant(value);
            });
        }
    });
    // No other units.
    body.array(8, |_| {});
    body.into_bytes()
}

/// The result of a job that is over, if it is this one: `JobRemoved` has the job's number, its
/// object, the unit and the result.
fn job_result(message: &Message, job: &str) -> Result<Option<String>, BusError> {
    let mut reader = message.reader();
    let _number = reader.number()?;
    let object = reader.text()?;
    let _unit = reader.text()?;
    let result = reader.text()?;
    Ok((object == job).then(|| result.to_owned()))
}

/// Whether the control group holds what was asked for.
fn read_back(own: &Directory, numbers: &Numbers) -> Result<(), LimitsError> {
    let is_more = |file: &str, wanted: Option<u64>| {
        let held = own.read(file).ok().and_then(|text| crate::usage::number(&text));
        wanted.is_some_and(|wanted| held.is_none_or(|held| held > wanted))
    };
    let quota = own.read("cpu.max").ok().and_then(|text| per_second(&text));
    let swaps = numbers.memory.is_some()
        && own.read("memory.swap.max").is_ok_and(|text| text.trim() != "0");
    let weight = numbers.weight.map(u64::from);
    let files = [
        ("memory.max", is_more("memory.max", numbers.memory)),
        ("memory.swap.max", swaps),
        ("pids.max", is_more("pids.max", numbers.pids)),
        ("cpu.weight", is_more("cpu.weight", weight)),
        (
            "cpu.max",
            numbers.quota_per_second().is_some_and(|most| quota.is_none_or(|held| held > most)),
        ),
    ];
    match files.into_iter().find(|(_, differs)| *differs) {
        None => Ok(()),
        Some((file, _)) => Err(LimitsError::NotHeld { path: own.path().join(file) }),
    }
}

/// `quota period` as microseconds in each second; none for `max`.
fn per_second(text: &str) -> Option<u64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    quota.saturating_mul(1_000_000).checked_div(period)
}

fn unit_of(name: &GroupName) -> String {
    format!("{PREFIX}{}.scope", name.invocation)
}

/// Whether a process id means the same process to whoever listens as to us. To a manager outside of
/// our process id namespace it is somebody else's, who would be put into the scope, under the limits.
fn counts_processes_as_we_do(stream: &UnixStream) -> bool {
    sys::peer::process_of_peer(stream).is_ok_and(|peer| peer.is_some())
}

fn elsewhere() -> Obstacle {
    Obstacle {
        why: "systemd runs in another process id namespace, where our process ids are those of others"
            .to_owned(),
        fix: Obstacle::ELSEWHERE.to_owned(),
    }
}

fn no_manager(bus: &Path) -> Obstacle {
    let user = rustix::process::geteuid().as_raw();
    Obstacle {
        why: format!(
            "systemd runs here, and its manager for this user does not listen at `{}`",
            bus.display()
        ),
        fix: format!("sudo loginctl enable-linger {user}"),
    }
}

fn no_answer(error: &BusError) -> Obstacle {
    let status = match rustix::process::geteuid().is_root() {
        true => "systemctl status",
        false => "systemctl --user status",
    };
    Obstacle {
        why: format!("systemd cannot be asked for a scope: {error}"),
        fix: format!("see what `{status}` says"),
    }
}

fn not_given(limit: Limit) -> Obstacle {
    let controller = limit.controller();
    Obstacle {
        why: format!("systemd does not hand the `{controller}` controller on to users"),
        fix: "sudo sh -c 'mkdir -p /etc/systemd/system/user@.service.d && printf \
              \"[Service]\\nDelegate=cpu memory pids\\n\" > \
              /etc/systemd/system/user@.service.d/delegate.conf && systemctl daemon-reload', and \
              log in again"
            .to_owned(),
    }
}

const SYSTEMD: &str = "org.freedesktop.systemd1";
const JOB_REMOVED_RULE: &str = "type='signal',sender='org.freedesktop.systemd1',\
     interface='org.freedesktop.systemd1.Manager',member='JobRemoved'";
const SYSTEM_DOORS: [&str; 2] = ["/run/dbus/system_bus_socket", "/run/systemd/private"];

/// A bus that is there answers at once.
const LONGEST_CALL: Duration = Duration::from_secs(5);
/// From the preparation, over the start of the cage, to the end of the job.
const LONGEST_START: Duration = Duration::from_secs(30);
