//! Maven and Gradle: mirrors and repositories of `settings.xml`, of which only the addresses are read.
//! A file with a password in it is not shown.

use super::{reach, reach_all};
use crate::address::Address;
use crate::draft::{Draft, Word};
use crate::host::Host;
use crate::registries::{GRADLE, JAVA};

pub(super) fn add(draft: &mut Draft, host: &Host) {
    let mut mirrors = Vec::new();
    let of_user = host.in_home(".m2/settings.xml");
    let of_system = host.in_system("etc/maven/settings.xml");
    for file in [of_user, of_system].into_iter().flatten() {
        let Some(text) = host.text(&file).map(|text| without_comments(&text)) else { continue };
        let addresses = contents(&text, "url").filter_map(Address::read);
        // A mirror that only blocks leads nowhere.
        let addresses: Vec<Address> =
            addresses.filter(|address| address.name != "0.0.0.0").collect();
        let is_secret = SECRETS.iter().any(|name| contents(&text, name).next().is_some())
            || addresses.iter().any(|address| address.had_secret);
        mirrors.extend(addresses);
        if is_secret {
            draft.left_out(format!(
                "`{file}` has a password in it; its repositories can be reached"
            ));
        } else {
            draft.path(host, "Maven's settings, which have no password in them", Word::Read, &file);
        }
    }
    // Where distributions have the settings that its start script needs.
    for name in ["etc/maven/m2.conf", "etc/maven/logging", "etc/maven/toolchains.xml"] {
        let path = host.in_system(name).filter(|path| host.exists(path));
        path.iter().for_each(|path| draft.path(host, "Maven's settings", Word::Read, path));
    }
    if mirrors.is_empty() {
        reach_all(draft, WHY, JAVA);
    }
    mirrors.iter().for_each(|address| reach(draft, WHY, address));
    if host.has_any(&["gradle"])
        || host.in_home(".gradle").is_some_and(|path| host.is_directory(&path))
    {
        reach_all(draft, WHY, GRADLE);
    }
}

/// What stands between the tags of one name. Nested ones of the same name do not occur there.
fn contents<'text>(text: &'text str, name: &str) -> impl Iterator<Item = &'text str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(open.as_str())?;
        let (content, after) = after.split_once(close.as_str())?;
        rest = after;
        Some(content.trim())
    })
}

/// Distributions ship settings that are all comment.
fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

const WHY: &str = "Packages of Java";

const SECRETS: &[&str] = &["password", "passphrase", "privateKey"];
