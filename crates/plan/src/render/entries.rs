//! A Plan's tree and network as a list, one entry for each step: what the record keeps of a cage.
//! Paths are the bytes that they are; whoever shows an entry escapes it. Knows nothing of one start, because the
//! list is kept once for each hash.

use crate::{
    Access, Bind, BindPurpose, Execution, Mapping, MountOp, NetworkPlan, Overlay, Served,
    ServedFrom, ServedLayers, Walls,
};

/// The mounts in their order, then the destinations of the network.
pub fn entries(walls: &Walls) -> Vec<Vec<u8>> {
    let mut entries: Vec<Vec<u8>> =
        walls.mounts.iter().map(|operation| entry(walls, operation)).collect();
    match &walls.network {
        NetworkPlan::Loopback => entries.push(b"network: loopback".to_vec()),
        NetworkPlan::Gatekeeper(gatekeeper) => {
            let lists = [("allow", &gatekeeper.allow), ("deny", &gatekeeper.deny)];
            for (word, destinations) in lists {
                let lines = destinations.iter().map(|one| format!("{word} {one}").into_bytes());
                entries.extend(lines);
            }
            let ports = [("host port", &gatekeeper.host_ports), ("publish", &gatekeeper.publish)];
            for (word, numbers) in ports {
                entries.extend(numbers.iter().map(|port| format!("{word} {port}").into_bytes()));
            }
        }
    }
    entries
}

fn entry(walls: &Walls, operation: &MountOp) -> Vec<u8> {
    let at = operation.at().as_bytes();
    match operation {
        MountOp::Directory { mode, .. } => words(&format!("directory {mode:o}"), at),
        MountOp::File { mode, contents, .. } => {
            words(&format!("file {mode:o} of {} bytes", contents.as_bytes().len()), at)
        }
        MountOp::Hosts { mode, contents, .. } => {
            let length = contents.as_bytes().len();
            words(&format!("file {mode:o} of {length} bytes and its host name"), at)
        }
        MountOp::Symlink { target, .. } => [b"link ", at, b" -> ", target.as_bytes()].concat(),
        MountOp::Bind(bind) => {
            let mut entry = bind_words(bind);
            entry.extend_from_slice(at);
            let source = walls.sources.get(bind.source.position());
            let source = source.map(|source| source.path.as_bytes());
            // Most grants are at their own paths.
            if let Some(source) = source.filter(|source| *source != at) {
                entry.extend_from_slice(b" from ");
                entry.extend_from_slice(source);
            }
            entry
        }
        MountOp::Overlay(Overlay { mapping, purpose, .. }) => {
            words(&format!("{}{}", purpose.word(), owner_words(*mapping)), at)
        }
        MountOp::Served(Served { from: ServedFrom::Layers(layers), .. }) => {
            let ServedLayers { mapping, purpose, why, hidden, read_only, .. } = layers;
            let mut entry =
                words(&format!("{}{} served", purpose.word(), owner_words(*mapping)), at);
            entry.extend_from_slice(format!(" because {}", why.reason()).as_bytes());
            for (word, paths) in [(" hidden ", hidden), (" ro ", read_only)] {
                for path in paths {
                    entry.extend_from_slice(word.as_bytes());
                    entry.extend_from_slice(path.as_bytes());
                }
            }
            entry
        }
        MountOp::Served(served) => {
            let from = served_from(walls, &served.from);
            let words = format!("served {} ", served.access.word());
            [words.as_bytes(), at, b" from ", &from].concat()
        }
        MountOp::Tmpfs { mode, size, execution, .. } => {
            let access = operation.access().map_or("", Access::word);
            let execution = execution_word(*execution);
            let (bytes, inodes) = (size.bytes, size.inodes);
            words(&format!("memory {access}{execution} {mode:o} {bytes} bytes {inodes} inodes"), at)
        }
        MountOp::Mask { .. } => words("hidden", at),
        MountOp::MaskIfPresent { .. } => words("hidden if present", at),
        MountOp::SealReadOnly { .. } => words("sealed", at),
        MountOp::Proc { .. } => words("proc", at),
        MountOp::Devpts { .. } => words("devpts", at),
    }
}

/// As the policy has it.
pub(super) fn served_from(walls: &Walls, from: &ServedFrom) -> Vec<u8> {
    match from {
        ServedFrom::Store { directory, name } => {
            let source = walls.sources.get(directory.position());
            let directory = source.map(|source| source.path.as_bytes()).unwrap_or_default();
            let directory = directory.strip_suffix(b"/").unwrap_or(directory);
            [b"store:", directory, b"/", name.as_bytes()].concat()
        }
        ServedFrom::Remote(store) => store.to_string().into_bytes(),
        ServedFrom::Inside(inside) => inside.to_string().into_bytes(),
        ServedFrom::Layers(layers) => {
            let source = walls.sources.get(layers.lower.position());
            source.map(|source| source.path.as_bytes().to_vec()).unwrap_or_default()
        }
    }
}

fn words(words: &str, at: &[u8]) -> Vec<u8> {
    [words.as_bytes(), b" ", at].concat()
}

fn bind_words(bind: &Bind) -> Vec<u8> {
    let purpose = match bind.purpose {
        BindPurpose::Base => "base",
        BindPurpose::Grant => "grant",
        BindPurpose::Command => "command",
        BindPurpose::Device => "device",
        BindPurpose::Protected => "protected",
        BindPurpose::Pin => "pin",
        BindPurpose::Scratch => "scratch",
        BindPurpose::Home => "home",
    };
    let owner = owner_words(bind.mapping);
    let (access, execution) = (bind.access.word(), execution_word(bind.execution));
    format!("{purpose} {access}{execution}{owner} ").into_bytes()
}

fn owner_words(mapping: Mapping) -> String {
    match mapping {
        Mapping::Plain => String::new(),
        Mapping::Owner { uid, gid } => format!(" owner {uid}:{gid}"),
    }
}

fn execution_word(execution: Execution) -> &'static str {
    match execution {
        Execution::Allowed => "",
        Execution::Refused => " noexec",
    }
}
