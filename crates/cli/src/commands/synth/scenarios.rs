//! The list of scenarios and presets of the simulated machine, as text and as JSON.

use anyhow::Result;
use bandscope_simulation::catalogue::{CATALOGUE, Entry};
use bandscope_simulation::parameters::Parameter;
use bandscope_simulation::presets::PRESETS;
use std::io::Write;

/// Scenarios with their parameters, then presets.
pub fn as_text(out: &mut dyn Write) -> Result<()> {
    for entry in CATALOGUE {
        writeln!(out, "{:12} {}", entry.name, entry.description)?;
        if !entry.parameters.is_empty() {
            let parameters: Vec<_> = entry.parameters.iter().map(with_default).collect();
            writeln!(out, "{:12} {}", "", parameters.join(","))?;
        }
        if !entry.examples.is_empty() {
            writeln!(out, "{:12} finding: {}", "", entry.kinds().join(", "))?;
        }
    }
    writeln!(
        out,
        "\nSeveral are joined by `+`, `seed` is a parameter of each: tick:hz=250,cost=3us+flips:ratio=5.35,seed=7\n\nPresets:"
    )?;
    for preset in PRESETS {
        writeln!(out, "{:16} {}", preset.name, preset.description)?;
        writeln!(
            out,
            "{:16} {} --rate {} --kernel {} --duration {}s",
            "", preset.scenario, preset.rate_hz, preset.kernel, preset.duration_s
        )?;
    }
    Ok(())
}

/// `name=default`, as the user would write it.
fn with_default(parameter: &Parameter) -> String {
    let Parameter { name, default, .. } = parameter;
    let (scaled, unit) = match parameter.unit {
        "s" if *default == 0.0 || *default >= 1.0 => (*default, "s"),
        "s" if *default >= 1e-3 => (default * 1e3, "ms"),
        "s" if *default >= 1e-6 => (default * 1e6, "us"),
        "s" => (default * 1e9, "ns"),
        "Hz" => (*default, "Hz"),
        _ => (*default, ""),
    };
    // Six digits: what the multiplication adds behind them is no part of the default.
    let digits = format!("{scaled:.6}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{name}={digits}{unit}")
}

/// The same as `bandscope.scenarios/1`.
pub fn as_json(out: &mut dyn Write) -> Result<()> {
    let scenarios: Vec<_> = CATALOGUE.iter().map(entry).collect();
    let presets: Vec<_> = PRESETS
        .iter()
        .map(|preset| {
            serde_json::json!({
                "name": preset.name,
                "description": preset.description,
                "scenario": preset.scenario,
                "rate_hz": preset.rate_hz,
                "kernel": preset.kernel,
                "duration_s": preset.duration_s,
            })
        })
        .collect();
    let list = serde_json::json!({
        "schema": "bandscope.scenarios/1",
        "scenarios": scenarios,
        "presets": presets,
    });
    Ok(writeln!(out, "{list:#}")?)
}

fn entry(entry: &Entry) -> serde_json::Value {
    let defaults: serde_json::Map<_, _> = entry
        .parameters
        .iter()
        .map(|parameter| (parameter.name.to_owned(), parameter.default.into()))
        .collect();
    let ranges: serde_json::Map<_, _> = entry
        .parameters
        .iter()
        .map(|parameter| {
            let (least, most) = (*parameter.range.start(), *parameter.range.end());
            let most = (most < f64::MAX).then_some(most);
            let range = serde_json::json!({ "least": least, "most": most, "unit": parameter.unit });
            (parameter.name.to_owned(), range)
        })
        .collect();
    serde_json::json!({
        "name": entry.name,
        "description": entry.description,
        "parameters": defaults,
        "ranges": ranges,
        "kinds": entry.kinds(),
    })
}
