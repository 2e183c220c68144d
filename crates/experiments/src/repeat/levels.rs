//! Levels of factors that one command is started at: `lab --set`, as a run of `repeat` has them.

use super::factors::{CPU, DIRECTORY, NEIGHBOUR, UnknownFactor, chosen, settings};
use super::settings::{LongNames, Settings};
use bandscope_recording::runs::Factor;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;

/// Why a command cannot be started at a level.
#[derive(Debug, thiserror::Error)]
pub enum NotSet {
    /// Something else than a factor should be set.
    #[error(transparent)]
    UnknownFactor(#[from] UnknownFactor),
    /// A factor has one level.
    #[error("found factor {0} twice, expected it once")]
    Twice(String),
    /// One of them would not be what was asked for.
    #[error(
        "found factors cpu and neighbour, expected one of them: neighbour chooses the command's CPU itself"
    )]
    CpuAndNeighbour,
    /// `why` says it.
    #[error("factor {factor} cannot be set here: {why}")]
    Missing {
        /// The factor.
        factor: String,
        /// Why not.
        why: String,
    },
    /// The factor has others.
    #[error("factor {factor}: found level {level:?}, expected {}", expected.join(", "))]
    UnknownLevel {
        /// The factor.
        factor: String,
        /// What was asked for.
        level: String,
        /// What there is.
        expected: Vec<String>,
    },
}

/// Levels that a command is started at.
#[derive(Debug)]
pub struct Levels {
    /// What they set.
    pub settings: Settings,
    // The long name of a directory is there as long as this is.
    _names: Option<LongNames>,
}

impl Levels {
    /// Factors and their levels: looks whether they can be set here for a command.
    ///
    /// # Errors
    /// If one cannot.
    pub fn of(set: &[(String, String)], command: &OsStr) -> Result<Levels, NotSet> {
        let is_set = |name| set.iter().any(|(set, _)| set == name);
        if is_set(CPU) && is_set(NEIGHBOUR) {
            return Err(NotSet::CpuAndNeighbour);
        }
        let mut levels = BTreeMap::new();
        for (name, level) in set {
            if levels.insert(name, level).is_some() {
                return Err(NotSet::Twice(name.clone()));
            }
            // `all` is a word of --vary.
            let factors = chosen(std::slice::from_ref(name), command)?;
            let Ok([factor]) = <[Factor; 1]>::try_from(factors) else {
                return Err(UnknownFactor(name.clone()).into());
            };
            if let Some(why) = factor.missing {
                let factor = factor.name;
                return Err(NotSet::Missing { factor, why });
            }
            if !factor.levels.contains(level) {
                return Err(NotSet::UnknownLevel {
                    factor: factor.name,
                    level: level.clone(),
                    expected: factor.levels,
                });
            }
        }
        let refused = |error: io::Error| NotSet::Missing {
            factor: levels
                .keys()
                .map(|name| name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
            why: error.to_string(),
        };
        let is_long = levels.keys().any(|name| *name == DIRECTORY);
        let names = is_long.then(LongNames::new).transpose().map_err(refused)?;
        let levels = levels.iter().map(|(name, level)| (*name, *level));
        let settings = settings(levels, &names).map_err(refused)?;
        Ok(Levels {
            settings,
            _names: names,
        })
    }
}
