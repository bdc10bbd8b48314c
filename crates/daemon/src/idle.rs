//! The end of a daemon that was started for a single run: when nothing has run in it for long. Never ends one that
//! somebody started by name.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::daemon::Daemon;

/// Returns when the daemon has had no running program for as long as it was told to wait; never without that.
pub(crate) async fn end(daemon: &Arc<Daemon>) {
    let Some(longest) = daemon.settings.idle else { return std::future::pending().await };
    let mut since = Instant::now();
    loop {
        tokio::time::sleep(longest.min(BETWEEN_LOOKS)).await;
        if daemon.cages.list().iter().any(|cage| !cage.has_ended()) {
            since = Instant::now();
        } else if since.elapsed() >= longest {
            return;
        }
    }
}

const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
