//! Whether this process is in a cage of ours. Only for what a person is told: the program around it could
//! pretend either.

/// The name of the cage around this process. Its variable says which, and its host name that it is one.
pub(crate) fn cage_around() -> Option<String> {
    let name = std::env::var("STOCKADE_CAGE").ok()?;
    let system = rustix::system::uname();
    system.nodename().to_bytes().starts_with(HOST_NAME.as_bytes()).then_some(name)
}

/// How every cage's host name begins. K42
const HOST_NAME: &str = "stockade-";
