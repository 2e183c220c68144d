//! What every detector must know about the series it looks at, resolved once from the manifest.
//!
//! Everything inside the analysis is kept in ticks; [`Context`] turns ticks into nanoseconds and seconds when
//! the report is written. Values that a damaged or imported manifest lacks are replaced here, so that no
//! detector divides by zero.

use bandscope_recording::manifest::{Kernel, Manifest};
use bandscope_recording::source::Series;

/// The frame of one series.
#[derive(Clone, Debug)]
pub struct Context {
    /// Ticks per nanosecond: positive and finite.
    pub ticks_per_ns: f64,
    /// Nominal length of a quantum in ticks: positive and finite.
    pub quantum_ticks: f64,
    /// Whether gaps were recorded; if not, losses are inferred.
    pub gaps_known: bool,
    /// Whether the end of a quantum is the end of a unit; if not, a count resolves its pace to 1/count only.
    pub ends_known: bool,
    /// Self-test and thresholds of the work kernel, where the manifest has them.
    pub kernel: Option<Kernel>,
    /// Nominal rate in hertz, as it was asked for to the last digit.
    pub rate_hz: f64,
    /// Timer interrupts per second of a busy CPU, as the kernel has it (HZ).
    pub tick_hz: Option<f64>,
    /// Bound of the relative error of the clock in parts per million.
    pub clock_error_ppm: Option<f64>,
    /// From which tick on speculative store bypass was allowed to the measuring thread, or was not; in order.
    pub store_bypass: Vec<(u64, bool)>,
}

impl Context {
    /// The frame of `series` in a recording with this manifest.
    pub fn new(manifest: &Manifest, series: &Series) -> Context {
        let positive = |value: f64, otherwise: f64| {
            if value.is_finite() && value > 0.0 {
                value
            } else {
                otherwise
            }
        };
        let ticks_per_ns = positive(manifest.clock.ticks_per_ns, 1.0);
        // FTQ's own default of 10 kHz where a file states no sensible rate.
        let rate_hz = positive(series.rate_hz, 1e4);
        Context {
            ticks_per_ns,
            quantum_ticks: ticks_per_ns * 1e9 / rate_hz,
            rate_hz,
            gaps_known: series.gaps_known,
            ends_known: series.ends_known,
            kernel: manifest.kernel(&series.kernel).cloned(),
            tick_hz: manifest
                .machine
                .tick_hz
                .filter(|hz| (1.0..=1e4).contains(hz)),
            clock_error_ppm: manifest
                .clock
                .error_ppm
                .filter(|error| error.is_finite() && *error >= 0.0),
            store_bypass: (manifest.store_bypass.iter())
                .filter(|set| series.cpu == Some(set.cpu))
                .map(|set| (set.ticks, set.allowed))
                .collect(),
        }
    }

    /// Nanoseconds in `ticks`.
    pub fn ns(&self, ticks: f64) -> f64 {
        ticks / self.ticks_per_ns
    }

    /// Seconds in `ticks`.
    pub fn seconds(&self, ticks: f64) -> f64 {
        ticks / self.ticks_per_ns / 1e9
    }

    /// Ticks in `seconds`.
    pub fn ticks(&self, seconds: f64) -> f64 {
        seconds * 1e9 * self.ticks_per_ns
    }

    /// The self-test's best pace in ticks per unit, where there is a usable one.
    pub fn self_test(&self) -> Option<f64> {
        self.kernel
            .as_ref()
            .and_then(|kernel| kernel.best_ticks_per_unit)
            .filter(|pace| pace.is_finite() && *pace > 0.0)
    }

    /// What each gap took from the units before it, in ticks; 0 where it was not measured. What is measured with one gap cannot exceed it.
    pub fn read_ahead_ticks(&self) -> f64 {
        let kernel = self.kernel.as_ref();
        let ticks = kernel.and_then(|kernel| {
            let threshold = kernel.gap_threshold_ticks as f64;
            Some(kernel.read_ahead_ticks?.min(threshold))
        });
        ticks
            .filter(|ticks| ticks.is_finite() && *ticks > 0.0)
            .unwrap_or(0.0)
    }

    /// The cost of storing a quantum, in ticks per quantum; 0 where it was not measured.
    pub fn boundary_ticks(&self) -> f64 {
        self.kernel
            .as_ref()
            .and_then(|kernel| kernel.boundary_ticks)
            .filter(|ticks| ticks.is_finite() && *ticks > 0.0)
            .unwrap_or(0.0)
    }

    /// Of CPU 1 at 10 kHz, for tests.
    #[cfg(test)]
    pub fn of_10_khz(manifest: &Manifest) -> Context {
        let series = Series {
            cpu: Some(1),
            rate_hz: 1e4,
            kernel: String::new(),
            gaps_known: true,
            ends_known: true,
            origin: String::new(),
        };
        Context::new(manifest, &series)
    }
}
