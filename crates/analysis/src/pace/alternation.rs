//! Second pass: patterns of quanta that repeat within a few of them, {710, 711, 710, 720}.
//!
//! Bands need quanta that stay; here the pace changes with each quantum or two. So some stretches of raw paces are kept, spread over the
//! series, and folded over 2 to 7 quanta: a pattern is there if the medians of the phases are levels of their own, further apart
//! than the quanta scatter within a phase. From 8 quanta on what recurs in quanta is the measurement's own and [`crate::periods::fold`]'s, as a page of records is;
//! below, it may be the placement of code, which changes the pace, and an artefact cannot be told from it but by its size.
//!
//! Counts that alternate at one pace are quantisation and make no two levels: where ends are not known levels must differ by more than two counts.

use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use bandscope_statistics::order;

/// Stretches kept, and quanta of each.
const STRETCHES: usize = 16;
const QUANTA: usize = 1024;
/// Quanta judged at a time: a pattern may slip between them.
const WINDOW: usize = 256;
/// Patterns that are looked for.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=7;
/// Levels differ by this share at least: closer ones are one band, too.
const MIN_SHARE_APART: f64 = 0.003;
/// Levels differ by so many of the mean deviations within a phase.
const MIN_DEVIATIONS_APART: f64 = 6.0;
/// Share of the quanta that must be near the level of their phase, and of the windows that must show the pattern.
const MIN_SHARE_AT_LEVEL: f64 = 0.9;
const MIN_SHARE_OF_WINDOWS: f64 = 0.6;

/// A pattern that repeats.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pattern {
    /// Its length in quanta.
    pub quanta: usize,
    /// Levels, fastest first: ticks per unit, share of the quanta, quanta of a stay.
    pub levels: Vec<(f64, f64, f64)>,
    /// The counts of one turn of it.
    pub counts: Vec<u32>,
    /// Ticks by which the slowest level is slower, for a whole quantum.
    pub cost: f64,
    /// Whether fewer than half of the quanta are at the fastest level, so that no loss of time explains the others.
    pub peaks: bool,
}

/// Stretches of a series.
#[derive(Clone, Debug)]
pub struct Sample {
    stretches: Vec<Vec<(f32, u32)>>,
    /// One stretch is taken of so many blocks.
    every: u64,
    blocks: u64,
}

impl Sample {
    /// Nothing kept yet.
    pub fn new() -> Sample {
        Sample {
            stretches: Vec::new(),
            every: 1,
            blocks: 0,
        }
    }

    /// The pattern that most stretches show.
    pub fn pattern(&self, context: &Context) -> Option<Pattern> {
        let windows = || {
            self.stretches
                .iter()
                .flat_map(|stretch| stretch.chunks_exact(WINDOW))
        };
        let found: Vec<Pattern> = windows()
            .filter_map(|window| {
                LENGTHS
                    .into_iter()
                    .find_map(|length| fold(window, length, context))
            })
            .collect();
        let alike = |one: &Pattern| {
            let like = |other: &&Pattern| {
                other.quanta == one.quanta && other.levels.len() == one.levels.len()
            };
            found.iter().filter(like).count()
        };
        // Of patterns as frequent, the first.
        let most = found.iter().rev().max_by_key(|one| alike(one))?;
        let shown = alike(most) as f64 >= MIN_SHARE_OF_WINDOWS * windows().count() as f64;
        shown.then(|| most.clone())
    }
}

/// The pattern of `length` quanta in a window.
fn fold(window: &[(f32, u32)], length: usize, context: &Context) -> Option<Pattern> {
    let mut phases: Vec<Vec<f64>> = vec![Vec::with_capacity(WINDOW / length + 1); length];
    for (k, (pace, _)) in window.iter().enumerate() {
        phases[k % length].push(f64::from(*pace));
    }
    let medians: Vec<f64> = phases
        .iter()
        .map(|phase| median(phase.iter().copied()))
        .collect();
    let mut order: Vec<usize> = (0..length).collect();
    order.sort_by(|&a, &b| medians[a].total_cmp(&medians[b]));
    let (fastest, slowest) = (medians[order[0]], medians[order[length - 1]]);
    if fastest <= 0.0 {
        return None;
    }
    let deviations: Vec<f64> = (0..length)
        .flat_map(|k| phases[k].iter().map(move |pace| (k, *pace)))
        .map(|(k, pace)| (pace - medians[k]).abs())
        .collect();
    let scatter = median(deviations.iter().copied());
    let counted = if context.ends_known {
        0.0
    } else {
        2.5 * fastest / context.quantum_ticks
    };
    let apart = fastest * MIN_SHARE_APART.max(counted);
    if slowest - fastest <= apart.max(MIN_DEVIATIONS_APART * scatter) {
        return None;
    }
    let near = deviations
        .iter()
        .filter(|&&d| d < 0.5 * apart.max(MIN_DEVIATIONS_APART * scatter))
        .count();
    if (near as f64) < MIN_SHARE_AT_LEVEL * window.len() as f64 {
        return None;
    }
    let mut level = vec![0; length];
    for pair in order.windows(2) {
        let step = medians[pair[1]] - medians[pair[0]] > apart.max(MIN_DEVIATIONS_APART * scatter);
        level[pair[1]] = level[pair[0]] + usize::from(step);
    }
    // Of a pattern of half the length the levels would be the same one half later.
    let whole =
        (1..length).all(|shift| (0..length).any(|k| level[k] != level[(k + shift) % length]));
    let levels = levels_of(&level, &medians);
    whole.then(|| Pattern {
        quanta: length,
        cost: (levels[levels.len() - 1].0 / levels[0].0 - 1.0) * context.quantum_ticks,
        peaks: levels[0].1 < 0.5,
        counts: window[..length].iter().map(|(_, count)| *count).collect(),
        levels,
    })
}

/// What each level of a pattern is, from the level and the median of each of its quanta: pace, share of the quanta, quanta of a stay.
fn levels_of(level: &[usize], medians: &[f64]) -> Vec<(f64, f64, f64)> {
    let length = level.len();
    let slowest = level.iter().max().copied().unwrap_or(0);
    (0..=slowest)
        .map(|number| {
            let members: Vec<f64> = (0..length)
                .filter(|&k| level[k] == number)
                .map(|k| medians[k])
                .collect();
            let stays = (0..length)
                .filter(|&k| level[k] == number && level[(k + 1) % length] != number)
                .count();
            let quanta = members.len() as f64;
            (
                members.iter().sum::<f64>() / quanta,
                quanta / length as f64,
                quanta / stays as f64,
            )
        })
        .collect()
}

/// 0 of nothing.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    order::median(values).unwrap_or(0.0)
}

impl Detector for Sample {
    fn push(&mut self, chunk: &Derived<'_>) {
        if self.blocks.is_multiple_of(self.every) && chunk.len() >= WINDOW {
            let n = chunk.len().min(QUANTA);
            let paces = chunk.pace[..n].iter().map(|pace| *pace as f32);
            self.stretches
                .push(paces.zip(chunk.chunk.count[..n].iter().copied()).collect());
            self.thin();
        }
        self.blocks += 1;
    }
}

impl Sample {
    /// Keeps every second stretch if there are too many.
    fn thin(&mut self) {
        while self.stretches.len() > STRETCHES {
            let mut number = 0;
            self.stretches.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.every *= 2;
        }
    }
}
