//! Rules of the house that no compiler checks (CONTRIBUTING.md, "The house" and "Style"). Tests of the crates are read for their length only.

use regex_lite::Regex;
use std::fs;
use std::path::{Path, PathBuf};

/// Where literals are compared to words that this program does not choose, once, where they come in. Everywhere else a closed set is an enum.
const READS_FOREIGN_WORDS: [(&str, &str); 18] = [
    (
        "analysis/src/gaps/naming/causes.rs",
        "names of the kernel's interrupts",
    ),
    ("cli/src/commands/inject/then.rs", "extensions of files"),
    ("cli/src/commands/live/viewer.rs", "names of terminals"),
    ("cli/src/commands/synth/mod.rs", "extensions of files"),
    (
        "experiments/src/inject/witness.rs",
        "rows of /proc/softirqs",
    ),
    ("cli/src/output.rs", "names of terminals"),
    (
        "recording/src/manifest/machine.rs",
        "what is recorded of a machine",
    ),
    (
        "recording/src/manifest/setup.rs",
        "what the kernel writes into settings",
    ),
    ("simulation/src/scenario.rs", "words of a scenario"),
    (
        "studies/src/lab/findings.rs",
        "names of pairs in files of experiments",
    ),
    ("probe/src/facts/counts.rs", "rows of /proc/interrupts"),
    ("probe/src/facts/files.rs", "what sysfs writes for nothing"),
    (
        "probe/src/trace/functions.rs",
        "kinds of symbols in /proc/kallsyms",
    ),
    (
        "recording/src/counter_files/perf_csv.rs",
        "what perf stat prints",
    ),
    (
        "recording/src/counter_files/table.rs",
        "what tables have for nothing",
    ),
    (
        "studies/src/counters/costs.rs",
        "names of counters in files",
    ),
    (
        "experiments/src/repeat/factors.rs",
        "words of the command line",
    ),
    (
        "experiments/src/repeat/counting.rs",
        "names of the kernel's events",
    ),
];

/// Tables may be longer than a file that is read from the beginning to the end.
const LONG_TABLES: [&str; 1] = ["crates/simulation/src/catalogue.rs"];

/// Lines of a file that is no table, tests included.
const MAX_LINES: usize = 400;

/// Directories of what is built, fetched, or not in the repository.
const NOT_OURS: [&str; 4] = ["target", "node_modules", ".git", "shared"];

/// The rooms of `analysis`: each knows only those before it.
const ROOMS: [&str; 12] = [
    "series", "gaps", "periods", "pace", "ledger", "cpus", "picture", "findings", "summary",
    "truth", "live", "passes",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Each source of the crates that is no test, without its tests and comments: its path below `crates`, and its text.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(crates()).unwrap() {
        walk(&entry.unwrap().path().join("src"), &mut found);
    }
    assert!(found.len() > 300, "only {} sources", found.len());
    found
}

fn walk(directory: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            walk(&path, found);
        } else if name.ends_with(".rs")
            && !["tests.rs", "documented.rs", "samples.rs"].contains(&name)
        {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let code = code.lines().map(|line| {
                let comment = line.trim_start().starts_with("//");
                if comment { "" } else { line }
            });
            let below = path.strip_prefix(crates()).unwrap().to_str().unwrap();
            found.push((below.to_owned(), code.collect::<Vec<_>>().join("\n")));
        }
    }
}

fn complaints(pattern: &str, allowed: &[(&str, &str)]) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    let mut complaints = Vec::new();
    for (path, code) in sources() {
        if allowed.iter().any(|(file, _)| *file == path) {
            continue;
        }
        for found in pattern.find_iter(&code) {
            let line = code[..found.start()].matches('\n').count() + 1;
            complaints.push(format!("{path}:{line}: {}", found.as_str()));
        }
    }
    complaints
}

#[test]
fn no_string_decides() {
    let compared = r#"(==|!=) "[^"]*"|matches!\([^()]*"[^"]*"\)"#;
    let found = complaints(compared, &READS_FOREIGN_WORDS);
    assert!(found.is_empty(), "an enum instead:\n{}", found.join("\n"));
}

