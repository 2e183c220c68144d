//! How many times as long a turn takes with a state as without it.

use bandscope_recording::program::Trials;
use bandscope_statistics::order::{median, sorted};

/// A smaller ratio is not worth a change of the program.
const WORTH: f64 = 1.1;
/// The interval of what costs time lies above this.
const SURE: f64 = 1.05;
/// Another address has to gain more: the best of several is the best by chance as well.
const WORTH_A_PLACE: f64 = 1.15;
/// Rounds that a ratio needs; those that choose no place are half of them.
const FEWEST: usize = 10;
const FEWEST_OF_A_PLACE: usize = 5;

/// Why there is no ratio.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoRatio {
    #[error("{0}")]
    NotTimed(String),
    #[error("it was interrupted before there were enough rounds")]
    TooFewRounds,
}

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub median: f64,
    /// The second lowest round, and the second highest.
    pub interval: [f64; 2],
    /// What it has to be to cost anything.
    worth: f64,
}

impl Ratio {
    /// Round by round; `Err` says why there is none.
    pub fn of(with: &Trials, without: &Trials) -> Result<Ratio, NoRatio> {
        let (with, without) = match (with, without) {
            (Trials::Nanoseconds(with), Trials::Nanoseconds(without)) => (with, without),
            (Trials::Missing(why), _) | (_, Trials::Missing(why)) => {
                return Err(NoRatio::NotTimed(why.clone()));
            }
        };
        Ratio::between(with, without, |_| true, FEWEST, WORTH).ok_or(NoRatio::TooFewRounds)
    }

    fn between(
        with: &[f64],
        without: &[f64],
        wanted: impl Fn(usize) -> bool,
        fewest: usize,
        worth: f64,
    ) -> Option<Ratio> {
        let rounds = with
            .iter()
            .zip(without)
            .enumerate()
            .filter(|(round, _)| wanted(*round));
        let ratios = sorted(
            rounds
                .map(|(_, (with, without))| with / without)
                .filter(|ratio| ratio.is_finite()),
        );
        if ratios.len() < fewest {
            return None;
        }
        // The half that compares places has an interval of all its rounds.
        let left_out = usize::from(fewest == FEWEST);
        let [low, high] = [
            ratios.get(left_out)?,
            ratios.get(ratios.len().checked_sub(1 + left_out)?)?,
        ];
        Some(Ratio {
            median: median(ratios.iter().copied())?,
            interval: [*low, *high],
            worth,
        })
    }

    /// Whether the state costs time here.
    pub fn costs(&self) -> bool {
        self.median >= self.worth && self.interval[0] > SURE
    }
}

/// The fastest of several places, and how many times as long a turn takes where it is. Every other round chooses, the rest compare.
pub fn best_place(as_it_is: &Trials, places: &[(u64, Trials)]) -> Option<(u64, Ratio)> {
    let Trials::Nanoseconds(with) = as_it_is else {
        return None;
    };
    let timed = places.iter().filter_map(|(place, trials)| match trials {
        Trials::Nanoseconds(times) => Some((*place, times)),
        Trials::Missing(_) => None,
    });
    let chosen = |times: &Vec<f64>| {
        median(
            times
                .iter()
                .copied()
                .step_by(2)
                .filter(|time| !time.is_nan()),
        )
    };
    let best = timed.filter_map(|(place, times)| Some((place, times, chosen(times)?)));
    let (place, times, _) = best.min_by(|a, b| a.2.total_cmp(&b.2))?;
    let ratio = Ratio::between(
        with,
        times,
        |round| round % 2 == 1,
        FEWEST_OF_A_PLACE,
        WORTH_A_PLACE,
    )?;
    Some((place, ratio))
}
