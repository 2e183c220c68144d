//! What counters say, in words.

use super::{Budget, BudgetBasis, Change, Counters, Role, Row, Verdict};

/// Names that a sentence lists.
const LISTED: usize = 3;

/// A number as it is read in a sentence: `6,515`, `5.71e9`, `0.55`.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if (1e-3..9.995).contains(&size) => format!("{value:.2}"),
        size if (9.995..99_999.5).contains(&size) => thousands(value),
        _ => format!("{value:.2e}"),
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A ratio less 1 as percent, or where it is large as what it is: `+35.1 %`, `248,675 x`.
pub(crate) fn percent(ratio: f64) -> String {
    let change = 100.0 * (ratio - 1.0);
    match change.abs() {
        size if size >= 900.0 => format!("{} x", thousands(ratio)),
        size if size >= 100.0 => format!("{change:+.0} %"),
        size if size >= 1.0 => format!("{change:+.1} %"),
        _ => format!("{change:+.2} %"),
    }
}

fn moved(change: &Change) -> String {
    match change.ratio {
        Some(ratio) => percent(ratio),
        None => format!("from 0 to {}", figure(change.b)),
    }
}

/// `70 to 139 %`.
fn shares([low, high]: [f64; 2]) -> String {
    let one = |share: f64| {
        let percent = 100.0 * share;
        match percent.abs() {
            size if size >= 9.95 => format!("{percent:.0}"),
            size if size >= 0.01 => format!("{percent:.2}"),
            _ => format!("{percent:.0e}"),
        }
    };
    match low == high {
        true => format!("{} %", one(low)),
        false => format!("{} to {} %", one(low), one(high)),
    }
}

/// Why a row's verdict is what it is.
pub(super) fn reason(row: &Row, role: Role, budget: Option<&Budget>) -> String {
    let Some(budget) = budget else {
        return String::new();
    };
    if matches!(role, Role::Cycles | Role::Time) {
        return String::new();
    }
    let lost = if budget.lost_cycles > 0.0 {
        "lost"
    } else {
        "saved"
    };
    let Some(each) = row.cycles_for_each else {
        let how = if row.per_work.a == row.per_work.b {
            "stayed as it was"
        } else {
            "went the other way"
        };
        return format!("it {how}");
    };
    if !row.changed() {
        return "within the scatter of runs or counts".into();
    }
    let extra = figure((row.per_work.b - row.per_work.a).abs());
    let mut text = match (&row.cost, row.pays) {
        (Some(cost), Some(pays)) => format!(
            "{extra} at {} cycles ({}) are {} of the {lost} cycles",
            if cost.low == cost.high {
                figure(cost.low)
            } else {
                format!("{} to {}", figure(cost.low), figure(cost.high))
            },
            cost.source,
            shares(pays)
        ),
        _ => format!("{extra}; the cost of one is not known"),
    };
    if row.verdict != Verdict::Pays {
        text += &format!("; each would have to take {} cycles", figure(each));
        if let Some(instructions) = row.instructions_for_each {
            text += &format!(", in {} instructions", figure(instructions));
        }
    }
    if row.verdict == Verdict::Lead && role == Role::Switch {
        text += "; it cannot pay by itself, but may change the state of the core";
    }
    if row.verdict == Verdict::CannotPay && row.pays.is_none() {
        text += "; it is not more frequent per second";
    }
    text
}

/// The answer.
pub(super) fn verdict(counters: &Counters) -> String {
    let mut sentences = vec![opening(counters)];
    sentences.extend(match &counters.budget {
        Some(budget) => of_budget(counters, budget),
        None => without_budget(counters),
    });
    sentences.retain(|sentence| !sentence.is_empty());
    sentences.join(" ")
}

fn rows_of(counters: &Counters, verdict: Verdict) -> Vec<&Row> {
    let rows = counters.rows.iter();
    rows.filter(|row| row.verdict == verdict).collect()
}

/// How many counters are not themselves what is to be explained.
fn candidates(counters: &Counters) -> usize {
    let rows = counters.rows.iter();
    rows.filter(|row| row.verdict != Verdict::Outcome).count()
}

