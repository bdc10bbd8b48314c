//! Keeps the record within the rules that the daemon was started with, from its start on and every hour.
//! Does nothing without a rule. A record that cannot be pruned only grows, and that is said.

use std::sync::Arc;
use std::time::Duration;

use crate::daemon::Daemon;
use crate::log;

/// Prunes the record again and again.
pub(crate) async fn hold(daemon: Arc<Daemon>) {
    if !daemon.settings.retention.is_any() {
        return;
    }
    loop {
        let daemon = Arc::clone(&daemon);
        // A thread that panicked has aborted the process.
        let _done = tokio::task::spawn_blocking(move || prune(&daemon)).await;
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

fn prune(daemon: &Daemon) {
    match daemon.log.prune(&daemon.settings.retention) {
        Ok(pruned) => {
            if let Some(removal) = pruned.removal {
                log::note(&format!("{removal} of the record were removed ({})", removal.rule));
            }
        }
        Err(error) => {
            let why = std::error::Error::source(&error)
                .map_or_else(String::new, |why| format!(": {why}"));
            log::warning(&format!("the record was not pruned: {error}{why}"));
        }
    }
}

const BETWEEN_LOOKS: Duration = Duration::from_secs(3600);
