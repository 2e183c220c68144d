//! Pieces: short stretches of a loop, timed from outside, with the register chains right after them.

use super::loops::{self, Loop, Scratch};
use super::pairs::{CHAIN, Code};
use crate::Error;
use bandscope_probe::clock;
use bandscope_probe::kernels::{NativeKernel, Visitor, dispatch};

/// A piece is tried so often, and the fastest counts, when its turns are chosen.
const TRIES: usize = 5;

/// Turns of the register chains beside a piece: some 3 us of the reference and 4 us of the other, of which the clock's two reads are
/// a hundredth, the same for all.
const CHAIN_TURNS: u64 = 50;

/// A chain of one cycle an operation.
const ONE_CYCLE: &str = "add-register";
/// Comparisons of the reference with that, some milliseconds.
const LENGTHS: usize = 301;
/// No core takes more cycles for a multiplication, and so near to a whole number they must be.
const MOST_CYCLES: f64 = 8.0;
const WHOLE: f64 = 0.05;

/// Something that can be executed so many times.
pub struct Runner {
    what: What,
    operations: f64,
    /// Turns of a piece.
    turns: u64,
}

enum What {
    Loop(&'static Loop),
    Placed(Box<dyn FnMut(u64)>, u32),
}

/// The register chains, and memory for the loops.
pub struct Bench {
    /// Where loops load from and store to; on the stack of its thread, and so elsewhere in each pass.
    pub scratch: Scratch,
    reference: &'static Loop,
    chain: &'static Loop,
}

/// Times of one piece, in ticks per operation.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Of what was measured.
    pub ticks: f64,
    /// Of the reference right after it.
    pub reference: f64,
    /// Of the second chain right after that.
    pub chain: f64,
}

impl Default for Bench {
    fn default() -> Bench {
        let named = |name| loops::named(name).expect("a loop of this architecture's own list");
        Bench {
            scratch: Scratch::default(),
            reference: named(loops::CYCLES.0),
            chain: named(CHAIN),
        }
    }
}

impl Bench {
    /// Measures a piece.
    pub fn piece(&mut self, runner: &mut Runner) -> Piece {
        Piece {
            ticks: runner.time(runner.turns, &mut self.scratch)
                / (runner.turns as f64 * runner.operations),
            reference: self.reference(),
            chain: self.time(self.chain, CHAIN_TURNS),
        }
    }

    /// Ticks per operation of the reference, now.
    pub fn reference(&mut self) -> f64 {
        self.time(self.reference, CHAIN_TURNS)
    }

    /// Cycles of an operation of the reference: how many additions of registers fit into one, as each takes one cycle on every core that
    /// runs this. What is no whole number was disturbed, or emulated; then it is what is published.
    pub fn reference_cycles(&mut self) -> f64 {
        let one_cycle = loops::named(ONE_CYCLE).expect("a loop of this architecture's own list");
        let mut ratios: Vec<f64> = (0..LENGTHS)
            .map(|_| self.reference() / self.time(one_cycle, CHAIN_TURNS))
            .collect();
        ratios.sort_by(f64::total_cmp);
        whole_cycles(ratios[LENGTHS / 2])
    }

    fn time(&mut self, one: &Loop, turns: u64) -> f64 {
        let start = clock::ticks();
        one.run(turns, &mut self.scratch);
        // A clock too coarse for it gives no 0, which nothing could be divided by.
        clock::ticks().saturating_sub(start).max(1) as f64
            / (turns as f64 * f64::from(one.operations))
    }
}

impl Runner {
    /// Of that code, in pieces of about `piece_ticks` at its fastest.
    ///
    /// # Errors
    /// If this CPU cannot run it: why.
    pub fn new(code: Code, piece_ticks: f64, bench: &mut Bench) -> Result<Runner, Error> {
        let what = match code {
            Code::Loop(name) => {
                let one = loops::named(name).ok_or_else(|| Error::UnknownLoop(name.to_owned()))?;
                one.supported().map_err(Error::Lacks)?;
                What::Loop(one)
            }
            Code::Placed(name, index) => dispatch(name, Copies(index))
                .ok_or_else(|| Error::UnknownKernel(name.to_owned()))??,
        };
        let operations = match &what {
            What::Loop(one) => one.operations,
            What::Placed(_, operations) => *operations,
        };
        let mut runner = Runner {
            what,
            operations: f64::from(operations),
            turns: 1,
        };
        runner.turns = runner.turns_for(piece_ticks, &mut bench.scratch);
        Ok(runner)
    }

    /// Turns that take about `ticks` when nothing interrupts them, at least one.
    pub fn turns_for(&mut self, ticks: f64, scratch: &mut Scratch) -> u64 {
        // Doubled until the clock's resolution and the way into the loop do not matter.
        let mut turns = 1;
        loop {
            let fastest = (0..TRIES)
                .map(|_| self.time(turns, scratch))
                .fold(f64::INFINITY, f64::min);
            if fastest >= ticks / 8.0 || turns >= 1 << 40 {
                return ((turns as f64 * ticks / fastest).round() as u64).max(1);
            }
            turns *= 2;
        }
    }

    /// What one piece takes, in turns.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    fn time(&mut self, turns: u64, scratch: &mut Scratch) -> f64 {
        let start = clock::ticks();
        match &mut self.what {
            What::Loop(one) => one.run(turns, scratch),
            What::Placed(execute, _) => execute(turns),
        }
        clock::ticks().saturating_sub(start).max(1) as f64
    }
}

/// A placed copy of a work kernel, executed so many times.
struct Copies(usize);

impl Visitor for Copies {
    type Output = Result<What, Error>;

    fn visit<K: NativeKernel>(self) -> Self::Output {
        K::supported().map_err(Error::Lacks)?;
        let mut kernel = K::default();
        let execute = move |turns| {
            for _ in 0..turns {
                kernel.execute_copy(self.0);
            }
        };
        Ok(What::Placed(Box::new(execute), K::INFO.operations))
    }
}

/// The whole number of cycles that a measured one stands for; what is published where it stands for none.
fn whole_cycles(measured: f64) -> f64 {
    let whole = measured.round();
    match (1.0..=MOST_CYCLES).contains(&whole) && (measured / whole - 1.0).abs() < WHOLE {
        true => whole,
        false => loops::CYCLES.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_whole_or_as_published() {
        assert_eq!(whole_cycles(3.004), 3.0);
        // The Atom line.
        assert_eq!(whole_cycles(4.98), 5.0);
        for senseless in [0.4, 3.5, 60.0, f64::NAN, f64::INFINITY] {
            assert_eq!(whole_cycles(senseless), loops::CYCLES.1, "{senseless}");
        }
    }
}
