//! Commands that findings and their pages name must be commands of this program.
//!
//! They are read where they are written: string literals of `crates/analysis/src/findings`, indented lines of
//! `docs/phenomena`, and the console sessions of the README and of the page of `inject`.

use super::Arguments;
use clap::Parser;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(directory: &str, extension: &str) -> Vec<(PathBuf, String)> {
    let directory = root().join(directory);
    let entries = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

/// The commands of this program in a line of shell.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    let line = line.split_once(" #").map_or(line, |(command, _)| command);
    line.split(['&', '|', ';'])
        .map(str::trim)
        .filter(|command| command.split_whitespace().next() == Some("bandscope"))
}

/// Parses the commands of a line, and says how many there were.
fn parse(path: &Path, line: &str) -> usize {
    let found = commands(line).map(|command| {
        if let Err(error) = Arguments::try_parse_from(command.split_whitespace()) {
            panic!("{}: {command}\n{error}", path.display());
        }
    });
    found.count()
}

/// The string literals of a source; a line that a backslash continues is joined.
fn literals(source: &str) -> Vec<String> {
    let code: Vec<&str> = source
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with("//"))
        .collect();
    let code = code.join("\n").replace("\\\n", "");
    code.split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn next_steps_can_be_taken() {
    let mut parsed = 0;
    for (path, source) in files("crates/analysis/src/findings", "rs") {
        for literal in literals(&source) {
            // COMMAND: what it decides. What is filled in is a number.
            let command = literal.split(": ").next().unwrap_or_default();
            let filled: Vec<&str> = command.split(['{', '}']).collect();
            let parts = filled.iter().enumerate();
            let command: String = parts
                .map(|(number, part)| if number % 2 == 1 { "1" } else { *part })
                .collect();
            parsed += parse(&path, &command);
        }
    }
    assert!(parsed >= 10, "{parsed}");
}

#[test]
fn commands_of_the_pages_are_commands_of_the_program() {
    let mut parsed = 0;
    for (path, page) in files("docs/phenomena", "md") {
        let lines = page.lines().filter_map(|line| line.strip_prefix("    "));
        parsed += lines.map(|line| parse(&path, line)).sum::<usize>();
    }
    assert!(parsed >= 15, "{parsed}");
}

#[test]
fn commands_of_the_readme_are_commands_of_the_program() {
    for (page, least) in [("README.md", 5), ("docs/inject.md", 4)] {
        let path = root().join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("$ "));
        let parsed: usize = lines.map(|line| parse(&path, line)).sum();
        assert!(parsed >= least, "{page}: {parsed}");
    }
}
