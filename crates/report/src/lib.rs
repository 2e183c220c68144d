//! The contract `bandscope.report/1`, documented in `docs/report.md` and only ever extended.
//!
//! `analysis` fills these types, `view` draws them, and `report --format json` writes them as they are. Times are in seconds, frequencies
//! in hertz, parts of the ledger in whole nanoseconds. A figure that is not known is `None`, which JSON writes as `null` or leaves out.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod account;
mod cause;
mod closed;
mod cpu;
pub mod evidence;
mod finding;
pub mod format;
mod gaps;
mod kind;
mod ledger;
mod limits;
mod moment;
mod pace;
pub mod remedies;
mod report;
#[cfg(feature = "schema")]
pub mod schema;
mod series;
mod signal;
mod truth;
mod warning;

pub use cause::Cause;
pub use cpu::{Cpu, Place, cpu_name};
pub use evidence::Evidence;
pub use finding::{Certainty, Finding};
pub use gaps::{
    Chain, GapBin, GapCause, Gaps, LongGap, Percentile, SenderTime, TaskTime, without_number,
};
pub use kind::Kind;
pub use ledger::{Basis, Ledger, PaceLoss};
pub use limits::{BandLimit, Limits, LossLimit};
pub use moment::{Elsewhere, Moment, Noted, Part, Span, Track, Unusual, Usual};
pub use pace::{Band, BestPace, Nature, PaceOrigin};
pub use report::{Report, SCHEMA};
pub use series::{Availability, Clock, Fraction, Period, Series, Tripwire};
pub use signal::{CauseSource, Origin, SeenIn, Signal};
pub use truth::{Held, MatchedBy, OutsideGaps, QuantaOfLog, Together, Truth};
pub use warning::{Warning, WarningKind};
