//! Joins the modules of a page's script, so that building needs no node: a page that is opened from disk may not load modules.
//!
//! It knows as much of JavaScript as the modules use: `import { a, b } from "./module.js";` on a line of its own, and `export ` before a
//! declaration. All modules end up in one scope, so a name is declared once in all of them. Each page's script
//! is written to `$OUT_DIR` under the name of its first module.

use std::collections::BTreeSet;
use std::path::Path;

pub(crate) const DIRECTORY: &str = "src/html/script";
/// The modules that pages begin with: of a report, and of a fleet. What they do not import is in neither.
const FIRST: [&str; 2] = ["main.js", "fleet.js"];

/// By its first module, each page's modules in a scope of their own, each behind those that it imports.
pub(crate) fn joined() -> [(&'static str, String); 2] {
    let scripts = FIRST.map(|first| {
        let mut script = Script::default();
        script.add(first);
        (first, script)
    });
    let on_disk = std::fs::read_dir(DIRECTORY).expect("the modules lie there");
    let unused: Vec<String> = on_disk
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| {
            name.ends_with(".js") && !scripts.iter().any(|one| one.1.added.contains(name))
        })
        .collect();
    assert!(unused.is_empty(), "nothing imports {unused:?}");
    scripts.map(|(first, script)| {
        let text = format!("(() => {{\n\"use strict\";\n{}}})();\n", script.text);
        (first, text)
    })
}

#[derive(Default)]
struct Script {
    text: String,
    added: Vec<String>,
    /// Modules whose imports are being added.
    open: Vec<String>,
    declared: BTreeSet<String>,
}

impl Script {
    fn add(&mut self, name: &str) {
        if self.added.iter().any(|added| added == name) {
            return;
        }
        self.open.push(name.to_owned());
        let circle = self.open[..self.open.len() - 1]
            .iter()
            .any(|open| open == name);
        assert!(!circle, "modules import each other: {:?}", self.open);
        let path = Path::new(DIRECTORY).join(name);
        let source = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut own = String::new();
        let mut in_comment = false;
        for line in source.lines() {
            // Documents and types stay with the source: a page would carry 30 KB of them.
            in_comment |= line.trim_start().starts_with("/**");
            if in_comment {
                in_comment = !line.contains("*/");
                let only = in_comment || line.ends_with("*/");
                assert!(only, "{}: code behind a comment: {line}", path.display());
                continue;
            }
            match line.strip_prefix("import ") {
                Some(import) => self.add(module(import, &path)),
                None => {
                    let line = line.strip_prefix("export ").unwrap_or(line);
                    let new = declared(line).is_none_or(|name| self.declared.insert(name));
                    assert!(new, "{}: declared before: {line}", path.display());
                    own.push_str(line);
                    own.push('\n');
                }
            }
        }
        self.open.pop();
        self.text.push_str(&own);
        self.added.push(name.to_owned());
    }
}

/// What a line at the left margin declares.
fn declared(line: &str) -> Option<String> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let keywords = ["function ", "class ", "const ", "let "];
    let rest = keywords.iter().find_map(|word| line.strip_prefix(word))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    Some(rest[..end.unwrap_or(rest.len())].to_owned())
}

/// The file that an import names.
fn module<'a>(import: &'a str, path: &Path) -> &'a str {
    import
        .split_once(" from \"./")
        .and_then(|(_, rest)| rest.strip_suffix("\";"))
        .unwrap_or_else(|| panic!("{}: not an import of one line: {import}", path.display()))
}
