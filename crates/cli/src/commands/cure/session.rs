//! The trials of `bandscope cure`: which cures there are, their pairs, and what was measured of each.

use super::Arguments;
use crate::commands::{measure, passing, record};
use crate::interrupt::Interrupt;
use crate::output::{self, Keep, Lines};
use crate::progress::Progress;
use crate::scratch::Scratch;
use crate::values::{self, Cpus};
use anyhow::{Context, Result, ensure};
use bandscope_experiments::cure::{self, Action, Arrivals, CURES, Journal, Subject};
use bandscope_recording::cpu_list;
use bandscope_recording::cures::{Cure, Cures, Pair, SCHEMA, TOGETHER, appended};
use bandscope_recording::manifest::EventsState;
use bandscope_report::{Report, format};
use bandscope_sampler::Request;
use bandscope_sampler::machine::{Choice, Watch};
use bandscope_statistics::random::Random;
use bandscope_studies::cure as study;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Pairs that say how much trials scatter, and count for nothing else (docs/method.md, section 10.4).
const PILOTS: usize = 4;
/// How long the machine is watched before anything is planned, in trials.
const LOOK: f64 = 3.0;
/// How much longer than its budget a session may take, as a part of it.
const OVERTIME: f64 = 0.25;
/// Trials of more seconds, of all CPUs together, are written while they are made: in memory they take some MiB a second.
const MOST_BUFFERED_S: f64 = 10.0;
/// Why nothing is tried.
pub(super) const NONE_POSSIBLE: &str = "none of these cures can be tried here";
/// How long the work kernel runs before a trial: it ran a second before.
const WARM_UP_S: f64 = 0.05;

/// One session.
pub(super) struct Session<'a> {
    pub(super) cures: Cures,
    pub(super) interrupt: &'a Interrupt,
    pub(super) arguments: record::Arguments,
    pub(super) request: Request,
    pub(super) subject: Subject,
    pub(super) place: Scratch,
    /// What is changed; none where nothing may be.
    pub(super) journal: Option<Journal>,
    /// Whether what helps is to stay in force.
    pub(super) keep: bool,
    /// What has each pair as soon as it ends.
    pub(super) kept: Lines,
    random: Random,
    pub(super) begun: Instant,
    budget_s: f64,
    /// How long a pair of the last pilots took.
    pair_s: Option<f64>,
}

