//! One work kernel on one CPU: its sums, best pace and paces, of the second under way and since the start.
//!
//! The ledger books pace against the best pace of the whole run, which a run under way does not know: sums are kept against a best
//! pace of nothing, from which the account against any other follows.

use super::{Band, Pace};
use crate::gaps::causes::{CauseSum, Causes};
use crate::gaps::naming::{Key, Share};
use crate::ledger::account::{Account, Books, Measured};
use crate::pace::bands;
use crate::pace::best_pace::{self, Paces, Reference};
use crate::series::context::Context;
use crate::series::derive::{Derived, Deriver};
use crate::series::detector::Detector;
use crate::series::histogram::PaceHistogram;
use crate::series::totals;
use crate::series::totals::Measures;
use bandscope_report::{Cause, Ledger};

/// Fewer quanta than this in a second say nothing of bands: those since the start stand in.
const FEW: u64 = 32;

/// One work kernel on one CPU.
#[derive(Debug)]
pub struct Meter {
    context: Context,
    name: String,
    times: Paces,
    /// Best pace when a second ended last.
    best: Option<Reference>,
    now: Part,
    whole: Part,
}

/// Sums over some of the quanta.
#[derive(Debug)]
struct Part {
    measures: Measures,
    /// Against a best pace of nothing.
    books: Measured,
    /// Units that the books hold: each would take a unit of the best pace off them.
    units: f64,
    /// Time of the units without a gap, and their number.
    present: f64,
    paced: f64,
    /// The same of quanta that were faster than the band of the best pace, as it was known when the second before theirs ended.
    faster: (f64, f64),
    paces: PaceHistogram,
    /// By number of the cause.
    causes: Vec<CauseSum>,
}

impl Part {
    fn new(context: &Context) -> Part {
        Part {
            measures: Measures::default(),
            books: Measured::new(0.0),
            units: 0.0,
            present: 0.0,
            paced: 0.0,
            faster: (0.0, 0.0),
            paces: PaceHistogram::in_memory(context),
            causes: Vec::new(),
        }
    }

    fn push(&mut self, derived: &Derived<'_>, best: Option<Reference>) {
        let fastest = best.map_or(0.0, |best| best.fastest);
        let sums = totals::sums(&derived.chunk);
        let numbers = |column: &[u32]| column.iter().map(|&n| u64::from(n)).sum::<u64>();
        self.measures.quanta += derived.len() as u64;
        self.measures.units += u128::from(numbers(derived.chunk.count));
        self.measures.wall += sums.wall;
        self.measures.gaps += numbers(derived.chunk.gaps);
        self.measures.gap_ticks += sums.gap_ticks;
        self.measures.measurement += sums.measurement;
        self.books.push(derived);
        for k in 0..derived.len() {
            let with_gap = match derived.chunk.gap_ticks[k] {
                0 => 0,
                _ => derived.chunk.gaps[k],
            };
            self.units += derived.units[k] + f64::from(with_gap);
            if derived.units[k] > 0.0 {
                self.present += derived.present[k];
                self.paced += derived.units[k];
                if derived.pace[k] > 0.0 && derived.pace[k] < fastest {
                    self.faster.0 += derived.present[k];
                    self.faster.1 += derived.units[k];
                }
            }
        }
        self.paces.push(derived);
    }

    /// Takes over what another part holds of a later time, but for its paces, and leaves that empty.
    fn take(&mut self, later: &mut Part) {
        let (sums, more) = (&mut self.measures, std::mem::take(&mut later.measures));
        sums.quanta += more.quanta;
        sums.units += more.units;
        sums.wall += more.wall;
        sums.gaps += more.gaps;
        sums.gap_ticks += more.gap_ticks;
        sums.measurement += more.measurement;
        self.books.take(&mut later.books);
        self.units += std::mem::take(&mut later.units);
        self.present += std::mem::take(&mut later.present);
        self.paced += std::mem::take(&mut later.paced);
        let faster = std::mem::take(&mut later.faster);
        self.faster = (self.faster.0 + faster.0, self.faster.1 + faster.1);
        // Its table stays where it is: a new one each second would disturb what is measured (`PaceHistogram::in_memory`).
        later.paces.clear();
        self.causes.resize(
            self.causes.len().max(later.causes.len()),
            CauseSum::default(),
        );
        for (cause, other) in self.causes.iter_mut().zip(later.causes.drain(..)) {
            cause.add(other);
        }
    }

