//! Where the time of a CPU went, grouped as people think of it: what the verdict names and the text report lists.
//!
//! All series together. Shares are rounded so that they add up to 100 %, with as many digits as keep the losses visible: whoever writes them
//! writes the same figures.

use crate::closed::words;
use crate::{Cause, Ledger, Series};
use bandscope_recording::Manifest;
use bandscope_recording::manifest::EventsState;

words! {
    /// What takes time, as people think of it.
    pub enum Loss {
        /// Tasks that ran instead.
        OtherTasks = "other tasks",
        /// Gaps in which this kernel did nothing, in a virtual machine.
        Hypervisor = "hypervisor",
        /// The same where no hypervisor is known.
        Firmware = "firmware or host",
        /// The kernel's own tick.
        Tick = "timer tick",
        /// Interrupts of devices, of other CPUs and of timers that wake tasks.
        Interrupts = "interrupts",
        /// Softirqs.
        Softirqs = "softirqs",
        /// Page faults and the like.
        Exceptions = "exceptions",
        /// Limits on CPU time.
        Throttled = "throttled",
        /// Signals, debuggers, frozen groups.
        Stopped = "stopped",
        /// Gaps that nothing names.
        Interruptions = "interruptions",
        /// The CPU was here, and slower.
        SlowerPace = "slower pace",
        /// bandscope itself.
        Measurement = "measurement",
        /// What no line accounts for.
        Unexplained = "unexplained",
    }
}

/// Time lost in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossPart {
    /// In which way.
    pub loss: Loss,
    /// How much.
    pub ns: u128,
    /// By what, the largest first: names of processes, interrupts, limits. Empty where the way says all.
    pub causes: Vec<(String, u128)>,
    /// Its share, in the account's steps.
    steps: u128,
}

/// Where the time of some series of one CPU went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Losses that do not round to nothing, the largest first.
    pub losses: Vec<LossPart>,
    /// All of it.
    pub wall_ns: u128,
    /// Digits after the decimal point of every share.
    digits: u32,
    work_ns: u128,
    work_steps: u128,
    other_steps: u128,
}

impl Account {
    /// The account of `series`, which are those of one CPU; `None` without any time.
    pub fn new(series: &[&Series], manifest: Option<&Manifest>) -> Option<Account> {
        let mut losses: Vec<LossPart> = Vec::new();
        let mut work = 0;
        for ledger in series.iter().map(|series| &series.ledger) {
            work += u128::from(ledger.work_ns);
            for (loss, cause, ns) in entries(ledger, manifest) {
                add(&mut losses, loss, cause, ns);
            }
        }
        losses.sort_by_key(|part| std::cmp::Reverse(part.ns));
        for part in &mut losses {
            part.causes.sort_by_key(|cause| std::cmp::Reverse(cause.1));
        }
        let lost: u128 = losses.iter().map(|part| part.ns).sum();
        let wall_ns = work + lost;
        if wall_ns == 0 {
            return None;
        }
        let digits = match lost as f64 / wall_ns as f64 {
            share if share >= 0.01 => 1,
            share if share >= 0.001 => 2,
            _ => 3,
        };
        let whole = 100 * 10u128.pow(digits);
        // What is less than half a step is told from nothing by nobody.
        let is_small = |part: &LossPart| 2 * part.ns * whole < wall_ns;
        let small = losses.iter().filter(|part| is_small(part));
        let other: u128 = small.map(|part| part.ns).sum();
        losses.retain(|part| !is_small(part));
        let parts = [work, other]
            .into_iter()
            .chain(losses.iter().map(|part| part.ns));
        let steps = rounded(&parts.collect::<Vec<u128>>(), whole);
        for (part, &steps) in losses.iter_mut().zip(&steps[2..]) {
            part.steps = steps;
        }
        // Rounded so that all add up, one may become nothing.
        losses.retain(|part| part.steps > 0);
        Some(Account {
            losses,
            wall_ns,
            digits,
            work_ns: work,
            work_steps: steps[0],
            other_steps: steps[1],
        })
    }

    /// Share of work, as it is written.
    pub fn work(&self) -> String {
        self.written(self.work_steps)
    }

    /// Share of all losses, as it is written; `None` if it rounds to nothing.
    pub fn lost(&self) -> Option<String> {
        let steps = 100 * 10u128.pow(self.digits) - self.work_steps;
        (steps > 0).then(|| self.written(steps))
    }

    /// Share of a loss, as it is written.
    pub fn share(&self, part: &LossPart) -> String {
        self.written(part.steps)
    }

    /// Share of all losses but the first `shown`; `None` if it rounds to nothing.
    pub fn folded(&self, shown: usize) -> Option<String> {
        let more: u128 = self.losses.iter().skip(shown).map(|part| part.steps).sum();
        let steps = self.other_steps + more;
        (steps > 0).then(|| self.written(steps))
    }

