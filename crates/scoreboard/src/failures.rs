//! The list of known failures: what a run with the usual seed gets wrong today, one line a scene and fault, kept in the repository so that
//! a change may shorten it and not lengthen it.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// How bad a failure is, worse ones later among those of one kind of fault.
const FAULTS: [&str; 9] = [
    "not certain",
    "only possible",
    "missed",
    "untrue, possible",
    "untrue, likely",
    "untrue, certain",
    "said twice",
    "more said than lost",
    "too much booked to pace",
];

/// What is wrong, by its place in [`FAULTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// What the data decide was said, and not called certain.
    NotCertain,
    /// What must be said was said as possible.
    OnlyPossible,
    /// What must be said was not said.
    Missed,
    /// Something untrue was said.
    UntruePossible,
    /// The same at `likely`.
    UntrueLikely,
    /// The same at `certain`.
    UntrueCertain,
    /// One event is two findings.
    Twice,
    /// Rate times cost of what was said is more than was lost.
    TooMuch,
    /// The ledger books time to pace that was none.
    Pace,
}

impl Fault {
    fn name(self) -> &'static str {
        FAULTS[self as usize]
    }
}

/// One failure: what it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// Family of scenes.
    pub family: String,
    /// Number or name of the scene.
    pub scene: String,
    /// Kind of finding, and what tells one of a kind from another; empty for what is untrue, of which each kind counts once.
    pub kind: String,
    /// See `kind`.
    pub about: String,
}

/// Failures by subject; the value is the place of the fault in [`FAULTS`].
pub type Failures = BTreeMap<Subject, usize>;

/// Adds a failure to those of a run; of two of one subject the worse one stays.
pub fn add(failures: &mut Failures, subject: Subject, fault: Fault) {
    let worst = failures.entry(subject).or_insert(0);
    *worst = (*worst).max(fault as usize);
}

const COLUMNS: &str = "family\tscene\tkind\tabout\tfault";

/// Reads a list.
///
/// # Errors
/// If it cannot be read, or a row is none.
pub fn read(path: &Path) -> Result<Failures> {
    let text = std::fs::read_to_string(path).with_context(|| {
        format!("{}: cannot read the known failures; name the list with --known, or run from the repository's root", path.display())
    })?;
    let mut failures = Failures::new();
    let rows = text.lines().enumerate();
    for (number, line) in rows.filter(|(_, line)| !line.starts_with('#') && *line != COLUMNS) {
        let columns: Vec<&str> = line.split('\t').collect();
        let fault = columns
            .last()
            .and_then(|fault| FAULTS.iter().position(|one| one == fault));
        let (&[family, scene, kind, about, _], Some(fault)) = (&columns[..], fault) else {
            bail!(
                "{}: line {}: found {line:?}, expected {COLUMNS:?} with a fault of {}",
                path.display(),
                number + 1,
                FAULTS.join("; ")
            );
        };
        let [family, scene, kind, about] = [family, scene, kind, about].map(str::to_owned);
        failures.insert(
            Subject {
                family,
                scene,
                kind,
                about,
            },
            fault,
        );
    }
    Ok(failures)
}

/// Writes a list, with the command that it is of.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, command: &str, failures: &Failures) -> Result<()> {
    let mut text = format!(
        "# What `{command}` gets wrong today. docs/scoreboard.md says how it is judged.\n{COLUMNS}\n"
    );
    for (subject, &fault) in failures {
        let Subject {
            family,
            scene,
            kind,
            about,
        } = subject;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{family}\t{scene}\t{kind}\t{about}\t{}",
            FAULTS[fault]
        );
    }
    std::fs::write(path, text).with_context(|| format!("{}: cannot write", path.display()))
}

/// How a run differs from the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Failures that are not in the list, or are worse than there.
    pub grown: Vec<String>,
    /// Failures of the list that are gone or less bad.
    pub mended: Vec<String>,
}

