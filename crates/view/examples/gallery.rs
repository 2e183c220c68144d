//! Draws every sample scene in every format into a directory, to be looked at:
//! `cargo run -p bandscope-view --example gallery -- DIRECTORY`.
//!
//! The machines are made up; see `tests/samples`.

#[path = "../tests/samples/mod.rs"]
mod samples;

use bandscope_view::{FORMATS, Options};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let directory: PathBuf = std::env::args_os()
        .nth(1)
        .ok_or("usage: gallery DIRECTORY")?
        .into();
    std::fs::create_dir_all(&directory)?;
    for (name, analysis) in samples::all() {
        for format in FORMATS {
            draw(&directory, name, &analysis, *format, &Options::default())?;
        }
        let wide = Options {
            width: 120,
            colour: true,
            ..Options::default()
        };
        draw(
            &directory,
            &format!("{name}-wide"),
            &analysis,
            &bandscope_view::text::Text,
            &wide,
        )?;
        let ascii = Options {
            ascii: true,
            ..Options::default()
        };
        draw(
            &directory,
            &format!("{name}-ascii"),
            &analysis,
            &bandscope_view::text::Text,
            &ascii,
        )?;
    }
    Ok(())
}

fn draw(
    directory: &std::path::Path,
    name: &str,
    analysis: &bandscope_analysis::Analysis,
    format: &dyn bandscope_view::Format,
    options: &Options,
) -> Result<(), Box<dyn Error>> {
    let path = directory.join(format!("{name}.{}", format.name()));
    let mut out = BufWriter::new(File::create(&path)?);
    format.render(analysis, options, &mut out)?;
    out.flush()?;
    println!("{}", path.display());
    Ok(())
}