impl Session<'_> {
    /// Looks at the machine, and plans. Changes nothing.
    ///
    /// # Errors
    /// If another cure is at work, or a dead one left something: before anything is measured.
    pub(super) fn begin<'a>(
        arguments: &Arguments,
        keep: Option<Keep>,
        interrupt: &'a Interrupt,
    ) -> Result<Session<'a>> {
        let least = study::fewest(PILOTS) * 2.0 * (arguments.trial + WARM_UP_S);
        let [budget, needed, trial] =
            [arguments.budget, least, arguments.trial].map(|s| format::duration(s * 1e9));
        ensure!(
            arguments.dry_run || arguments.budget >= least,
            "--budget: found {budget}, expected {needed} or more with trials of {trial}"
        );
        let journal = match arguments.dry_run {
            true => None,
            false => Some(Journal::begin(&cure::directory())?),
        };
        let mut record = measure::defaults()?;
        record.cpus.clone_from(&arguments.cpus);
        // One rate: the trials are compared with each other alone.
        record.rate.truncate(1);
        record.duration = LOOK * arguments.trial;
        let request = record.request()?;
        let place = Scratch::new()?;
        let seed = arguments.seed.unwrap_or_else(values::seed_of_the_time);
        let mut session = Session {
            cures: Cures {
                only: arguments.only.clone(),
                schema: SCHEMA.to_owned(),
                tool: record::tool(),
                started: record::now(),
                trial_s: arguments.trial,
                rate_hz: request.rates_hz[0],
                kernel: request.kernels[0].clone(),
                seed,
                ..Cures::default()
            },
            interrupt,
            arguments: record,
            request,
            subject: Subject {
                root: "/".into(),
                cpus: Vec::new(),
                others: Vec::new(),
                only: arguments.only.clone(),
                interrupts: BTreeMap::new(),
            },
            place,
            journal,
            keep: arguments.keep,
            kept: Lines::new(keep),
            random: Random::new(seed),
            begun: Instant::now(),
            budget_s: arguments.budget,
            pair_s: None,
        };
        if let Some(Cpus::All) = arguments.cpus {
            session.request.cpus = bandscope_probe::pin::allowed()?;
        }
        session.look()?;
        session.request.start_delay_s = WARM_UP_S;
        session.request.length = bandscope_sampler::machine::Length::Duration(arguments.trial);
        session.plan(arguments);
        Ok(session)
    }

    /// Measures the machine as it was found.
    fn look(&mut self) -> Result<()> {
        let path = self.place.path().join("before.bandscope");
        // An isolated CPU is not among those that this process was given.
        let online = bandscope_probe::pin::reachable()?;
        let before = Arrivals::read(&online);
        let Some(report) = self.measured(&path)? else {
            return Ok(());
        };
        let manifest = report.recording.as_ref();
        let manifest = manifest.context("a recording has a manifest")?;
        // Counters of the kernel alone tell what gaps tell, and make each switch of tasks 3 us longer: what is cured would seem larger.
        if !manifest.has_cycles() {
            self.request.counters = Choice::Off;
        }
        // Trials ask how much is lost, and not who is behind it.
        self.request.watch = Watch::Measured;
        // What is written meanwhile on another CPU slows workers and tasks of this one: a part of what is cured would be this program's own.
        let cpu_s = self.cures.trial_s * manifest.settings.cpus.len() as f64;
        self.request.buffered = cpu_s <= MOST_BUFFERED_S;
        let machine = &manifest.machine;
        self.cures.cpus.clone_from(&manifest.settings.cpus);
        let others = machine.housekeeping(&self.cures.cpus).unwrap_or_default();
        self.cures.others = cpu_list::parse(&others);
        self.cures.machine = machine.clone();
        self.cures.events = manifest.events.state == EventsState::On;
        self.cures.before = study::figures(&report, &self.cures.cpus);
        self.subject.cpus.clone_from(&self.cures.cpus);
        self.subject.interrupts = Arrivals::read(&online).came_since(&before);
        self.subject.others.clone_from(&self.cures.others);
        if !manifest.settings.chosen.is_empty() {
            output::note(format_args!(
                "bandscope: measures {}: {}",
                cpu_list::named(&self.cures.cpus),
                manifest.settings.chosen
            ));
        }
        Ok(())
    }

    /// Measures into a recording at `path`; `None` if a signal came before a quantum ended.
    pub(super) fn measured(&mut self, path: &Path) -> Result<Option<Report>> {
        let places = record::Places {
            all: Some(path),
            caught: None,
        };
        let (arguments, request) = (&self.arguments, &mut self.request);
        let passed = passing::report(arguments, request, places, self.interrupt, |_| Ok(()))?;
        Ok(passed.map(|passed| passed.report))
    }

    /// The cures that are to be tried, those first whose lines cost most.
    fn plan(&mut self, arguments: &Arguments) {
        let of_all = CURES
            .iter()
            .filter(|cure| match arguments.names.is_empty() {
                true => !cure.on_demand,
                false => arguments.names.iter().any(|named| named.name == cure.name),
            });
        let only = arguments.only.as_deref();
        let planned = of_all.map(|cure| {
            let plan = cure.first_plan(&self.subject);
            let actions = plan.as_deref().unwrap_or_default();
            let nothing = actions
                .is_empty()
                .then(|| "all is as it wants it already".to_owned());
            Cure {
                name: cure.name.to_owned(),
                what: cure.what(only),
                acts_on: cure.acts_on(only),
                changes: actions.iter().map(Action::change).collect(),
                missing: plan.as_ref().err().map(ToString::to_string).or(nothing),
                ..Cure::default()
            }
        });
        let mut planned: Vec<Cure> = planned.collect();
        let before = &self.cures.before;
        planned.sort_by(|a, b| {
            let cost = |cure: &Cure| study::own_lines(before, &cure.acts_on);
            cost(b).total_cmp(&cost(a))
        });
        self.cures.cures = planned;
    }

    /// Why none of the trials says anything, if so: what a pair takes is known only from pilots, and what the machine refuses only from trying.
    pub(super) fn why_nothing(&self) -> Option<String> {
        if !self.can_try() {
            return Some(NONE_POSSIBLE.to_owned());
        }
        let tried = (self.cures.cures.iter()).filter(|cure| cure.missing.is_none());
        let is_judged = !tried
            .map(|cure| cure.out_of_time)
            .reduce(|all, one| all && one)?;
        let pair_s = self.pair_s.filter(|_| !is_judged)?;
        let duration = |s: f64| format::duration(s * 1e9);
        Some(format!(
            "--budget {}: no cure was judged; a pair of trials takes {} now, and a cure needs {}: {} or more",
            duration(self.budget_s),
            duration(pair_s),
            study::fewest(PILOTS),
            duration((study::fewest(PILOTS) * pair_s).ceil())
        ))
    }

    /// Whether there is anything to try.
    pub(super) fn can_try(&self) -> bool {
        self.cures.cures.iter().any(|cure| cure.missing.is_none())
    }

    fn left_s(&self) -> f64 {
        self.budget_s - self.begun.elapsed().as_secs_f64()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.interrupt.signal().is_some()
    }

    /// Tries all of them, then those together that help.
    ///
    /// # Errors
    /// If something else fails than a cure. Everything is put back then too.
    pub(super) fn run(&mut self) -> Result<()> {
        // Who agrees may have thought for long.
        self.begun = Instant::now();
        self.kept.append(&appended::head(&self.cures));
        let _progress = Progress::spinner("trying, and putting back");
        let possible = |cure: &&Cure| cure.missing.is_none();
        let number = self.cures.cures.iter().filter(possible).count();
        let mut done = 0;
        for index in 0..self.cures.cures.len() {
            if self.cures.cures[index].missing.is_some() {
                continue;
            }
            let names = [self.cures.cures[index].name.clone()];
            let fit = self.affordable(number);
            // One more for all together.
            let left = fit.saturating_sub(done).max(1) + usize::from(fit > 1);
            let share = self.left_s() / left as f64;
            let mut cure = std::mem::take(&mut self.cures.cures[index]);
            let tried = self.pairs(index, &mut cure, &names, number, share);
            self.cures.cures[index] = cure;
            tried?;
            done += 1;
        }
        self.together()
    }

    /// How many of these cures there is time for; all, until the first pilots tell how long a pair takes.
    fn affordable(&self, number: usize) -> usize {
        let fit = |pair_s| study::affordable(number, PILOTS, self.budget_s / pair_s);
        self.pair_s.map_or(number, fit)
    }

    /// Those that help, in one.
    fn together(&mut self) -> Result<()> {
        let mut names = study::helps(&study::judge(&self.cures));
        if self.keep {
            names.retain(|name| self.outlives(name));
        }
        if names.len() < 2 || self.is_ended() {
            return Ok(());
        }
        let parts = (self.cures.cures.iter()).filter(|cure| names.contains(&cure.name));
        let mut all = Cure {
            name: TOGETHER.to_owned(),
            what: match self.keep {
                true => format!("all that help and can be kept: {}", names.join(", ")),
                false => format!("all that help: {}", names.join(", ")),
            },
            ..Cure::default()
        };
        for part in parts {
            all.acts_on.extend(part.acts_on.iter().cloned());
            all.changes.extend(part.changes.iter().cloned());
        }
        all.acts_on.sort();
        all.acts_on.dedup();
        let share = self.left_s();
        // On trials of its own, and so tested alone.
        let tried = self.pairs(self.cures.cures.len(), &mut all, &names, 1, share);
        self.cures.cures.push(all);
        tried
    }

    /// The pairs of the cure at `place`: pilots, then as many as they ask for and `share_s` allows.
    fn pairs(
        &mut self,
        place: usize,
        cure: &mut Cure,
        names: &[String],
        number: usize,
        share_s: f64,
    ) -> Result<()> {
        let least = |session: &Self| PILOTS + study::least(session.affordable(number));
        let is_late = |pair_s| self.left_s() < least(self) as f64 * pair_s;
        if self.pair_s.is_some_and(is_late) || self.is_ended() {
            self.out_of_time(place, cure);
            return Ok(());
        }
        let begun = Instant::now();
        let mut wanted = PILOTS;
        // Trials that became slower end at a time that does not look at what they found.
        let is_over = |session: &Self| session.left_s() < -OVERTIME * session.budget_s;
        while cure.pairs.len() < wanted && !self.is_ended() && !is_over(self) {
            let pilot = cure.pairs.len() < PILOTS;
            let written = cure.pairs.len();
            let pair = self.pair(cure, names, pilot)?;
            let is_over = pair.is_none();
            cure.pairs.extend(pair);
            self.kept.append(&appended::line(place, cure, written));
            if is_over {
                break;
            }
            if cure.pairs.len() == PILOTS && wanted == PILOTS {
                let spent = begun.elapsed().as_secs_f64();
                let pair_s = spent / PILOTS as f64;
                self.pair_s = Some(pair_s);
                // The first cures get what they need: trials that can tell nothing are of no use to the last ones.
                let all = share_s
                    .max(least(self) as f64 * pair_s)
                    .min(self.left_s() + spent);
                // A little less than a whole pair is one.
                let most = ((all - spent) / pair_s + 0.5).max(0.0) as usize;
                let fit = self.affordable(number);
                match study::pairs(&cure.pairs, &cure.acts_on, fit, most) {
                    Some(pairs) => wanted += pairs,
                    None => self.out_of_time(place, cure),
                }
            }
        }
        let lacks = is_over(self) && !self.is_ended() && cure.pairs.len() < least(self);
        if lacks && cure.missing.is_none() && !cure.out_of_time {
            let each_s = begun.elapsed().as_secs_f64() / cure.pairs.len().max(1) as f64;
            self.pair_s.get_or_insert(each_s);
            self.out_of_time(place, cure);
        }
        Ok(())
    }

    /// Notes that there is no time for the pairs that count.
    fn out_of_time(&mut self, place: usize, cure: &mut Cure) {
        cure.out_of_time = true;
        (self.kept).append(&appended::line(place, cure, cure.pairs.len()));
    }

    /// One pair; `None` if the cure could not be put into force, or a signal came: then no other follows.
    fn pair(&mut self, cure: &mut Cure, names: &[String], pilot: bool) -> Result<Option<Pair>> {
        let with_first = self.random.below(2) == 1;
        let at_s = self.begun.elapsed().as_secs_f64();
        let mut figures = [None, None];
        for with in [with_first, !with_first] {
            figures[usize::from(with)] = match with {
                true => self.trial_with(cure, names)?,
                false => self.trial(false)?,
            };
            if self.is_ended() || figures[usize::from(with)].is_none() {
                return Ok(None);
            }
        }
        let [Some(without), Some(with)] = figures else {
            return Ok(None);
        };
        Ok(Some(Pair {
            pilot,
            with_first,
            at_s,
            without,
            with,
        }))
    }
}
