//! Which detectors look at a series, and in which order: the two lists of the analysis.
//!
//! A new detector is one file and one line of [`First`] or [`Second`]. The first pass finds what the second needs to know beforehand
//! ([`survey`]): the best pace, the bands, the extent. A thread takes whole detectors, and each sees the quanta in order, so no detector is ever
//! cut in parts and nothing depends on how many threads there are.

macro_rules! pass {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $detector:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $($(#[$doc])* pub $field: $detector,)*
        }

        impl Detector for $name {
            fn push(&mut self, chunk: &Derived<'_>) {
                rayon::scope(|scope| {
                    $(scope.spawn(|_| self.$field.push(chunk));)*
                });
            }
        }
    };
}

mod first;
pub(crate) mod results;
pub(crate) mod searches;
mod second;
pub mod survey;

pub use first::First;
pub use second::Second;
