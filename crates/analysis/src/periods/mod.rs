//! What is periodic: in the times of gaps, in what quanta lose beyond them, in several rates.

pub mod counted;
pub mod events;
pub mod fold;
pub mod follow;
pub mod gap_trains;
pub mod kept;
pub mod limits;
pub mod origins;
pub mod rates;
pub mod signals;
pub mod spectrum;
pub mod tripwire;
