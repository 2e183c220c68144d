//! The name that `--only` restricts cures to: whether each of them moves something of that name.

use anyhow::{Result, bail};
use bandscope_experiments::cure::{CURES, Cure, Moves};
use bandscope_recording::text::{quoted, shell_word, shown};
use std::collections::BTreeSet;
use std::path::Path;

/// Names that are told to whoever asked for one that is not there.
const MAX_NAMES: usize = 5;

/// Whether each of these cures moves something of that name on this machine.
///
/// # Errors
/// If none is named, or one does not: what it moves, and the names that are nearest.
pub(super) fn check(name: &str, cures: &[&Cure]) -> Result<()> {
    if cures.is_empty() {
        let name = shell_word(&shown(Path::new(name)));
        bail!(
            "--only: expected the cure that moves it, such as: bandscope cure tasks --only {name}"
        );
    }
    for cure in cures {
        let Some(moves) = cure.moves else {
            let restricted = CURES.iter().filter(|cure| cure.moves.is_some());
            let names: Vec<&str> = restricted.map(|cure| cure.name).collect();
            let (found, expected) = (cure.name, names.join(", "));
            bail!(
                "--only: found {found}, which moves nothing that has a name; expected one of {expected}"
            );
        };
        let names = moves.names();
        if names.contains(name) {
            continue;
        }
        let what = match moves {
            Moves::Tasks => "a task",
            Moves::Interrupts => "an interrupt of a device",
        };
        let found = quoted(name.as_bytes());
        match nearest(name, &names) {
            near if near.is_empty() => {
                bail!("--only: found {found}, expected the name of {what}; there is none here")
            }
            near => bail!(
                "--only: found {found}, expected the name of {what}, such as {}",
                near.join(", ")
            ),
        }
    }
    Ok(())
}

/// The names that are nearest to what was asked for: those that hold it, then those that take the fewest edits.
fn nearest<'a>(asked: &str, names: &'a BTreeSet<String>) -> Vec<&'a str> {
    let asked = asked.to_lowercase();
    let far = |name: &str| {
        let name = name.to_lowercase();
        (!name.contains(&asked), edits(&asked, &name))
    };
    let mut near: Vec<&str> = names.iter().map(String::as_str).collect();
    near.sort_by_cached_key(|name| far(name));
    near.truncate(MAX_NAMES);
    near
}

/// Characters to insert, remove or replace (Levenshtein 1966).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (before, one) in from.chars().enumerate() {
        let mut diagonal = before;
        row[0] = before + 1;
        for (place, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(one != *other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_are_near_that_hold_it_or_take_few_edits() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        let names = [
            "bash",
            "python3",
            "systemd-journal",
            "Web Content",
            "perl",
            "sshd",
        ];
        let names: BTreeSet<String> = names.map(str::to_owned).into();
        assert_eq!(nearest("pyhton3", &names)[0], "python3");
        assert_eq!(nearest("journal", &names)[0], "systemd-journal");
        assert_eq!(nearest("web content", &names)[0], "Web Content");
        assert_eq!(nearest("x", &names).len(), MAX_NAMES);
        assert!(nearest("x", &BTreeSet::new()).is_empty());
    }
}
