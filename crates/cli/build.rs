//! Tells the program what it was built from, for `bandscope --version --verbose`.

use std::process::Command;

fn main() {
    let commit = git(&[
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]);
    let variables = [
        ("COMMIT", commit.unwrap_or_else(|| "unknown".into())),
        ("TARGET", from_cargo("TARGET")),
        ("PROFILE", from_cargo("PROFILE")),
        ("OPT_LEVEL", from_cargo("OPT_LEVEL")),
    ];
    for (name, value) in variables {
        println!("cargo::rustc-env=BANDSCOPE_BUILD_{name}={value}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    // Written at each commit and each checkout.
    if let Some(path) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn from_cargo(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| "unknown".into())
}

/// What git prints; nothing outside a checkout, or without git.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
