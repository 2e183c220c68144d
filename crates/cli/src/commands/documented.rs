//! Commands that findings and their pages name must be commands of this program, and pictures that pages show must be there.
//!
//! They are read where they are written: string literals of `crates/report/src/remedies`, indented lines of
//! `docs/phenomena`, and the console sessions of the README and of pages of commands.

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

/// The words of a command, as a shell has them: what stands between quotation marks is one.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for one in command.chars() {
        match one {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            one => words.last_mut().unwrap().push(one),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Parses the commands of a line, and says how many there were.
fn parse(path: &Path, line: &str) -> usize {
    let found = commands(line).map(|command| {
        if let Err(error) = Arguments::try_parse_from(words(command)) {
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
    for (path, source) in files("crates/report/src/remedies", "rs") {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        for literal in literals(code) {
            // Arguments of a recording stand by themselves. What is filled in is a number.
            let command = match literal.strip_prefix("--") {
                Some(arguments) => format!("bandscope record --{arguments}"),
                None => literal.replace("sudo ", ""),
            };
            if command.contains("{arguments}") {
                continue;
            }
            let filled: Vec<&str> = command.split(['{', '}']).collect();
            let parts = filled.iter().enumerate();
            let command: String = parts
                .map(|(number, part)| if number % 2 == 1 { "1" } else { *part })
                .collect();
            parsed += parse(&path, &command);
        }
    }
    assert!(parsed >= 8, "{parsed}");
}

#[test]
fn no_example_of_help_is_wrapped_at_80_columns() {
    let command = super::top::command();
    let subcommands = command.get_subcommands();
    let helps = subcommands.filter_map(|one| Some((one.get_name(), one.get_after_help()?)));
    let top = ("bandscope", command.get_after_help().unwrap());
    for (name, help) in helps.chain([top]) {
        let help = help.to_string();
        for line in help.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
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
    for (page, least) in [
        ("README.md", 5),
        ("docs/inject.md", 4),
        ("docs/histogram.md", 6),
        ("docs/lab.md", 8),
        ("docs/check.md", 6),
        ("docs/compare.md", 5),
        ("docs/repeat.md", 6),
        ("docs/cure.md", 2),
        ("docs/doctor.md", 4),
        ("docs/export.md", 2),
        ("docs/pictures.md", 2),
        ("docs/prometheus.md", 1),
        ("docs/scale.md", 6),
        ("docs/fleet.md", 5),
    ] {
        let path = root().join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("$ "));
        let parsed: usize = lines.map(|line| parse(&path, line)).sum();
        assert!(parsed >= least, "{page}: {parsed}");
    }
}

/// What a page shows: the files of its pictures.
fn pictures(page: &str) -> impl Iterator<Item = &str> {
    page.split("![").skip(1).filter_map(|after| {
        let (_, target) = after.split_once("](")?;
        target.split_once(')').map(|(file, _)| file)
    })
}

/// All of them together are to stay below this, so that a clone stays small.
const MOST_BYTES: u64 = 1_600_000;

#[test]
fn every_phenomenon_has_a_picture_that_is_drawn_and_shown() {
    let script = std::fs::read_to_string(root().join("docs/phenomena/pictures.sh")).unwrap();
    let mut shown = Vec::new();
    for (path, page) in files("docs/phenomena", "md") {
        let kind = path.file_stem().unwrap().to_str().unwrap();
        if kind == "README" {
            continue;
        }
        let own: Vec<&str> = pictures(&page).collect();
        assert!(
            !own.is_empty(),
            "{kind}: no picture; pictures.sh draws them"
        );
        let drawn = script.split_whitespace().any(|word| word == kind);
        assert!(drawn, "{kind}: pictures.sh does not draw it");
        shown.extend(own.into_iter().map(str::to_owned));
    }
    let mut bytes = 0;
    for picture in &shown {
        let path = root().join("docs/phenomena").join(picture);
        let there = std::fs::metadata(&path).map_or(0, |there| there.len());
        assert!(there > 0, "{}: is not there, or empty", path.display());
        bytes += there;
    }
    assert!(bytes <= MOST_BYTES, "{bytes} bytes of pictures");
    for entry in std::fs::read_dir(root().join("docs/phenomena/images")).unwrap() {
        let name = format!("images/{}", entry.unwrap().file_name().display());
        assert!(shown.contains(&name), "{name}: no page shows it");
    }
}
