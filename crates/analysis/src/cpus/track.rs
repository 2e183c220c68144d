//! What is kept of each series for questions to several CPUs, and the series of one CPU joined in order of time.

use crate::gaps::statistics::{Event, Statistics};
use crate::pace::edges::Edge;
use crate::series::context::Context;
use bandscope_report::{Band, Cause, Series};

/// Gaps and edges of a series that are kept: 40 s of a busy machine's 400 gaps a second, 0.6 MB together.
const GAPS: usize = 1 << 14;
const EDGES: usize = 1 << 13;
/// Gaps of all CPUs together: what has to be compared for all pairs grows with their number. Each keeps a few thousand.
const ALL_GAPS: usize = 1 << 18;
const FEWEST_GAPS: usize = 1 << 8;

/// A time away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Away {
    /// Ticks since the recording's origin.
    pub(crate) start: u64,
    /// Its length, ticks.
    pub(crate) duration: u64,
    /// Its main cause, among the names of its [`Track`] or [`Lane`].
    pub(crate) cause: u32,
}

impl Away {
    /// First tick after it.
    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// A change of pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// Ticks since the recording's origin.
    pub(crate) at: u64,
    /// The slower pace over the faster one, in time per unit.
    pub(crate) ratio: f32,
}

/// What is kept of one series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    pub(super) gaps: Vec<Away>,
    pub(super) names: Vec<Cause>,
    pub(super) steps: Vec<Step>,
    pub(super) segments: Vec<(u64, u64)>,
    pub(super) ticks_per_ns: f64,
    pub(super) gaps_known: bool,
    /// First ticks at which a gap, or an edge, may be missing.
    pub(super) gaps_until: u64,
    pub(super) steps_until: u64,
}

impl Track {
    /// Of a series with these gaps, edges, segments and bands.
    pub(crate) fn new(
        gaps: &Statistics,
        edges: &[Edge],
        segments: &[(u64, u64)],
        bands: &[Band],
        context: &Context,
    ) -> Track {
        let pace = |band: u8| {
            let band = bands.get(usize::from(band));
            band.map_or(1.0, |band| band.ns_per_unit)
        };
        let step = |edge: &Edge| {
            let (from, to) = (pace(edge.from), pace(edge.to));
            Step {
                at: edge.ticks(0).max(0.0) as u64,
                ratio: (from.max(to) / from.min(to)) as f32,
            }
        };
        let away = |event: &Event| Away {
            start: event.start,
            duration: event.duration,
            cause: event.cause,
        };
        let until = |more: Option<u64>| more.unwrap_or(u64::MAX);
        Track {
            gaps: gaps.events.iter().take(GAPS).map(away).collect(),
            names: gaps.names().to_vec(),
            steps: edges.iter().take(EDGES).map(step).collect(),
            segments: segments.to_vec(),
            ticks_per_ns: context.ticks_per_ns,
            gaps_known: context.gaps_known,
            gaps_until: until(gaps.events.get(GAPS).map(|event| event.start)),
            steps_until: until(edges.get(EDGES).map(|edge| edge.quantum)),
        }
    }
}

/// One CPU of a recording: all of its series, which ran by turns, in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    /// The CPU, by the number that the kernel gives it.
    pub(crate) cpu: u32,
    /// Indices of its series in the report.
    pub(crate) series: Vec<usize>,
    /// Gaps, in order of time.
    pub(crate) gaps: Vec<Away>,
    /// Names of their causes.
    pub(crate) names: Vec<Cause>,
    /// Changes of pace, in order of time.
    pub(crate) steps: Vec<Step>,
    /// When it was measured, in order of time.
    pub(crate) segments: Vec<(u64, u64)>,
    /// Ticks per nanosecond.
    pub(crate) ticks_per_ns: f64,
    /// Whether gaps were recorded.
    pub(crate) gaps_known: bool,
    /// First ticks at which a gap, or a change of pace, may be missing.
    pub(crate) gaps_until: u64,
    /// See `gaps_until`.
    pub(crate) steps_until: u64,
}

