//! What a recording would have shown, had it been there.

use serde::Serialize;

/// What would have been seen, had it been there: found by adding it to what was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The closest slower band; `null` where none of any distance would have been told apart.
    pub band: Option<BandLimit>,
    /// The smallest periodic losses, at the frequencies of usual timer ticks that the series can show.
    pub losses: Vec<LossLimit>,
}

/// A periodic loss that would just have been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossLimit {
    /// How often.
    pub frequency_hz: f64,
    /// How much each time.
    pub ns_per_event: f64,
}

/// A second band that would just have been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BandLimit {
    /// Its pace over that of the main band, less 1.
    pub distance: f64,
    /// The time that it would have to last altogether.
    pub lasting_s: f64,
}
