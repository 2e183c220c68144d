//! What became of a cure, in one sentence.

use super::judge::Outcome;
use super::{Difference, Judgement, LineChange, MIN_SHARE, Saving, Verdict};
use bandscope_recording::cpu_list;
use bandscope_recording::cures::{Cures, Pair};
use bandscope_report::format::{duration, hundredths, share_decimals};

/// Patterns of lines that are named.
const MAX_PATTERNS: usize = 3;
/// A smaller change of other CPUs is not told: 0.1 points.
const MIN_INHERITED: f64 = 1e-3;
/// A line that was moved is told if it took so much: half a point. Chosen, not measured.
const MIN_MOVED: f64 = 0.005;
/// Why a cure can make it worse that does what it should.
pub(super) const STANDING_PACE: &str = "Fewer interruptions leave the slow pace standing longer.";
/// Why a cure can make it worse that loses less.
const UNIFORMLY_SLOWER: &str =
    "The whole CPU became slower, and 100 % is each trial's own best pace.";

/// What a sentence is made of.
pub(super) struct Told<'a> {
    pub(super) cures: &'a Cures,
    pub(super) judgement: &'a Judgement,
    pub(super) saved: &'a Saving,
}

/// Name and verdict.
pub(super) fn beginning(name: &str, verdict: Verdict) -> String {
    format!("{name}: {}: ", verdict.words())
}

/// Why there is no verdict on so many pairs.
pub(super) fn too_few(pairs: usize, needed: usize) -> String {
    format!("only {pairs} pairs were made, and {needed} are needed to tell")
}

/// Why none was made that counts; pilots tell how long a pair takes.
pub(super) fn no_time(pilots: &[Pair]) -> String {
    match pilots {
        [first, .., last] => {
            let pair_s = (last.at_s - first.at_s) / (pilots.len() - 1) as f64;
            let pair = duration(pair_s * 1e9);
            format!("no time was left for the pairs that count, of {pair} each")
        }
        _ => "no time was left".to_owned(),
    }
}

/// Why a cure makes it worse, where that is known.
pub(super) fn reason(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Cost { by_pace: true } => Some(STANDING_PACE),
        Outcome::LessWork(_) => Some(UNIFORMLY_SLOWER),
        _ => None,
    }
}

/// `4.9 points (4.6 to 5.2)`.
fn amount(share: f64, [low, high]: [f64; 2]) -> String {
    let decimals = share_decimals(share, Some((high - low) / 2.0));
    let [share, low, high] = [share, low, high].map(|one| hundredths(one, decimals));
    format!("{share} points ({low} to {high})")
}

/// `4.9 points`, as exact as its interval allows.
pub(super) fn points(share: f64, interval: Option<[f64; 2]>) -> String {
    let half_width = interval.map(|[low, high]| (high - low) / 2.0);
    let decimals = share_decimals(share, half_width);
    format!("{} points", hundredths(share, decimals))
}

/// `5.0 %` and `0.0 %`, as exact as the interval of their difference allows.
fn percents(share: &Difference) -> [String; 2] {
    let half_width = share.interval.map(|[low, high]| (high - low) / 2.0);
    let decimals = share_decimals(share.without.max(share.with), half_width);
    [share.without, share.with].map(|one| format!("{} %", hundredths(one, decimals)))
}

/// The same of what was saved.
fn percents_of(saving: &Saving) -> [String; 2] {
    percents(&Difference {
        without: saving.without,
        with: saving.with,
        difference: -saving.share,
        interval: Some(saving.interval),
    })
}

/// From where on a change would have been seen: one digit, rounded up.
pub(super) fn seen_from(detectable: f64) -> String {
    let hundredths_of_share = 100.0 * detectable;
    let digit = 10f64.powf(hundredths_of_share.log10().floor());
    // What is a whole number of digits but for rounding is one.
    let rounded = (hundredths_of_share / digit - 1e-9).ceil() * digit / 100.0;
    points(rounded, None)
}