/// The CPUs of each recording, in order of their numbers. Series whose CPU is not known are left out.
pub(super) fn recordings(series: &[Series], tracks: Vec<Track>) -> Vec<Vec<Lane>> {
    let mut recordings: Vec<(&str, Vec<Lane>)> = Vec::new();
    for (index, (one, track)) in series.iter().zip(tracks).enumerate() {
        let Some(cpu) = one.cpu else {
            continue;
        };
        let place = recordings.iter().position(|known| known.0 == one.origin);
        let place = place.unwrap_or_else(|| {
            recordings.push((&one.origin, Vec::new()));
            recordings.len() - 1
        });
        let lanes = &mut recordings[place].1;
        match lanes.iter_mut().find(|lane| lane.cpu == cpu) {
            Some(lane) => lane.add(index, track),
            None => {
                let mut lane = Lane::empty(cpu, &track);
                lane.add(index, track);
                lanes.push(lane);
            }
        }
    }
    for (_, lanes) in &mut recordings {
        lanes.sort_by_key(|lane| lane.cpu);
        let most = (ALL_GAPS / lanes.len().max(1)).max(FEWEST_GAPS);
        lanes.iter_mut().for_each(|lane| lane.settle(most));
        // To one end, so that what several CPUs have in common, and what each has, is of one time.
        let known = lanes.iter().filter(|lane| lane.gaps_known);
        let until = known.map(|lane| lane.gaps_until).min();
        for lane in lanes.iter_mut() {
            lane.cut_gaps(until.unwrap_or(u64::MAX));
        }
    }
    recordings.into_iter().map(|(_, lanes)| lanes).collect()
}

impl Lane {
    fn empty(cpu: u32, track: &Track) -> Lane {
        Lane {
            cpu,
            ticks_per_ns: track.ticks_per_ns,
            gaps_known: true,
            gaps_until: u64::MAX,
            steps_until: u64::MAX,
            ..Lane::default()
        }
    }

    fn add(&mut self, index: usize, track: Track) {
        self.series.push(index);
        let mut numbers = Vec::with_capacity(track.names.len());
        for name in track.names {
            let known = self.names.iter().position(|known| *known == name);
            numbers.push(known.unwrap_or_else(|| {
                self.names.push(name);
                self.names.len() - 1
            }) as u32);
        }
        self.gaps.extend(track.gaps.into_iter().map(|gap| Away {
            cause: numbers.get(gap.cause as usize).copied().unwrap_or(0),
            ..gap
        }));
        self.steps.extend(track.steps);
        self.segments.extend(track.segments);
        self.gaps_known &= track.gaps_known;
        self.gaps_until = self.gaps_until.min(track.gaps_until);
        self.steps_until = self.steps_until.min(track.steps_until);
    }

    /// Puts everything in order of time, and keeps the first `most` gaps.
    fn settle(&mut self, most: usize) {
        self.segments = merged(std::mem::take(&mut self.segments));
        self.gaps.sort_unstable_by_key(|gap| gap.start);
        self.steps.sort_by_key(|step| step.at);
        if let Some(gap) = self.gaps.get(most) {
            self.gaps_until = self.gaps_until.min(gap.start);
        }
        let (gaps, steps) = (self.gaps_until, self.steps_until);
        self.cut_gaps(gaps);
        self.steps.retain(|step| step.at < steps);
    }

    /// Keeps the gaps that begin before `until`.
    fn cut_gaps(&mut self, until: u64) {
        self.gaps_until = self.gaps_until.min(until);
        self.gaps.retain(|gap| gap.start < until);
    }

    /// The cause of a gap.
    pub(crate) fn cause(&self, gap: &Away) -> &Cause {
        self.names
            .get(gap.cause as usize)
            .unwrap_or(&Cause::Unnamed)
    }
}