/// Some rows by name, each with how it moved.
fn list(rows: &[&Row]) -> String {
    let named: Vec<String> = rows
        .iter()
        .take(LISTED)
        .map(|row| format!("{} ({})", row.name, moved(&row.per_work)))
        .collect();
    let more = match rows.len() {
        0..=LISTED => String::new(),
        all => format!(" and {} more", all - LISTED),
    };
    named.join(", ") + &more
}

/// What pays for the lost cycles, and else what may.
fn of_budget(counters: &Counters, budget: &Budget) -> Vec<String> {
    let pays = rows_of(counters, Verdict::Pays);
    let what = if budget.lost_cycles > 0.0 {
        "lost"
    } else {
        "saved"
    };
    let mut sentences = vec![match (&pays[..], candidates(counters)) {
        ([], 0) => "No other counter says why.".into(),
        ([], candidates) => format!("None of the other {candidates} counters pays for that."),
        ([first, ..], _) => format!(
            "{} {} for it: {} of the {what} cycles.",
            list(&pays),
            if pays.len() == 1 {
                "pays"
            } else {
                "pay, each by itself,"
            },
            shares(first.pays.unwrap_or_default())
        ),
    }];
    let leads = rows_of(counters, Verdict::Lead);
    if !leads.is_empty() && pays.is_empty() {
        sentences.push(format!(
            "{}: {}. The next step is an intervention: change the number of these events on purpose, and see whether the cycles follow.",
            if leads.len() == 1 { "A lead" } else { "Leads" },
            list(&leads)
        ));
    }
    sentences
}

/// What changed, where nobody knows what it would have to pay for.
fn without_budget(counters: &Counters) -> Vec<String> {
    let changed = rows_of(counters, Verdict::Changed);
    let mut sentences = Vec::new();
    match (&changed[..], candidates(counters)) {
        ([], 0) => {}
        ([], candidates) => sentences.push(format!("None of {candidates} counters changed.")),
        _ => sentences.push(format!("Changed most: {}.", list(&changed))),
    }
    if counters.cycles.is_none() && !changed.is_empty() {
        sentences.push(
            "No cycles were counted, so the loss to explain is not known (--lost-cycles).".into(),
        );
    }
    sentences
}

/// What is to be explained.
fn opening(counters: &Counters) -> String {
    if let Some(budget) = counters
        .budget
        .filter(|budget| budget.basis == BudgetBasis::Stated)
    {
        return format!(
            "B lost {} cycles against A, as stated.",
            figure(budget.lost_cycles)
        );
    }
    match (counters.cycles, counters.seconds) {
        (Some(cycles), _) => {
            let more = cycles.b - cycles.a;
            let mut text = match cycles.changed {
                true => format!(
                    "B took {} cycles {} than A ({})",
                    figure(more.abs()),
                    if more > 0.0 { "more" } else { "fewer" },
                    moved(&cycles)
                ),
                false => format!("B took about as many cycles as A ({})", moved(&cycles)),
            };
            if let Some(instructions) = counters.instructions {
                let same = if instructions.changed {
                    "other"
                } else {
                    "the same"
                };
                text += &format!(" for {same} instructions ({})", moved(&instructions));
            }
            if let Some([a, b]) = counters.instructions_per_cycle {
                text += &format!(": {b:.2} instead of {a:.2} instructions per cycle");
            }
            text + "."
        }
        (None, Some(seconds)) => {
            let apart = seconds.b - seconds.a;
            match seconds.changed {
                true => format!(
                    "B took {} s {} than A ({}).",
                    figure(apart.abs()),
                    if apart > 0.0 { "longer" } else { "less" },
                    moved(&seconds)
                ),
                false => format!("B took about as long as A ({}).", moved(&seconds)),
            }
        }
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_sentences() {
        for (value, text) in [
            (0.0, "0"),
            (0.5512, "0.55"),
            (6515.4, "6,515"),
            (7.938e6, "7.94e6"),
            (5.708e9, "5.71e9"),
            (-94.0, "-94"),
            (1e-5, "1.00e-5"),
        ] {
            assert_eq!(figure(value), text);
        }
        for (ratio, text) in [
            (1.3511, "+35.1 %"),
            (1.0002, "+0.02 %"),
            (2.41, "+141 %"),
            (248_675.24, "248,675 x"),
            (0.5, "-50.0 %"),
        ] {
            assert_eq!(percent(ratio), text);
        }
    }
}