    /// Share of a cause of a loss, as it is written; `None` if it rounds to nothing.
    pub fn share_of_cause(&self, part: &LossPart, ns: u128) -> Option<String> {
        let whole = 100 * 10u128.pow(self.digits);
        let steps = (2 * ns * whole + self.wall_ns) / (2 * self.wall_ns);
        // No part is written larger than the whole.
        let steps = steps.min(part.steps);
        (steps > 0).then(|| self.written(steps))
    }

    /// Share of work, as a number.
    pub fn work_share(&self) -> f64 {
        self.work_ns as f64 / self.wall_ns as f64
    }

    /// The least share that is written.
    pub fn least(&self) -> String {
        self.written(1)
    }

    fn written(&self, steps: u128) -> String {
        let digits = self.digits as usize;
        format!(
            "{:.digits$} %",
            steps as f64 / 10f64.powi(self.digits as i32)
        )
    }
}

/// Parts of a whole in steps that add up to `whole`: rounded down, the rest to those that lost most by it.
fn rounded(parts: &[u128], whole: u128) -> Vec<u128> {
    let total: u128 = parts.iter().sum();
    let mut steps: Vec<u128> = parts.iter().map(|part| part * whole / total).collect();
    let mut by_rest: Vec<usize> = (0..parts.len()).collect();
    by_rest.sort_by_key(|&index| std::cmp::Reverse(parts[index] * whole % total));
    let left = (whole - steps.iter().sum::<u128>()) as usize;
    for &index in by_rest.iter().take(left) {
        steps[index] += 1;
    }
    steps
}

fn add(losses: &mut Vec<LossPart>, loss: Loss, cause: String, ns: u128) {
    if ns == 0 {
        return;
    }
    let index = losses.iter().position(|part| part.loss == loss);
    let index = index.unwrap_or_else(|| {
        losses.push(LossPart {
            loss,
            ns: 0,
            causes: Vec::new(),
            steps: 0,
        });
        losses.len() - 1
    });
    let part = &mut losses[index];
    part.ns += ns;
    if cause.is_empty() {
        return;
    }
    match part.causes.iter_mut().find(|known| known.0 == cause) {
        Some(known) => known.1 += ns,
        None => part.causes.push((cause, ns)),
    }
}

/// Every loss of a ledger, as people think of it: in which way, by what, ns. Nothing where it took no time.
pub fn losses(ledger: &Ledger, manifest: Option<&Manifest>) -> Vec<(Loss, String, u128)> {
    let mut losses = entries(ledger, manifest);
    losses.retain(|(_, _, ns)| *ns > 0);
    losses
}

/// In which way a gap of this cause is lost.
pub fn loss_of(cause: &Cause, manifest: Option<&Manifest>) -> Loss {
    of_gap(cause, manifest).0
}

fn entries(ledger: &Ledger, manifest: Option<&Manifest>) -> Vec<(Loss, String, u128)> {
    let pace = &ledger.pace_ns;
    let mut entries: Vec<(Loss, String, u128)> = [
        ("lower frequency", pace.frequency),
        ("slower core state", pace.microarchitecture),
        (PACE_NOT_KNOWN, pace.unsplit),
    ]
    .map(|(cause, ns)| (Loss::SlowerPace, cause.to_owned(), ns.into()))
    .into();
    for (cause, &ns) in &ledger.gaps_ns {
        let (loss, name) = of_gap(cause, manifest);
        entries.push((loss, name, ns.into()));
    }
    entries.push((
        Loss::Measurement,
        String::new(),
        ledger.measurement_ns.into(),
    ));
    let unexplained = u128::try_from(ledger.unexplained_ns).unwrap_or(0);
    entries.push((Loss::Unexplained, String::new(), unexplained));
    entries
}

/// What takes the time of a gap, and its name.
fn of_gap(cause: &Cause, manifest: Option<&Manifest>) -> (Loss, String) {
    let (loss, name) = match cause {
        Cause::OtherTasks => (Loss::OtherTasks, "many small ones"),
        Cause::Task(name) => (Loss::OtherTasks, &**name),
        Cause::Preempted => (Loss::OtherTasks, NOT_NAMED),
        Cause::Host => host(manifest),
        Cause::Tick => (Loss::Tick, ""),
        Cause::Interrupt(name) => (Loss::Interrupts, &**name),
        Cause::Timer(name) => return (Loss::Interrupts, format!("timer of {name}")),
        Cause::Nmi => (Loss::Interrupts, "non-maskable"),
        Cause::Softirq(name) => (Loss::Softirqs, &**name),
        Cause::Exception(name) => (Loss::Exceptions, &**name),
        Cause::QuotaThrottled => (Loss::Throttled, "CPU quota"),
        Cause::RealTimeThrottled => (Loss::Throttled, "real-time limit"),
        Cause::Stopped if tells_freezers(manifest) => (Loss::Stopped, "signal or debugger"),
        Cause::Stopped => (Loss::Stopped, "signal, debugger or freezer"),
        Cause::Frozen => (Loss::Stopped, "group frozen"),
        Cause::Held(name) => (Loss::Stopped, &**name),
        Cause::Unnamed => (Loss::Interruptions, ""),
    };
    (loss, name.to_owned())
}

