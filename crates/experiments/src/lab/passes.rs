//! A pass over the pairs: the levels of each take turns in an order that is drawn anew each round.

use super::loops;
use super::pairs::{Code, Pair};
use super::pieces::{Bench, Piece, Runner};
use super::plan::Plan;
use crate::Error;
use bandscope_probe::store_bypass;
use bandscope_recording::experiments::{self, Pass};
use bandscope_statistics::random::Random;

/// A pair of so many levels is a sweep: it has fewer rounds.
const PLACEMENTS: usize = bandscope_probe::kernels::PLACEMENTS;

/// A pair without its passes.
pub(super) fn empty(pair: &Pair) -> experiments::Pair {
    let levels = pair.levels.iter().map(|level| {
        let (code, description) = match level.code {
            Code::Loop(name) => (
                name,
                loops::named(name)
                    .map_or("", |one| one.description)
                    .to_owned(),
            ),
            Code::Placed(name, index) => (
                name,
                format!(
                    "the work kernel, {} past an address that is a multiple of {}",
                    index * STEP,
                    64 * STEP
                ),
            ),
        };
        experiments::Level {
            name: level.name.clone(),
            code: code.to_owned(),
            description,
            control: level.control,
            missing: None,
            passes: Vec::new(),
        }
    });
    experiments::Pair {
        name: pair.name.to_owned(),
        levels: levels.collect(),
    }
}

/// Bytes between two placements.
const STEP: usize = if cfg!(target_arch = "x86_64") { 1 } else { 4 };

/// Adds a pass to each level, or says why it has none.
pub(super) fn keep(passes: Vec<Result<Pass, Error>>, pairs: &mut [experiments::Pair]) {
    let levels = pairs.iter_mut().flat_map(|pair| &mut pair.levels);
    for (level, measured) in levels.zip(passes) {
        match measured {
            Ok(pass) => level.passes.push(pass),
            // An empty one, so that passes of the same number are of the same time.
            Err(why) => {
                level.passes.push(Pass::default());
                level.missing = Some(why.to_string());
            }
        }
    }
}

/// One pass over the pairs: what each level has measured, one pair's levels after the other's.
pub(super) fn pass(
    pairs: &[Pair],
    plan: &Plan,
    ticks_per_ns: f64,
    number: u64,
) -> Vec<Result<Pass, Error>> {
    let mut bench = Bench::default();
    let mut random = Random::new(number);
    let piece_ticks = plan.piece_s * 1e9 * ticks_per_ns;
    pairs
        .iter()
        .flat_map(|pair| pass_of(pair, plan.rounds, piece_ticks, &mut bench, &mut random))
        .collect()
}

fn pass_of(
    pair: &Pair,
    rounds: u32,
    piece_ticks: f64,
    bench: &mut Bench,
    random: &mut Random,
) -> Vec<Result<Pass, Error>> {
    let allowed = store_bypass::allowed();
    let mut levels: Vec<(Result<Runner, Error>, Pass)> = Vec::new();
    for level in &pair.levels {
        let settable = level
            .store_bypass
            .map_or(Ok(()), |_| store_bypass::settable());
        let runner = settable
            .map_err(|why| Error::Machine(why.to_string()))
            .and_then(|()| Runner::new(level.code, piece_ticks, bench));
        levels.push((runner, Pass::default()));
    }
    let rounds = match pair.levels.len() {
        many if many >= PLACEMENTS => (rounds / 4).max(1),
        _ => rounds,
    };
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..levels.len()).collect();
        random.shuffle(&mut order);
        for index in order {
            let (Ok(runner), pass) = &mut levels[index] else {
                continue;
            };
            if let Some(Err(error)) = pair.levels[index].store_bypass.map(store_bypass::set) {
                levels[index].0 = Err(Error::StoreBypass(error));
                continue;
            }
            let Piece {
                ticks,
                reference,
                chain,
            } = bench.piece(runner);
            pass.ticks.push(short(ticks));
            pass.reference.push(short(reference));
            pass.chain.push(short(chain));
        }
    }
    // What follows in this thread runs as it would have; where nothing could be set nothing was.
    if pair.levels.iter().any(|level| level.store_bypass.is_some())
        && store_bypass::settable().is_ok()
    {
        let _ = store_bypass::set(allowed);
    }
    levels
        .into_iter()
        .map(|(runner, pass)| runner.map(|_| pass))
        .collect()
}

/// Five digits: a piece is not known better, and files are for keeping.
fn short(ticks: f64) -> f32 {
    let unit = 10f64.powf(ticks.abs().max(1e-9).log10().floor() - 4.0);
    ((ticks / unit).round() * unit) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_known_to_five_digits() {
        assert_eq!(
            [short(1.234_567), short(0.009_876_543), short(123_456.0)],
            [1.2346, 0.009_876_5, 123_460.0]
        );
    }
}
