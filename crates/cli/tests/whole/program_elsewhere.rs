//! `bandscope lab -- COMMAND` where it cannot read instructions: it says so. What it does elsewhere is in program.rs.
#![cfg(not(target_arch = "x86_64"))]

use crate::common;

#[test]
fn it_says_what_it_reads() {
    let directory = tempfile::tempdir().unwrap();
    let error = common::refuse(directory.path(), &["lab", "--", "true"]);
    assert!(
        error.contains("x86-64") && error.contains(std::env::consts::ARCH),
        "{error}"
    );
}
