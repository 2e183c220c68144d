//! Moments that a flight recorder caught.

use crate::{Cause, Chain};
use serde::Serialize;

/// A gap that met a condition, or a stretch of which gaps left too little.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moment {
    /// CPU that was away; `null` where nobody knows.
    pub cpu: Option<u32>,
    /// Since the start of the recording, by which `--from` and `--to` of `report` and `export` go.
    pub at_s: f64,
    /// The same on the wall clock, in seconds since 1970; `null` where nobody knows.
    pub unix_s: Option<f64>,
    /// Length of the gap, or of the stretch.
    pub length_ns: f64,
    /// What was asked for took of it: the gap, gaps of a stretch, or, as in `gap:task:make > 1 ms`, some causes of a gap.
    pub ns: f64,
    /// Whole time of those: more than `ns` where a gap began before the stretch.
    pub gaps_ns: f64,
    /// The condition that it met, as the user wrote it.
    pub condition: String,
    /// What the gap was, the longest part first, at most 8. Before all others stands, of causes that were asked for, the longest.
    pub causes: Vec<Part>,
    /// Who is behind its parts, as far as that is known: first who is behind the first of `causes`, then the longest, at most 8.
    pub behind: Vec<Chain>,
    /// What each other CPU did meanwhile, as far as that was recorded.
    pub others: Vec<Elsewhere>,
    /// Tracepoints that the user asked for, from a millisecond before it to its end, on any CPU and in order of time, at most 32.
    pub events: Vec<Noted>,
    /// What ran in it for a tenth of it or more, and in at most a tenth of the others in this list that have the same main cause: of `causes` and of what
    /// ran on `others`. At most 8; empty where fewer than ten others have.
    pub unusual: Vec<Unusual>,
    /// What ran around it on each CPU where anything did, its own included, at most 16. Empty where no kernel events were recorded.
    pub timeline: Vec<Track>,
    /// How long before its begin and after its end the timeline reaches; 0 where there is none.
    pub around_ns: u64,
    /// How many gaps of the same main cause were kept, and how long half of them were at most; `null` of a stretch, and of causes of a gap.
    pub usual: Option<Usual>,
}

/// A part of a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// What it is booked to.
    pub cause: Cause,
    /// Its time.
    pub ns: f64,
}

/// What a CPU did while another one was away.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Elsewhere {
    /// The CPU.
    pub cpu: u32,
    /// What ran there, the longest first, at most 8. The rest of the time it was idle, or, where it is measured, measuring.
    pub ran: Vec<Part>,
}

/// A tracepoint that was passed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noted {
    /// On which CPU.
    pub cpu: u32,
    /// Since the moment began; negative before.
    pub at_ns: f64,
    /// Its name and fields. Untrusted, control characters escaped.
    pub text: String,
}

/// Gaps of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usual {
    /// How many.
    pub number: u64,
    /// Median of their lengths.
    pub median_ns: f64,
}

/// What ran in a moment, and hardly in others like it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unusual {
    /// Its cause, a kernel worker without its number. Untrusted.
    pub cause: String,
    /// Where it ran.
    pub cpu: u32,
    /// Its time in the moment.
    pub ns: f64,
    /// Others in which it was among the 8 longest, on the CPU that was away or, if this is another one, on any other.
    pub seen_in: u64,
    /// How many others there are.
    pub others: u64,
}

/// What ran on one CPU around a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Track {
    /// The CPU.
    pub cpu: u32,
    /// The longest that ran there, in order of time, at most 32. Between them it was idle, or measuring, or one ran that was left out.
    pub spans: Vec<Span>,
    /// How many shorter ones were left out.
    pub left_out: u64,
}

/// What ran from one time to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// What it was.
    pub cause: Cause,
    /// When it began, since the moment began; negative before. What began before the timeline begins with it.
    pub at_ns: i64,
    /// Its length within the timeline, with what interrupted it.
    pub ns: u64,
    /// How many others it interrupted.
    pub depth: u32,
}
