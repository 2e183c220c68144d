//! Fourier transforms of real single-precision numbers, of any length (realfft over RustFFT).
//!
//! RustFFT is generic over its numbers: its butterflies for every instruction set are compiled in the crate that names the type, which is this
//! one. Inside `analysis` that was three quarters of its compile time, in every build.

pub use realfft::RealToComplex;
pub use realfft::num_complex::Complex;
use std::sync::Arc;

/// Makes plans, and keeps what they share.
pub struct Planner(realfft::RealFftPlanner<f32>);

impl Default for Planner {
    fn default() -> Planner {
        Planner::new()
    }
}

impl Planner {
    /// A planner that has planned nothing yet.
    pub fn new() -> Planner {
        Planner(realfft::RealFftPlanner::new())
    }

    /// A plan for transforms of `length` real numbers to `length / 2 + 1` complex ones, not normalised.
    pub fn plan(&mut self, length: usize) -> Arc<dyn RealToComplex<f32>> {
        self.0.plan_fft_forward(length)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_cosine_is_one_line() {
        let plan = super::Planner::new().plan(64);
        let mut input: Vec<f32> = (0..64)
            .map(|k| (std::f32::consts::TAU * 5.0 * k as f32 / 64.0).cos())
            .collect();
        let mut output = plan.make_output_vec();
        plan.process(&mut input, &mut output).unwrap();
        for (line, value) in output.iter().enumerate() {
            let expected = if line == 5 { 32.0 } else { 0.0 };
            assert!((value.norm() - expected).abs() < 1e-3, "{line}: {value}");
        }
    }
}