/// What a gap was, in a word or two: a name, or what takes time in this way.
pub fn name(cause: &Cause, manifest: Option<&Manifest>) -> String {
    match of_gap(cause, manifest) {
        (loss @ (Loss::Hypervisor | Loss::Firmware), _) => loss.name().to_owned(),
        (loss, name) if name.is_empty() || name == NOT_NAMED => loss.name().to_owned(),
        (_, name) => name,
    }
}

/// Whoever runs this kernel, and the name of a hypervisor.
fn host(manifest: Option<&Manifest>) -> (Loss, &str) {
    match manifest.and_then(|manifest| manifest.machine.known_hypervisor()) {
        Some(name) => (Loss::Hypervisor, name),
        None => (Loss::Firmware, ""),
    }
}

/// Whether kernel events tell a freezer from a signal.
fn tells_freezers(manifest: Option<&Manifest>) -> bool {
    manifest.is_some_and(|manifest| manifest.events.state == EventsState::On)
}

/// What took time by a slower pace that counters and clocks do not explain.
pub const PACE_NOT_KNOWN: &str = "cause not known";

/// The name of tasks that nobody named.
pub const NOT_NAMED: &str = "not named";

/// Why interruptions have no names, in a few words.
pub fn why_not_named(manifest: Option<&Manifest>) -> &'static str {
    let Some(manifest) = manifest.filter(|manifest| !manifest.is_imported()) else {
        return "inferred from counts";
    };
    let needs_rights = |why: &str| why.contains("CAP_") || why.contains("paranoid");
    match manifest.events.state {
        EventsState::On => "cause not known",
        EventsState::Off => "not named: kernel events were not recorded",
        EventsState::Unavailable if needs_rights(&manifest.events.why) => {
            "not named: kernel events need root"
        }
        EventsState::Unavailable => "not named: kernel events were not recorded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PaceLoss;

    fn series(work_ns: u64, gaps: &[(Cause, u64)]) -> Series {
        let gaps_ns = gaps.iter().cloned().collect();
        Series {
            ledger: Ledger {
                work_ns,
                gaps_ns,
                pace_ns: PaceLoss {
                    unsplit: 33,
                    ..PaceLoss::default()
                },
                ..Ledger::default()
            },
            ..Series::default()
        }
    }

    fn task(name: &str) -> Cause {
        Cause::Task(name.into())
    }

    #[test]
    fn series_are_pooled_and_causes_grouped() {
        let first = series(850, &[(task("cc1"), 40), (Cause::Tick, 5)]);
        let second = series(856, &[(task("rustc"), 50), (Cause::Host, 61)]);
        let account = Account::new(&[&first, &second], None).unwrap();
        let of = |index: usize| (account.losses[index].loss, account.losses[index].ns);
        assert_eq!(of(0), (Loss::OtherTasks, 90));
        assert_eq!(account.losses[0].causes[0], ("rustc".to_owned(), 50));
        assert_eq!(of(1), (Loss::SlowerPace, 66));
        assert_eq!(of(2), (Loss::Firmware, 61));
        assert_eq!(of(3), (Loss::Tick, 5));
        assert_eq!(account.work(), "88.5 %");
        assert_eq!(account.lost().as_deref(), Some("11.5 %"));
    }

    #[test]
    fn shares_add_up_and_small_losses_fold() {
        let many: Vec<(Cause, u64)> = (1..9)
            .map(|k| (Cause::Softirq(format!("{k}").into()), k))
            .collect();
        let mut one = series(99_000, &many);
        one.ledger
            .gaps_ns
            .extend([(Cause::Tick, 333), (Cause::Nmi, 333), (Cause::Host, 333)]);
        let account = Account::new(&[&one], None).unwrap();
        let steps: u128 = account.losses.iter().map(|part| part.steps).sum();
        assert_eq!(steps + account.work_steps + account.other_steps, 1000);
        assert!(
            account
                .losses
                .iter()
                .all(|part| part.loss != Loss::Softirqs)
        );
        assert_eq!(
            account.folded(account.losses.len()).as_deref(),
            Some("0.1 %")
        );
        assert!(Account::new(&[&Series::default()], None).is_none());
    }

    #[test]
    fn without_events_a_stop_may_be_a_freezers() {
        let mut manifest = Manifest::default();
        for (state, wanted) in [
            (EventsState::On, "signal or debugger"),
            (EventsState::Unavailable, "signal, debugger or freezer"),
        ] {
            manifest.events.state = state;
            assert_eq!(name(&Cause::Stopped, Some(&manifest)), wanted);
        }
    }

    #[test]
    fn digits_follow_what_is_lost() {
        let quiet = series(10_000_000_000, &[(Cause::Tick, 150_000)]);
        let account = Account::new(&[&quiet], None).unwrap();
        assert_eq!(account.lost().as_deref(), Some("0.002 %"));
        assert_eq!(account.losses.len(), 1, "33 ns fold");
    }
}
