//! What a reader must know before it believes an input, and what to do about it.

use std::fmt;

/// A warning about an input that can be read all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadWarning {
    /// Stable name of the kind of warning, as in `unfinished`.
    pub kind: &'static str,
    /// One sentence: which input, and what is the matter. Text from files in it is escaped.
    pub message: String,
    /// One sentence: what to do.
    pub advice: String,
}

impl fmt::Display for ReadWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.advice)
    }
}
