//! What holds a cage to its limits on memory, processes and processor time.

use super::{Layer, LayerState};

/// Judges what was found. A cage without such limits needs none of it.
pub(super) fn limits_layer(found: ::limits::Layer) -> Layer {
    let state = match (found.mechanism, found.missing.as_slice()) {
        (None, _) => LayerState::Absent,
        (Some(_), []) => LayerState::Present,
        (Some(_), _) => LayerState::Degraded,
    };
    let why = match state {
        LayerState::Absent => format!("cages can have no limits but that of time: {}", found.why),
        LayerState::Present | LayerState::Degraded => found.why,
    };
    Layer { name: "limits", state, required: false, why, fix: found.fix }
}
