//! What the analysis is given of a scene: a recording in memory, or files of counts that the same reader opens as for `bandscope report`.

use crate::scene::{Medium, Scene};
use anyhow::{Context, Result};
use bandscope_recording::Source;
use bandscope_recording::dat::write_dat;
use bandscope_recording::inputs::Inputs;
use bandscope_simulation::{Scenario, Truth, synthesise};
use std::fs::File;
use std::io::BufWriter;
use tempfile::TempDir;

/// A scene that was recorded.
pub struct Made {
    /// What was measured.
    pub source: Box<dyn Source>,
    /// What really happened: in the recording, or while the first file was made.
    pub truth: Truth,
    /// Where the files lie, which go with it.
    _files: Option<TempDir>,
}

/// Records a scene.
///
/// # Errors
/// If it cannot be made, a mistake in the list of families, or if its files cannot be written.
pub fn make(scene: &Scene) -> Result<Made> {
    let scenario = Scenario::parse(&scene.scenario)?;
    if scene.medium == Medium::Counts {
        return files(scene, &scenario);
    }
    let (recording, mut truths) = synthesise(&scenario, &scene.request())?;
    Ok(Made {
        source: Box::new(recording),
        truth: truths.remove(0),
        _files: None,
    })
}

fn files(scene: &Scene, scenario: &Scenario) -> Result<Made> {
    let directory = TempDir::new().context("cannot make a directory for FTQ files")?;
    let mut paths = Vec::new();
    let mut truth = Truth::default();
    for (number, request) in scene.requests_of_files().iter().enumerate() {
        let (recording, mut truths) = synthesise(scenario, request)?;
        let path = directory.path().join(format!("{number}.dat"));
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        write_dat(&recording, 0, BufWriter::new(file))?;
        paths.push(path);
        if number == 0 {
            truth = truths.remove(0);
        }
    }
    Ok(Made {
        source: Box::new(Inputs::open(&paths)?),
        truth,
        _files: Some(directory),
    })
}
