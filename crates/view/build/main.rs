//! Makes what the program carries: outlines of the font, and the script of each page as one piece.

mod glyphs;
mod script;

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed={}", script::DIRECTORY);
    let directory = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: String| {
        std::fs::write(Path::new(&directory).join(name), text).expect("OUT_DIR is writable");
    };
    write("glyphs.rs", glyphs::text());
    for (name, text) in script::joined() {
        write(name, text);
    }
}
