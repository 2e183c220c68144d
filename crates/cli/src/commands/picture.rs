//! Which picture `bandscope report` draws: views, a stretch of time, size and colours.

use crate::values::{self, Wrong};
use anyhow::{Result, bail};
use bandscope_view::{Format, Options, Theme, View};
use clap::{Args, ValueEnum};

/// Options of pictures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pictures (png, svg)")]
pub struct Picture {
    /// Draw only: series, density, histogram, gaps, spectrum, fold or fold:PERIOD (as in fold:1ms, fold:250Hz; without, the period of
    /// what was found)
    #[arg(long = "view", value_name = "VIEW[,VIEW]", value_delimiter = ',', value_parser = view)]
    views: Vec<View>,
    /// From this time on, since the start [default: the start]
    #[arg(long, value_name = "T", value_parser = values::duration, allow_negative_numbers = true)]
    from: Option<f64>,
    /// Up to this time [default: the end]
    #[arg(long, value_name = "T", value_parser = values::positive_duration, allow_negative_numbers = true)]
    to: Option<f64>,
    #[command(flatten)]
    looks: Looks,
}

/// How any picture looks.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Pictures (png, svg)")]
pub struct Looks {
    /// Height of each panel in points [default: by their number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(60..=4000))]
    height: Option<u16>,
    /// On white paper, or for a dark screen
    #[arg(long, value_enum, default_value_t = Colours::Light)]
    theme: Colours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colours {
    Light,
    Dark,
}

impl Picture {
    /// Refuses what is of no use together.
    ///
    /// # Errors
    /// If the format is no picture, the log of a whole recording is to be held against a part of it, or the times are no stretch.
    pub fn check(&self, format: &dyn Format, truth: bool) -> Result<()> {
        let plain = self.views.is_empty() && self.window_s().is_none() && self.looks.are_usual();
        if !plain && !format.is_picture() {
            bail!(
                "--view, --from, --to, --height and --theme go with --format png or svg, found {}",
                format.name()
            );
        }
        let Some((from, to)) = self.window_s() else {
            return Ok(());
        };
        if truth {
            bail!("--truth compares a whole recording with a log; omit --from and --to");
        }
        if from >= to {
            bail!("--from {from} s, --to {to} s: expected a time and a later one");
        }
        Ok(())
    }

    /// The stretch in seconds, where it is not everything.
    pub fn window_s(&self) -> Option<(f64, f64)> {
        (self.from.is_some() || self.to.is_some())
            .then(|| (self.from.unwrap_or(0.0), self.to.unwrap_or(f64::INFINITY)))
    }

    /// Says how to draw.
    pub fn apply(&self, options: &mut Options) {
        options.views.clone_from(&self.views);
        self.looks.apply(options);
    }
}

impl Looks {
    /// Whether nothing is asked for.
    pub fn are_usual(&self) -> bool {
        self.height.is_none() && self.theme == Colours::Light
    }

    /// Says how to draw.
    pub fn apply(&self, options: &mut Options) {
        options.panel_height = self.height.map(f64::from);
        options.theme = match self.theme {
            Colours::Light => Theme::Light,
            Colours::Dark => Theme::Dark,
        };
    }
}

/// A view by its name.
fn view(text: &str) -> Result<View, Wrong> {
    let (name, period) = match text.split_once(':') {
        Some((name, period)) => (name, Some(period)),
        None => (text, None),
    };
    let view = match name {
        "series" => View::Series,
        "density" => View::Density,
        "histogram" => View::Histogram,
        "gaps" => View::Gaps,
        "spectrum" => View::Spectrum,
        "fold" => return Ok(View::Fold(period.map(seconds).transpose()?)),
        _ => return Err(Wrong::View(text.to_owned())),
    };
    match period {
        None => Ok(view),
        Some(_) => Err(Wrong::ViewWithPeriod {
            found: text.to_owned(),
            name: name.to_owned(),
        }),
    }
}

/// A period, as a duration or by its frequency.
fn seconds(text: &str) -> Result<f64, Wrong> {
    let seconds = match text.ends_with("Hz") {
        true => values::rate(text).map(|hertz| 1.0 / hertz),
        false => values::positive_duration(text),
    };
    seconds
        .ok()
        .filter(|seconds| seconds.is_finite() && *seconds > 0.0)
        .ok_or_else(|| Wrong::Period(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_read_as_people_write_them() {
        assert_eq!(view("gaps"), Ok(View::Gaps));
        assert_eq!(view("fold"), Ok(View::Fold(None)));
        assert_eq!(view("fold:1ms"), Ok(View::Fold(Some(1e-3))));
        assert_eq!(view("fold:250Hz"), Ok(View::Fold(Some(4e-3))));
        for wrong in [
            "",
            "foo",
            "gaps:1ms",
            "fold:",
            "fold:0",
            "fold:-1ms",
            "fold:nan",
            "fold:0Hz",
            "fold:inf",
            "fold:1ms:2",
        ] {
            let error = view(wrong).unwrap_err().to_string();
            assert!(
                error.contains("expected") && !error.contains('\n'),
                "{error}"
            );
        }
    }
}
