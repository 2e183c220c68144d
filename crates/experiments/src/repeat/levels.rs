//! Levels of factors that one command is started at: `lab --set`, as a run of `repeat` has them.

use super::factors::{DIRECTORY, UnknownFactor, chosen, settings};
use super::settings::{LongNames, Settings};
use bandscope_recording::runs::Factor;
use std::collections::BTreeMap;
use std::io;

/// Why a command cannot be started at a level.
#[derive(Debug, thiserror::Error)]
pub enum NotSet {
    /// Something else than a factor should be set.
    #[error(transparent)]
    UnknownFactor(#[from] UnknownFactor),
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
    /// Looks whether they can be set here.
    ///
    /// # Errors
    /// If one cannot.
    pub fn of(levels: &BTreeMap<String, String>) -> Result<Levels, NotSet> {
        for (name, level) in levels {
            // `all` is a word of --vary.
            let factors = chosen(std::slice::from_ref(name))?;
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
            factor: levels.keys().cloned().collect::<Vec<_>>().join(", "),
            why: error.to_string(),
        };
        let names = match levels.contains_key(DIRECTORY) {
            true => Some(LongNames::new().map_err(refused)?),
            false => None,
        };
        let settings = settings(levels, &names).map_err(refused)?;
        Ok(Levels {
            settings,
            _names: names,
        })
    }
}
