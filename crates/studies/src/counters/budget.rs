//! Budget closure: can the events that B has more of pay for the cycles that it lost?
//!
//! What pays at the lower bound of its cost for half of the loss and more **pays**. What went up and could pay at the upper bound only, or whose cost nobody knows,
//! is a **lead**; so is an event after which the core may go on in another state, if it came more often per second: it **cannot pay** by itself, and only an
//! experiment shows whether it switches something. All else cannot pay.

use super::costs::{self, Cost, Role};
use super::{Counters, Options, Pair, Row, sentence};
use serde::Serialize;

/// Share of the loss that pays for it: with less, most of it has another cause.
const PAID: f64 = 0.5;

/// Whether a counter can pay. In the order in which a reader wants them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Its events cost as much as was lost.
    Pays,
    /// It goes with the loss, and whether it is the cause only an intervention shows.
    Lead,
    /// It cannot.
    CannotPay,
    /// It is what is to be explained: cycles and times.
    Outcome,
    /// Nothing is known to be paid for, and it changed.
    Changed,
    /// Nothing is known to be paid for, and it did not change.
    #[default]
    Same,
}

/// Who says what has to be paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BudgetBasis {
    /// The CPU's counters.
    Counted,
    /// The user.
    Stated,
}

/// What has to be paid for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    /// Cycles that B took more than A in a unit of work; negative where it took fewer, which is to be explained as well.
    pub lost_cycles: f64,
    /// Who says so.
    pub basis: BudgetBasis,
    /// Cycles of an instruction of A, where both are counted.
    pub cycles_per_instruction: Option<f64>,
}

impl Budget {
    /// `None` where cycles are not known, or did not change.
    pub(super) fn of(counters: &Counters, options: &Options) -> Option<Budget> {
        let (lost_cycles, basis) = match (options.lost_cycles, counters.cycles) {
            (Some(stated), _) => (stated, BudgetBasis::Stated),
            (None, Some(cycles)) if cycles.changed => (cycles.b - cycles.a, BudgetBasis::Counted),
            _ => return None,
        };
        let usable = lost_cycles.is_finite() && lost_cycles != 0.0;
        usable.then_some(Budget {
            lost_cycles,
            basis,
            cycles_per_instruction: counters.instructions_per_cycle.map(|[a, _]| a.recip()),
        })
    }
}

/// Says of each row whether it can pay. `pairs` are the rows' counters, in their order.
pub(super) fn judge(counters: &mut Counters, pairs: &[Pair<'_>]) {
    let instructions = counters
        .instructions
        .map_or(0.0, |change| change.b - change.a);
    let budget = counters.budget;
    for (row, pair) in counters.rows.iter_mut().zip(pairs) {
        let extra = row.per_work.b - row.per_work.a;
        row.verdict = match (pair.role, &budget) {
            (Role::Cycles | Role::Time, _) => Verdict::Outcome,
            (_, None) if row.changed() => Verdict::Changed,
            (_, None) => Verdict::Same,
            (role, Some(budget)) => {
                if extra * budget.lost_cycles > 0.0 {
                    row.cycles_for_each = Some(budget.lost_cycles / extra);
                    if role != Role::Instructions && instructions * extra > 0.0 {
                        row.instructions_for_each = Some(instructions / extra);
                    }
                }
                row.cost = cost(role, &row.name, budget);
                row.pays = row.cost.as_ref().map(|cost| {
                    let share = extra / budget.lost_cycles;
                    [share * cost.low, share * cost.high]
                });
                against(row, role)
            }
        };
        row.reason = sentence::reason(row, pair.role, budget.as_ref());
    }
}

fn cost(role: Role, name: &str, budget: &Budget) -> Option<Cost> {
    match role {
        Role::Instructions => budget.cycles_per_instruction.map(|cycles| Cost {
            low: cycles,
            high: cycles,
            source: "what an instruction of A took",
        }),
        _ => costs::cost(name),
    }
}

/// Whether events pay that changed in the direction of the loss: by the share of it that they pay at the bounds of their cost, where that is known, and whether
/// they came more often per second.
pub(crate) fn closure(pays: Option<[f64; 2]>, role: Role, more_often: bool) -> Verdict {
    match pays {
        Some([low, _]) if low >= PAID => Verdict::Pays,
        Some([_, high]) if high >= PAID => Verdict::Lead,
        Some(_) if role == Role::Switch && more_often => Verdict::Lead,
        None if more_often => Verdict::Lead,
        _ => Verdict::CannotPay,
    }
}

/// Whether a row pays for a budget.
fn against(row: &Row, role: Role) -> Verdict {
    if !row.changed() || row.cycles_for_each.is_none() {
        return Verdict::CannotPay;
    }
    // More of them in as much more time are nothing that brings the loss about.
    let more_often = row.per_second.is_none_or(|change| {
        change.changed && (change.b > change.a) == (row.per_work.b > row.per_work.a)
    });
    closure(row.pays, role, more_often)
}