    /// The account against a best pace, gaps by the names of their causes.
    fn ledger(&self, best: Option<f64>, name: &dyn Fn(Key) -> Cause, context: &Context) -> Ledger {
        let books = self.books.clone().finish();
        let books = Books {
            gaps: books.gaps,
            pace: books.pace - self.units * best.unwrap_or(0.0),
            bonus: self.faster.1 * best.unwrap_or(0.0) - self.faster.0,
        };
        let books = match best {
            Some(_) => books,
            // Nothing to book against: gaps alone.
            None => Books {
                gaps: books.gaps,
                ..Books::default()
            },
        };
        let causes: Causes = (0..)
            .zip(&self.causes)
            .filter(|(_, cause)| cause.number > 0)
            .map(|(key, cause)| (name(key), *cause))
            .collect();
        Account::close(&self.measures, books, &causes, best, context).report(context)
    }
}

impl Meter {
    /// Of a work kernel of that name.
    pub fn new(name: &str, context: Context) -> Meter {
        Meter {
            name: name.to_owned(),
            times: Paces::in_memory(&context),
            best: None,
            now: Part::new(&context),
            whole: Part::new(&context),
            context,
        }
    }

    /// What derives the columns that it takes.
    pub fn deriver(&self) -> Deriver {
        Deriver::new(&self.context)
    }

    /// Takes some quanta.
    pub fn push(&mut self, derived: &Derived<'_>) {
        self.times.push(derived);
        self.now.push(derived, self.best);
    }

    /// Takes what a gap within those quanta was.
    pub fn book(&mut self, shares: &[Share]) {
        CauseSum::book(&mut self.now.causes, shares);
    }

    /// Best pace as it was known when the last second ended, in ticks per unit; before that what is reached for 5 % of the time.
    pub fn best(&self) -> f64 {
        let so_far = || best_pace::choose(&[&self.times.candidate(&[], &self.context)]);
        let best = self.best.or_else(|| so_far().map(|best| best[0]));
        best.map_or(0.0, |best| best.ticks)
    }

    /// Ends the second under way: its account, that since the start, and its paces. `None` if nothing was measured in it.
    pub fn close(&mut self, name: &dyn Fn(Key) -> Cause) -> (Option<(Ledger, Pace)>, Ledger) {
        if self.now.measures.quanta == 0 {
            let best = self.best.map(|best| best.ticks);
            return (None, self.whole.ledger(best, name, &self.context));
        }
        let now = &mut self.now;
        now.paces.finish();
        self.whole.paces.add(&now.paces);
        let all_modes = bands::find(&self.whole.paces, &self.context);
        let candidate = self.times.candidate(&all_modes, &self.context);
        self.best = best_pace::choose(&[&candidate]).map(|best| best[0]);
        let best = self.best.map(|best| best.ticks);
        let ledger = now.ledger(best, name, &self.context);
        let (quanta, pace) = (now.paces.quanta(), now.present / now.paced);
        let few = quanta < FEW;
        let modes = (!few).then(|| bands::find(&now.paces, &self.context));
        self.whole.take(now);
        let whole = self.whole.ledger(best, name, &self.context);
        let modes = modes.unwrap_or(all_modes);
        let all = self.whole.paces.quanta().max(1) as f64;
        let band = |mode: &bands::Mode| {
            let bins = &self.whole.paces.bins()[mode.bins.0..=mode.bins.1];
            let since: u64 = bins.iter().map(|bin| bin.quanta()).sum();
            Band {
                ns_per_unit: self.context.ns(mode.centre),
                half_width: mode.half_width,
                share: match few {
                    true => since as f64 / all,
                    false => mode.quanta as f64 / quanta.max(1) as f64,
                },
                share_since_start: since as f64 / all,
            }
        };
        let pace = Pace {
            kernel: self.name.clone(),
            ns_per_unit: if pace.is_finite() {
                self.context.ns(pace)
            } else {
                0.0
            },
            best_ns: best.map_or(0.0, |best| self.context.ns(best)),
            bands: modes.iter().map(band).collect(),
        };
        (Some((ledger, pace)), whole)
    }
}