#[test]
fn what_may_compare_words_still_does() {
    let compared = Regex::new(r#"(==|!=) "|matches!\("#).unwrap();
    let sources = sources();
    for (file, reads) in READS_FOREIGN_WORDS {
        let (_, code) = sources
            .iter()
            .find(|(path, _)| path == file)
            .unwrap_or_else(|| panic!("{file}: is not there"));
        assert!(
            compared.is_match(code),
            "{file} does not read {reads} any more: strike it off the list"
        );
    }
}

#[test]
fn no_error_is_a_string() {
    let found = complaints(r"Result<[^;{}=]*,\s*String\s*>", &[]);
    assert!(
        found.is_empty(),
        "a typed error instead:\n{}",
        found.join("\n")
    );
}

/// Each file of Rust in the repository, tests included, without what is built: its path below the repository.
fn every_file() -> Vec<PathBuf> {
    fn below(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !path.is_symlink() && !NOT_OURS.contains(&name) {
                below(&path, found);
            } else if name.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    let repository = crates().join("..").canonicalize().unwrap();
    let mut found = Vec::new();
    below(&repository, &mut found);
    assert!(found.len() > 500, "only {} files", found.len());
    let relative = |path: PathBuf| path.strip_prefix(&repository).unwrap().to_owned();
    found.into_iter().map(relative).collect()
}

/// Nobody compiles a file that no other names, and its tests pass by not being there.
#[test]
fn every_module_is_named() {
    let root = crates().join("..");
    let text = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let mut looked_at = 0;
    for file in every_file() {
        let is_in_sources = file.components().any(|part| part.as_os_str() == "src");
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let directory = file.parent().unwrap();
        let (name, beside) = match stem {
            "lib" | "main" => continue,
            "mod" => (
                directory.file_name().unwrap().to_str().unwrap(),
                directory.parent().unwrap(),
            ),
            name => (name, directory),
        };
        // A directory of tests has programs beside modules.
        if !is_in_sources || directory.ends_with("src/bin") {
            continue;
        }
        looked_at += 1;
        let within = ["mod.rs", "lib.rs", "main.rs"].map(|parent| beside.join(parent));
        let parents = within.into_iter().chain([beside.with_extension("rs")]);
        let named = Regex::new(&format!(
            r"(?m)^\s*(pub(\([^)]*\))? )?mod {name}\b|#\[path = .*{name}(/mod)?\.rs"
        ))
        .unwrap();
        let is_named = parents
            .map(|parent| text(root.join(parent)))
            .any(|text| named.is_match(&text));
        assert!(is_named, "{}: no module names it", file.display());
    }
    assert!(looked_at > 500, "{looked_at}");
}

#[test]
fn files_are_short() {
    let root = crates().join("..");
    let lines = |path: &Path| fs::read_to_string(root.join(path)).unwrap().lines().count();
    let is_table = |path: &Path| LONG_TABLES.iter().any(|table| path == Path::new(table));
    let long = |path: &PathBuf| {
        let lines = lines(path);
        (lines > MAX_LINES && !is_table(path)).then(|| format!("{}: {lines} lines", path.display()))
    };
    let found: Vec<String> = every_file().iter().filter_map(long).collect();
    assert!(
        found.is_empty(),
        "longer than {MAX_LINES}:\n{}",
        found.join("\n")
    );
    for table in LONG_TABLES {
        let lines = lines(Path::new(table));
        assert!(
            lines > MAX_LINES,
            "{table} is not long any more: strike it off the list"
        );
    }
}

#[test]
fn rooms_of_the_analysis_know_only_those_before_them() {
    let known = Regex::new(r"\bcrate::\{?\s*([a-z]+)\b").unwrap();
    let place = |name: &str| ROOMS.iter().position(|room| *room == name);
    let mut looked_at = 0;
    for (path, code) in sources() {
        let Some(inside) = path.strip_prefix("analysis/src/") else {
            continue;
        };
        let own = inside.split(['/', '.']).next().unwrap();
        let Some(own) = place(own) else { continue };
        for found in known.captures_iter(&code) {
            let Some(other) = place(&found[1]) else {
                continue;
            };
            looked_at += 1;
            assert!(
                other <= own,
                "{path}: {} knows {}",
                ROOMS[own],
                ROOMS[other]
            );
        }
    }
    assert!(looked_at > 50, "{looked_at}");
}
