//! What stands before and after everything else: the verdict in one sentence, what to do, and what to know before believing it.

pub mod caught;
pub mod remedies;
pub mod verdict;
pub mod warnings;
