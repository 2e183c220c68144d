//! What stands before everything else: the verdict in one sentence, and what to know before believing it.

pub mod verdict;
pub mod warnings;