/// Times in order, those that overlap as one: files from elsewhere may hold such.
fn merged(mut times: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    times.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(times.len());
    for (from, to) in times {
        match merged.last_mut() {
            Some(last) if from < last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The times, in order, that lie in both lists and before `until`.
pub(super) fn common(a: &[(u64, u64)], b: &[(u64, u64)], until: u64) -> Vec<(u64, u64)> {
    let (mut both, mut i, mut j) = (Vec::new(), 0, 0);
    while let (Some(one), Some(other)) = (a.get(i), b.get(j)) {
        let (from, to) = (one.0.max(other.0), one.1.min(other.1).min(until));
        if from < to {
            both.push((from, to));
        }
        if one.1 < other.1 { i += 1 } else { j += 1 }
    }
    both
}

/// Ticks in a list of times.
pub(super) fn length(times: &[(u64, u64)]) -> u64 {
    times.iter().map(|&(from, to)| to - from).sum()
}

/// Which of some instants, in order of time, lie in one of these times, by their number.
pub(super) fn inside<'a>(
    instants: impl Iterator<Item = u64> + 'a,
    times: &'a [(u64, u64)],
) -> impl Iterator<Item = usize> + 'a {
    let mut at = 0;
    instants.enumerate().filter_map(move |(number, instant)| {
        while times.get(at).is_some_and(|time| time.1 <= instant) {
            at += 1;
        }
        let time = times.get(at)?;
        (time.0 <= instant).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_overlap_are_one() {
        let times = vec![(20, 30), (0, 10), (5, 12), (25, 28), (12, 13)];
        assert_eq!(merged(times), [(0, 12), (12, 13), (20, 30)]);
    }

    #[test]
    fn only_what_both_saw_is_common() {
        let (a, b) = ([(0, 10), (20, 30), (40, 50)], [(5, 25), (28, 60)]);
        let both = common(&a, &b, 45);
        assert_eq!(both, [(5, 10), (20, 25), (28, 30), (40, 45)]);
        assert_eq!(length(&both), 17);
        let instants = [4, 5, 9, 10, 22, 29, 44, 45];
        let within: Vec<usize> = inside(instants.into_iter(), &both).collect();
        assert_eq!(within, [1, 2, 4, 5, 6]);
    }

    #[test]
    fn series_of_a_cpu_are_one_and_recordings_stay_apart() {
        let series = |cpu, origin: &str| Series {
            cpu,
            origin: origin.to_owned(),
            ..Series::default()
        };
        let track = |starts: &[u64], cause: Cause| Track {
            gaps: starts
                .iter()
                .map(|&start| Away {
                    start,
                    duration: 1,
                    cause: 0,
                })
                .collect(),
            names: vec![cause],
            gaps_until: u64::MAX,
            steps_until: u64::MAX,
            ..Track::default()
        };
        let lanes = recordings(
            &[
                series(Some(1), "a"),
                series(Some(0), "a"),
                series(Some(1), "a"),
                series(None, "a"),
                series(Some(1), "b"),
            ],
            vec![
                track(&[5, 9], Cause::Tick),
                track(&[1], Cause::Tick),
                track(&[7], Cause::Host),
                track(&[2], Cause::Tick),
                track(&[3], Cause::Tick),
            ],
        );
        assert_eq!(lanes.len(), 2);
        assert_eq!((lanes[0].len(), lanes[1].len()), (2, 1));
        let one = &lanes[0][1];
        assert_eq!((one.cpu, &one.series[..]), (1, &[0, 2][..]));
        let named: Vec<(u64, Cause)> = one
            .gaps
            .iter()
            .map(|gap| (gap.start, one.cause(gap).clone()))
            .collect();
        assert_eq!(
            named,
            [(5, Cause::Tick), (7, Cause::Host), (9, Cause::Tick)]
        );
    }
}
