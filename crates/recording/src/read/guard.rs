//! Panics of the file library as errors.
//!
//! A part that bandscope wrote carries a checksum, which is compared before anything is decoded. A part of
//! another program has none, and the library's decoders take much of what they read for granted: lengths in page
//! headers, bit widths, sizes of dictionaries. In a file that is damaged or made to do harm they panic: changing
//! single bytes of an uncompressed file of 100 rows, as `tests/recording/foreign.rs` does, found a dictionary that was never
//! set, an index out of bounds and, where overflow is checked, a shift by too many bits (parquet 60.1). No user should lose a report of ten good
//! inputs to one bad one, so a panic while bytes are decoded becomes an error that names the file.
//!
//! Only calls into the library are guarded, never what a caller does with the rows: its panics are its own. The
//! process's panic hook still prints its line to standard error, as a library has no business changing it. A
//! program built with `panic = "abort"` ends all the same.

use parquet::errors::ParquetError;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `decode`; a panic in it is an error.
///
/// Whatever `decode` had in its hands may be half changed after an error: it is not to be used again.
pub fn guarded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| {
        Err(ParquetError::General(format!(
            "its decoder gave up: {}",
            told(&*panic)
        )))
    })
}

fn told(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason was given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded(|| Ok(3)).unwrap(), 3);
        let bytes: Vec<u8> = Vec::new();
        let at = std::hint::black_box(7);
        let error = guarded(|| Ok(bytes[at])).unwrap_err().to_string();
        assert!(
            error.contains("its decoder gave up: index out of bounds"),
            "{error}"
        );
        let error = guarded::<()>(|| panic!("why")).unwrap_err().to_string();
        assert!(error.contains("gave up: why"), "{error}");
    }
}
