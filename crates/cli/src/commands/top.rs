//! The top of the command line: what `bandscope --help` and `bandscope --version` print.

use super::Arguments;
use crate::output;
use anyhow::Result;
use clap::CommandFactory;
use std::fmt::Write;

/// Commands by what people come for; a test holds that each stands in one group.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["record", "live", "histogram"]),
    ("Explain", &["report"]),
    ("Experiment", &["lab", "repeat", "inject", "synth"]),
    (
        "Judge",
        &["doctor", "cure", "check", "compare", "scale", "fleet"],
    ),
    ("Exchange", &["export"]),
    ("Other", &["kernels", "completions", "man", "help"]),
];

const ABOUT: &str =
    "Measures how much of a CPU's time a program really gets, and explains where the rest goes.";

const USAGE: &str = "\
bandscope [OPTIONS]      measure this machine for ten seconds, and report
       bandscope COMMAND ...";

const AFTER: &str = "\
Without a command, bandscope takes every option of `bandscope record`,
such as --cpus 1 or --duration 60s, and --format json or --format prometheus.

Examples:
  bandscope
  bandscope --cpus 1 --duration 60s
  bandscope record --cpus 3 --rate 10kHz --duration 60s --output quiet.bandscope
  bandscope report quiet.bandscope
  bandscope report quiet.bandscope --format png --output quiet.png

Exit status: 0 done; 1 a check that was asked for failed;
2 bad usage, bad input, or an error;
129, 130 or 143 a signal ended the run, and what was measured until then is kept.";

/// The command line, with its help in groups. The options of `record` are accepted and not listed again.
pub fn command() -> clap::Command {
    let command = Arguments::command()
        .about(ABOUT)
        .long_about(None)
        .override_usage(USAGE)
        .after_help(AFTER)
        .mut_args(|arg| {
            let own = ["version", "verbose"].contains(&arg.get_id().as_str());
            arg.hide(!own)
        });
    let groups = groups(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// A heading and a line a command for each group.
fn groups(command: &clap::Command) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "\n{header}{group}:{header:#}");
        for name in names {
            let about = match command.find_subcommand(name) {
                Some(found) => found.get_about().map(ToString::to_string),
                // clap adds it while it parses.
                None => Some("Print this message or the help of a command".into()),
            };
            let about = about.unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:11}{literal:#}  {about}");
        }
    }
    text
}

/// The version; with `verbose` what the program was built from, a line each.
pub fn version(verbose: bool) -> Result<()> {
    output::write(None, |out| {
        writeln!(out, "bandscope {}", env!("CARGO_PKG_VERSION"))?;
        if verbose {
            writeln!(out, "commit   {}", env!("BANDSCOPE_BUILD_COMMIT"))?;
            writeln!(out, "target   {}", env!("BANDSCOPE_BUILD_TARGET"))?;
            let level = env!("BANDSCOPE_BUILD_OPT_LEVEL");
            let profile = env!("BANDSCOPE_BUILD_PROFILE");
            writeln!(out, "profile  {profile}, optimisation level {level}")?;
            writeln!(out, "features none to choose: each build has all")?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_stands_in_one_group() {
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        listed.retain(|name| *name != "help");
        let command = command();
        let mut there: Vec<&str> = command.get_subcommands().map(|c| c.get_name()).collect();
        listed.sort_unstable();
        there.sort_unstable();
        assert_eq!(listed, there);
    }

    #[test]
    fn the_help_fits_a_terminal_of_eighty_columns() {
        let help = command().term_width(80).render_help().to_string();
        for line in help.lines().take_while(|line| !line.starts_with("Without")) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(help.contains("\nExplain:\n"), "{help}");
        assert!(!help.contains("--start-delay"), "{help}");
    }
}
