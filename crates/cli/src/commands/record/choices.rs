//! Values of options, and what they ask of a machine.

use bandscope_sampler::machine::{Choice, StoreBypass};
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockRead {
    Plain,
    Ordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    On,
    Off,
}

impl When {
    pub fn choice(self) -> Choice {
        match self {
            When::Auto => Choice::Auto,
            When::On => Choice::On,
            When::Off => Choice::Off,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreBypassSetting {
    /// Unchanged.
    Leave,
    /// Allowed.
    On,
    /// Forbidden.
    Off,
    /// Allowed and forbidden in turn, segment by segment.
    Alternate,
}

impl StoreBypassSetting {
    pub fn setting(self) -> StoreBypass {
        match self {
            StoreBypassSetting::Leave => StoreBypass::Leave,
            StoreBypassSetting::On => StoreBypass::On,
            StoreBypassSetting::Off => StoreBypass::Off,
            StoreBypassSetting::Alternate => StoreBypass::Alternate,
        }
    }
}
