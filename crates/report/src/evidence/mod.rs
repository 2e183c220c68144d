//! What findings rest on: one file a kind, one struct a way in which it is found.
//!
//! Fields are in the order in which they are written: that of their names. Adding one is a change of the contract (`docs/report.md`); a figure
//! that some findings of a kind lack is an `Option`.

mod alias;
mod alternating_bands;
mod bistable_pace;
mod clock_drift;
mod core_coupling;
mod edge_pairs;
mod frequency_steps;
mod interrupt_helps;
mod interrupted_loop;
mod loop_switching;
mod migration;
mod moving_edges;
mod multimodal_runs;
mod periodic_interference;
mod placement;
mod quantisation;
mod sampling_artefact;
mod smt_neighbour;
mod stolen_time;
mod sub_loop_mixture;
mod synchronous_gaps;
mod throttled;
mod time_away;
mod warm_up;
mod whole;

pub use alias::Alias;
pub use alternating_bands::AlternatingBands;
pub use bistable_pace::{BistablePace, Switch};
pub use clock_drift::{ClockDrift, DriftCause};
pub use core_coupling::{CoreCoupling, FollowedEvent};
pub use edge_pairs::EdgePairs;
pub use frequency_steps::FrequencySteps;
pub use interrupt_helps::{FasterWork, InterruptHelps};
pub use interrupted_loop::InterruptedLoop;
pub use loop_switching::{LoopPaces, LoopSwitching};
pub use migration::Migration;
pub use moving_edges::MovingEdges;
pub use multimodal_runs::{MultimodalRuns, RunMode};
pub use periodic_interference::PeriodicInterference;
pub use placement::Placement;
pub use quantisation::Quantisation;
pub use sampling_artefact::SamplingArtefact;
pub use smt_neighbour::SmtNeighbour;
pub use stolen_time::StolenTime;
pub use sub_loop_mixture::SubLoopMixture;
pub use synchronous_gaps::SynchronousGaps;
pub use throttled::Throttled;
pub use time_away::TimeAway;
pub use warm_up::WarmUp;

use crate::Kind;
use serde::Serialize;

/// An evidence that a finding may rest on.
pub trait OfKind: Into<Evidence> {
    /// The evidence, if it is this one.
    fn of(evidence: &Evidence) -> Option<&Self>;

    /// The same, to be changed.
    fn of_mut(evidence: &mut Evidence) -> Option<&mut Self>;
}

/// Declares [`Evidence`] from the list of the structs that it may be, each with the kinds of findings that rest on it.
macro_rules! evidence {
    ($($name:ident: $($kind:ident),+;)+) => {
        /// What a finding rests on, as its kind has it. Written without the name of the variant, which `kind` says.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(untagged)]
        pub enum Evidence {
            $(#[allow(missing_docs, reason = "its struct says it")] $name($name),)+
        }

        impl Evidence {
            /// The kinds of findings that rest on evidence of this struct.
            pub fn kinds(&self) -> &'static [Kind] {
                match self {
                    $(Evidence::$name(_) => &[$(Kind::$kind),+],)+
                }
            }

            /// For each kind the names of the structs on which findings of it rest.
            #[cfg(feature = "schema")]
            pub(crate) fn of_kinds() -> std::collections::BTreeMap<Kind, Vec<&'static str>> {
                let mut of_kinds = std::collections::BTreeMap::<_, Vec<_>>::new();
                $($(of_kinds.entry(Kind::$kind).or_default().push(stringify!($name));)+)+
                of_kinds
            }
        }

        $(
            impl From<$name> for Evidence {
                fn from(evidence: $name) -> Evidence {
                    Evidence::$name(evidence)
                }
            }

            impl OfKind for $name {
                fn of(evidence: &Evidence) -> Option<&$name> {
                    match evidence {
                        Evidence::$name(evidence) => Some(evidence),
                        _ => None,
                    }
                }

                fn of_mut(evidence: &mut Evidence) -> Option<&mut $name> {
                    match evidence {
                        Evidence::$name(evidence) => Some(evidence),
                        _ => None,
                    }
                }
            }
        )+
    };
}

evidence! {
    Alias: Alias;
    AlternatingBands: AlternatingBands;
    BistablePace: BistablePace;
    ClockDrift: ClockDrift;
    CoreCoupling: CoreCoupling;
    EdgePairs: EdgePairs;
    FasterWork: InterruptHelps;
    FrequencySteps: FrequencySteps;
    InterruptHelps: InterruptHelps;
    InterruptedLoop: InterruptedLoop;
    LoopPaces: BistablePace;
    LoopSwitching: BistablePace, InterruptHelps, InterruptedLoop;
    Migration: Migration;
    MovingEdges: MovingEdges;
    MultimodalRuns: MultimodalRuns;
    PeriodicInterference: PeriodicInterference;
    Placement: Placement;
    Quantisation: Quantisation;
    SamplingArtefact: SamplingArtefact;
    SmtNeighbour: SmtNeighbour;
    StolenTime: StolenTime;
    SubLoopMixture: SubLoopMixture;
    SynchronousGaps: SynchronousGaps;
    Throttled: Throttled;
    TimeAway: TimeAway;
    WarmUp: WarmUp;
}
