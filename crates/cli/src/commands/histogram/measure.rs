//! Measuring for `bandscope histogram`: the request, the picture that is redrawn meanwhile, and the file that keeps it.

use super::Arguments;
use crate::commands::record;
use crate::interrupt::Interrupt;
use crate::output::{self, Keep};
use crate::progress::Live;
use crate::values::Cpus;
use anyhow::{Context, Result};
use bandscope_experiments::histogram::{self, Request};
use bandscope_probe::{default_kernel, pin};
use bandscope_recording::histogram::FixedWork;
use bandscope_sampler::machine::Length;
use bandscope_view::{Options, json, text};
use std::process::ExitCode;

/// Measures, keeps, explains.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let request = request(arguments)?;
    let interrupt = Interrupt::new()?;
    let keep = Keep::claim_output(arguments.output.as_deref())?;
    let started = record::now();
    let mut measured = {
        let live = Live::new(arguments.ascii);
        histogram::run(&request, interrupt.stop(), &mut |part, measured| {
            live.look(|options| seen(arguments, part, measured(), options));
        })?
    };
    measured.tool = record::tool();
    measured.started = started;
    let kept = keep.map_or(Ok(()), |keep| {
        keep.write(|out| Ok(json::document(&measured, out)?))
    });
    // Whatever became of the file, what was measured is shown.
    arguments.print(measured)?;
    kept?;
    if interrupt.signal().is_some() {
        output::note(format_args!(
            "bandscope: interrupted; the result is of what was measured until then"
        ));
    }
    Ok(interrupt.exit_code().unwrap_or(ExitCode::SUCCESS))
}

fn request(arguments: &Arguments) -> Result<Request> {
    Ok(Request {
        cpus: match &arguments.cpus {
            None => Vec::new(),
            Some(Cpus::These(cpus)) => cpus.clone(),
            Some(Cpus::All) => {
                let allowed = pin::allowed().context("cannot ask which CPUs may be used")?;
                // As `record`: the first has most of the machine's own work anyway, and room for this program's.
                allowed[usize::from(allowed.len() > 1)..].to_vec()
            }
        },
        kernels: match &arguments.kernel[..] {
            [] => vec![default_kernel().to_owned()],
            names => names.to_vec(),
        },
        // To whole nanoseconds, so that 5us are 5.
        works_us: (arguments.work.iter())
            .map(|seconds| (seconds * 1e9).round() / 1e3)
            .collect(),
        length: (arguments.samples).map_or(Length::Duration(arguments.duration), Length::Samples),
    })
}

/// What is seen on a terminal while it is measured.
fn seen(arguments: &Arguments, part: f64, measured: FixedWork, options: &Options) -> String {
    let report = arguments.explain(measured);
    let state = match part.is_finite() {
        true => format!("measuring {:.0}% of {} s", part * 100.0, arguments.duration),
        false => "measuring".to_owned(),
    };
    text::histogram::live(&report, options) + &state
}