impl Told<'_> {
    /// By how much, or why.
    pub(super) fn effect(&self, outcome: Outcome) -> String {
        let time = self.time();
        let own = self.judgement.own.unwrap_or_default();
        match outcome {
            Outcome::Saved => {
                let amount = amount(self.saved.share, self.saved.interval);
                let parts = [Some(format!("saves {amount} of {time}")), self.line(-1.0)];
                self.with_inherited(joined(parts))
            }
            Outcome::OwnFell => {
                let amount = amount(own.share, own.interval);
                let head = format!("saves {amount} of {time} on its own lines");
                let text = joined([Some(head), self.line(-1.0)]);
                let [low, high] = self.saved.interval;
                let decimals = share_decimals(self.saved.share, Some((high - low) / 2.0));
                let [low, high] = [low, high].map(|end| hundredths(end, decimals));
                let total = format!("; the total alone does not prove it ({low} to {high} points)");
                self.with_inherited(text + &total)
            }
            Outcome::RestRose(rise) => {
                let fall = points(own.share, Some(own.interval));
                let what = self.riser(rise);
                let rise = points(rise, Some(own.interval));
                format!("its lines fell by {fall}, but {what} rose by {rise}")
            }
            Outcome::OwnFellRestOpen => self.open(&own),
            Outcome::LessWork(change) => self.less_work(-change),
            Outcome::Cost { .. } => {
                let [low, high] = self.saved.interval;
                let amount = amount(-self.saved.share, [-high, -low]);
                let parts = [Some(format!("costs {amount} of {time}")), self.line(1.0)];
                self.with_inherited(joined(parts))
            }
            Outcome::Unchanged | Outcome::TooSmall => self.unchanged(),
            Outcome::TooFewPairs(needed) => too_few(self.judgement.pairs, needed),
        }
    }

    /// Why what its own lines saved may be lost again.
    fn open(&self, own: &Saving) -> String {
        let fall = points(own.share, Some(own.interval));
        let named = cpu_list::named(&self.cures.cpus);
        let [low, high] = self.saved.interval;
        let scatter = points((high - low) / 2.0, None);
        format!(
            "its lines fell by {fall}; whether {named} gained them cannot be told, as all that was lost scatters by ±{scatter}"
        )
    }

    /// What each second holds less, though less of it is lost.
    fn less_work(&self, part: f64) -> String {
        let work = self.judgement.work.unwrap_or_default();
        let half_width = work.interval.map(|[low, high]| (high - low) / 2.0);
        let decimals = share_decimals(part, half_width.map(|half| half / work.without));
        let less = hundredths(part, decimals);
        let saving = match self.saved.fell() {
            true => self.saved,
            false => self.judgement.own.as_ref().unwrap_or(self.saved),
        };
        let saved = points(saving.share, Some(saving.interval));
        let text =
            format!("each second holds {less} % less work, though less of it is lost, by {saved}");
        self.with_inherited(text)
    }

    /// The time of the measured CPUs.
    fn time(&self) -> String {
        let named = cpu_list::named(&self.cures.cpus);
        match self.cures.cpus.len() {
            1 => format!("{named}'s time"),
            _ => format!("the time of {named}"),
        }
    }

    /// Lines that changed in that direction, the largest change first.
    fn changed(&self, direction: f64) -> impl Iterator<Item = &LineChange> {
        let lines = self.judgement.lines.iter();
        lines.filter(move |line| line.changed && direction * line.share.difference > 0.0)
    }

    /// The line that changed most in that direction, of its own where there is one: `task:cc1 fell from 5.0 % to 0.0 %`.
    fn line(&self, direction: f64) -> Option<String> {
        let own = self.changed(direction).find(|line| line.is_own);
        let line = own.or_else(|| self.changed(direction).next())?;
        let [without, with] = percents(&line.share);
        let verb = if direction < 0.0 { "fell" } else { "rose" };
        Some(format!("{} {verb} from {without} to {with}", line.line))
    }

    /// What rose as much as its own lines fell: a line that makes up half of it, or all the rest.
    fn riser(&self, rise: f64) -> &str {
        let mut lines = self.changed(1.0).filter(|line| !line.is_own);
        let line = lines.find(|line| line.share.difference >= rise / 2.0);
        line.map_or("everything else", |line| &line.line)
    }

    fn unchanged(&self) -> String {
        let seen = |saving: &Saving| format!("would have been seen from {} on", saving.seen_from());
        let Some(own) = self.judgement.own else {
            let [without, with] = percents_of(self.saved);
            let named = cpu_list::named(&self.cures.cpus);
            let seen = seen(self.saved);
            return format!(
                "{named} lost {without} without it and {with} with it; a change {seen}"
            );
        };
        if own.without.max(own.with) < MIN_SHARE {
            let seen = seen(self.saved);
            let patterns = patterns(&self.judgement.acts_on);
            return format!("no time went to {patterns}; a change of all that was lost {seen}");
        }
        let [without, with] = percents_of(&own);
        if own.rose() {
            let named = cpu_list::named(&self.cures.cpus);
            return format!("its lines rose from {without} to {with}, but {named} lost no more");
        }
        let seen = seen(&own);
        let all = format!(
            "its lines took {without} of the time without it and {with} with it; a change {seen}"
        );
        match self.moved() {
            Some(moved) => format!("{moved}, but all {all}"),
            None => all,
        }
    }

    /// A line of its own that it took away, though others of them took as much more: the next task in the queue has the time then.
    fn moved(&self) -> Option<String> {
        let line = self.changed(-1.0).find(|line| line.is_own)?;
        let share = &line.share;
        let is_gone = share.with <= share.without / 2.0 && -share.difference >= MIN_MOVED;
        is_gone.then(|| self.line(-1.0)).flatten()
    }

    /// With what other CPUs inherited.
    fn with_inherited(&self, text: String) -> String {
        let Some(inherited) = &self.judgement.inherited else {
            return text;
        };
        let is_told = |one: &Difference| one.is_clear() && one.difference.abs() >= MIN_INHERITED;
        let others = &self.cures.others;
        let named = cpu_list::named(others);
        let (be, each) = match others.len() {
            1 => ("is", ""),
            _ => ("are", " each"),
        };
        let mut text = text;
        let busy = inherited.busy;
        if is_told(&busy) {
            let word = if busy.difference > 0.0 {
                "busier"
            } else {
                "less busy"
            };
            let points = points(busy.difference.abs(), busy.interval);
            text += &format!("; {named} {be} {points} {word}{each}");
        }
        let waiting = inherited.waiting;
        if is_told(&waiting) && waiting.difference > 0.0 {
            let points = points(waiting.difference, waiting.interval);
            text += &format!("; tasks wait for {named} {points} longer");
        }
        text
    }
}

/// A statement and what explains it.
fn joined(parts: [Option<String>; 2]) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(": ")
}

/// The first patterns of a list, and how many more there are.
fn patterns(acts_on: &[String]) -> String {
    let named = acts_on.iter().take(MAX_PATTERNS).map(String::as_str);
    let mut words: Vec<&str> = named.collect();
    let more = acts_on.len() - words.len();
    let more_words = format!("{more} more");
    if more > 0 {
        words.push(&more_words);
    }
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_digit_says_from_where_on_a_change_is_seen() {
        assert_eq!(seen_from(1e-4), "0.01 points");
        assert_eq!(seen_from(3.1e-4), "0.04 points");
        assert_eq!(seen_from(0.001), "0.1 points");
        assert_eq!(seen_from(0.0096), "1.0 points");
        assert_eq!(seen_from(0.023), "3.0 points");
    }

    #[test]
    fn few_patterns_are_named() {
        let all = |of: &[&str]| of.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        assert_eq!(patterns(&all(&["a"])), "a");
        assert_eq!(patterns(&all(&["a", "b"])), "a or b");
        assert_eq!(
            patterns(&all(&["a", "b", "c", "d", "e"])),
            "a, b, c or 2 more"
        );
    }
}