/// Holds the failures of a run against the list, as far as its scenes were judged.
pub fn compare(known: &Failures, now: &Failures, judged: &BTreeSet<(String, String)>) -> Change {
    let name = |subject: &Subject, fault: usize| {
        let Subject {
            family,
            scene,
            kind,
            about,
        } = subject;
        format!("{family}, {scene}: {kind} {about}: {}", FAULTS[fault])
    };
    let is_judged =
        |subject: &Subject| judged.contains(&(subject.family.clone(), subject.scene.clone()));
    let is_worse = |(subject, fault): &(&Subject, &usize), than: &Failures| {
        than.get(subject).is_none_or(|known| *fault > known)
    };
    let listed = |from: &Failures, than: &Failures| -> Vec<String> {
        from.iter()
            .filter(|one| is_judged(one.0) && is_worse(one, than))
            .map(|(subject, &fault)| name(subject, fault))
            .collect()
    };
    Change {
        grown: listed(now, known),
        mended: listed(known, now),
    }
}

/// The list after a run: its own failures for the scenes that it judged, the known ones for the rest.
pub fn renewed(known: Failures, now: &Failures, judged: &BTreeSet<(String, String)>) -> Failures {
    let is_judged =
        |subject: &Subject| judged.contains(&(subject.family.clone(), subject.scene.clone()));
    let others = known.into_iter().filter(|(subject, _)| !is_judged(subject));
    others.chain(now.clone()).collect()
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(list: &[(&str, Fault)]) -> Failures {
        let mut failures = Failures::new();
        for &(scene, fault) in list {
            let subject = Subject {
                family: "crowd".to_owned(),
                scene: scene.to_owned(),
                kind: "alias".to_owned(),
                about: String::new(),
            };
            add(&mut failures, subject, fault);
        }
        failures
    }

    fn judged(scenes: &[&str]) -> BTreeSet<(String, String)> {
        let scenes = scenes.iter();
        scenes
            .map(|scene| ("crowd".to_owned(), (*scene).to_owned()))
            .collect()
    }

    #[test]
    fn a_list_grows_by_new_failures_and_by_worse_ones() {
        let known = failures(&[
            ("1", Fault::OnlyPossible),
            ("2", Fault::Missed),
            ("3", Fault::UntrueLikely),
            ("9", Fault::Missed),
        ]);
        let now = failures(&[
            ("1", Fault::Missed),
            ("2", Fault::OnlyPossible),
            ("4", Fault::Twice),
        ]);
        let change = compare(&known, &now, &judged(&["1", "2", "3", "4", "5"]));
        assert_eq!(
            change.grown,
            ["crowd, 1: alias : missed", "crowd, 4: alias : said twice"]
        );
        // What was not judged is neither.
        assert_eq!(
            change.mended,
            [
                "crowd, 2: alias : missed",
                "crowd, 3: alias : untrue, likely"
            ]
        );
        assert_eq!(
            compare(&now, &now, &judged(&["1", "2", "4"])),
            Change::default()
        );
    }

    #[test]
    fn the_worst_of_one_subject_stays() {
        let worst = failures(&[("1", Fault::UntrueCertain), ("1", Fault::UntruePossible)]);
        assert_eq!(worst, failures(&[("1", Fault::UntrueCertain)]));
    }

    #[test]
    fn a_list_reads_back_the_same_and_says_which_row_is_none() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("known.tsv");
        let list = failures(&[("1", Fault::OnlyPossible), ("a tick", Fault::Pace)]);
        write(&path, "scoreboard", &list).unwrap();
        assert_eq!(read(&path).unwrap(), list);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + "crowd\t3\talias\tlate\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(
            error.contains("line 5") && error.contains("said twice"),
            "{error}"
        );
        let missing = read(&directory.path().join("none"))
            .unwrap_err()
            .to_string();
        assert!(missing.contains("--known"), "{missing}");
    }

    #[test]
    fn renewing_keeps_what_was_not_judged() {
        let known = failures(&[("1", Fault::Missed), ("2", Fault::Missed)]);
        let now = failures(&[("3", Fault::Missed)]);
        let renewed = renewed(known, &now, &judged(&["2", "3"]));
        assert_eq!(
            renewed,
            failures(&[("1", Fault::Missed), ("3", Fault::Missed)])
        );
    }
}
