//! The end of a run, however it ends.

use crate::interrupt::Interrupt;
use crate::output;
use anyhow::{Result, anyhow};
use bandscope_recording::manifest::{Incident, IncidentKind, Manifest, State};
use bandscope_recording::text::shown;
use bandscope_recording::write::Writer;
use bandscope_sampler::MachineError;
use std::path::Path;

/// Ends a run: writes the rest of it.
pub fn conclude(
    measured: Result<(), MachineError>,
    writer: Option<Writer>,
    manifest: &mut Manifest,
    interrupt: &Interrupt,
) -> Result<()> {
    if measured.is_err() {
        manifest.state = State::Failed;
    }
    if interrupt.disturber_ended() {
        manifest.incidents.push(Incident {
            kind: IncidentKind::DisturberEnded,
            ticks: writer.as_ref().map_or(0, Writer::now),
            detail: "`bandscope inject` ended before this recording, so the end is cut off"
                .to_owned(),
        });
    }
    // What was written before an error is kept: the manifest says what is there. The first error is the
    // one that matters.
    let finished = writer.map_or(Ok(()), |writer| writer.finish(manifest));
    measured.map_err(|error| match error {
        MachineError::Consumer(error) => anyhow!(error),
        other => other.into(),
    })?;
    Ok(finished?)
}

/// Says of a recording that it is a part.
pub fn say_if_interrupted(manifest: &Manifest, path: &Path) {
    if manifest.state == State::Interrupted {
        output::note(format_args!(
            "bandscope: interrupted; what was measured until then is kept in {}",
            shown(path)
        ));
    }
}
