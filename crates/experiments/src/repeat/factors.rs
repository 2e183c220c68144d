//! What can be varied about a process from outside: one entry of [`FACTORS`] each.
//!
//! Sizes and lengths move the stack by as much, so they are varied with the layout fixed: with a random one each run has another anyway.
//! Their levels are 0 and powers of two, so that each bit of an address from 16 bytes to a page is changed by one of them.
//! Mytkowicz, Diwan, Hauswirth, Sweeney 2009 found speed to depend on the size of the environment.

use super::settings::{self, LongNames, Settings};
use bandscope_probe::{facts, pin, store_bypass};
use bandscope_recording::runs::{Factor, INHERITED};
use std::ffi::OsStr;
use std::io;

/// Bytes that are added.
const SIZES: &[&str] = &[
    "0", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096",
];
/// Levels of the layout, as personality(2) sets them.
const LAYOUTS: [&str; 2] = ["fixed", "random"];
/// Levels of the neighbour.
const NEIGHBOURS: [&str; 2] = ["idle", "busy"];
/// CPUs that a command is put on, at most; of more, some from the first to the last.
const MOST_CPUS: usize = 4;
/// Less urgent by so much: a task at 10 gets a tenth of what one at 0 does (sched_prio_to_weight in the kernel: 110 of 1024).
const NICER: i32 = 10;

/// Why a factor cannot be varied here.
#[derive(Debug, thiserror::Error)]
enum NotVaried {
    /// For all processes.
    #[error("no process here has a random layout (kernel.randomize_va_space is 0)")]
    FixedForAll,
    /// It does not tell how the layout stands.
    #[error("personality(2): {0}")]
    Personality(io::Error),
    /// It does not set the layout.
    #[error("personality(2) is refused, as in some containers: {0}")]
    PersonalityRefused(io::Error),
    /// The thread that should try it panicked.
    #[error("cannot make a thread to try it on")]
    NoThread,
    /// sched_getaffinity(2) fails.
    #[error("cannot ask which CPUs may be used: {0}")]
    AllowedCpus(io::Error),
    /// Then its arguments stay as they are.
    #[error("the command is a script, and the kernel names it to its interpreter")]
    Script,
    /// A second one is needed.
    #[error("this process may use only one CPU")]
    OneCpu,
    /// `probe` says why.
    #[error("{0}")]
    StoreBypass(String),
    /// The file that tells is not there.
    #[error("this kernel has no transparent huge pages, or does not tell")]
    NoHugePages,
    /// For all processes.
    #[error("this machine does not give any (/sys/kernel/mm/transparent_hugepage/enabled: never)")]
    HugePagesNever,
    /// An older kernel.
    #[error("prctl(2) does not know of them: {0}")]
    HugePagesNotSettable(io::Error),
}

/// A name that is no factor's.
#[derive(Debug, thiserror::Error)]
#[error("found factor {:?}, expected all or some of {}", .0, FACTORS.iter().map(|factor| factor.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownFactor(pub(super) String);

/// Something that can be varied.
pub struct Known {
    /// As in `--vary`.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Whether it moves the stack, and so is varied with the layout fixed.
    moves_stack: bool,
    /// Its levels for a command, or why it cannot be varied here.
    levels: fn(&OsStr) -> Result<Vec<String>, NotVaried>,
    /// Sets one of these.
    set: fn(&str, &mut Settings, &Option<LongNames>) -> io::Result<()>,
}

/// The factor that needs names for directories.
pub const DIRECTORY: &str = "directory";
/// Both put the command on a CPU.
pub const CPU: &str = "cpu";
pub const NEIGHBOUR: &str = "neighbour";

/// All of them, as they are screened and named.
pub const FACTORS: &[Known] = &[
    Known {
        name: "layout",
        description: "addresses of stack, heap, libraries and program: random, or the same each time (personality ADDR_NO_RANDOMIZE)",
        moves_stack: false,
        levels: |_| layouts(),
        set: |level, settings, _| {
            settings.random_layout = Some(is_second(level, LAYOUTS)?);
            Ok(())
        },
    },
    Known {
        name: "environment",
        description: "bytes of a variable that is added to the environment",
        moves_stack: true,
        levels: |_| Ok(owned(SIZES)),
        set: |level, settings, _| number(level).map(|bytes| settings.environment = Some(bytes)),
    },
    Known {
        name: "arguments",
        description: "bytes that the arguments are larger: the path under which the command is called, by ./",
        moves_stack: true,
        levels: |command| match settings::is_script(command) {
            true => Err(NotVaried::Script),
            false => Ok(owned(SIZES)),
        },
        set: |level, settings, _| number(level).map(|bytes| settings.argument = Some(bytes)),
    },
    Known {
        name: DIRECTORY,
        description: "bytes that the name of the working directory is longer, in PWD",
        moves_stack: true,
        levels: |_| Ok(owned(&["0", "64", "256", "1024"])),
        set: |level, settings, names| {
            let bytes = number(level)?;
            if bytes > 0 {
                let names = names
                    .as_ref()
                    .ok_or_else(|| io::Error::other("no directory for long names"))?;
                settings.directory = Some(names.longer(bytes)?);
            }
            Ok(())
        },
    },
    Known {
        name: CPU,
        description: "the CPU that the command is kept on",
        moves_stack: false,
        levels: |_| cpus(),
        set: |level, settings, _| number(level).map(|cpu| settings.cpu = Some(cpu as u32)),
    },
    Known {
        name: NEIGHBOUR,
        description: "whether another CPU, of the same core where there is one, computes meanwhile; the command is kept on one CPU",
        moves_stack: false,
        levels: |_| neighbours().map(|_| owned(&NEIGHBOURS)),
        set: |level, settings, _| {
            let (own, other) = neighbours().map_err(io::Error::other)?;
            settings.cpu = Some(own);
            settings.busy = is_second(level, NEIGHBOURS)?.then_some(other);
            Ok(())
        },
    },
    Known {
        name: "store-bypass",
        description: "whether loads may run ahead of stores whose addresses are not known yet (prctl PR_SPEC_STORE_BYPASS)",
        moves_stack: false,
        levels: |_| match store_bypass::settable() {
            Ok(()) => Ok(owned(&[INHERITED, "off"])),
            Err(why) => Err(NotVaried::StoreBypass(why.to_string())),
        },
        set: |_, settings, _| {
            settings.no_store_bypass = true;
            Ok(())
        },
    },
    Known {
        name: "huge-pages",
        description: "whether memory comes in huge pages by itself (prctl PR_SET_THP_DISABLE)",
        moves_stack: false,
        levels: |_| huge_pages(),
        set: |_, settings, _| {
            settings.no_huge_pages = true;
            Ok(())
        },
    },
    Known {
        name: "priority",
        description: "the nice value, 10 higher",
        moves_stack: false,
        levels: |_| Ok(owned(&[INHERITED, "nice"])),
        set: |_, settings, _| {
            settings.nice = NICER;
            Ok(())
        },
    },
];

/// Those of these names, or all; each as it can be varied here for a command.
///
/// # Errors
/// If there is no factor of a name.
pub fn chosen(names: &[String], command: &OsStr) -> Result<Vec<Factor>, UnknownFactor> {
    let all = names.iter().any(|name| name == "all");
    if let Some(name) = names
        .iter()
        .find(|name| *name != "all" && known(name).is_none())
    {
        return Err(UnknownFactor(name.clone()));
    }
    let wanted = FACTORS
        .iter()
        .filter(|factor| all || names.iter().any(|name| name == factor.name));
    Ok(wanted.map(|factor| factor.here(command)).collect())
}

/// The settings of some levels.
///
/// # Errors
/// If a level cannot be had.
pub fn settings<'a>(
    levels: impl IntoIterator<Item = (&'a String, &'a String)>,
    names: &Option<LongNames>,
) -> io::Result<Settings> {
    let mut settings = Settings::default();
    for (name, level) in levels {
        let factor = known(name).ok_or_else(|| io::Error::other(format!("no factor {name}")))?;
        if level != INHERITED {
            (factor.set)(level, &mut settings, names)?;
        }
    }
    Ok(settings)
}

fn known(name: &str) -> Option<&'static Known> {
    FACTORS.iter().find(|factor| factor.name == name)
}

impl Known {
    fn here(&self, command: &OsStr) -> Factor {
        let levels = (self.levels)(command);
        let fixed = || layouts().is_ok_and(|levels| levels.iter().any(|level| level == LAYOUTS[0]));
        let with = match self.moves_stack && fixed() {
            true => [("layout".to_owned(), LAYOUTS[0].to_owned())].into(),
            false => Default::default(),
        };
        Factor {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            with,
            missing: levels.as_ref().err().map(NotVaried::to_string),
            levels: levels.unwrap_or_default(),
        }
    }
}

fn owned(levels: &[&str]) -> Vec<String> {
    levels.iter().map(|level| (*level).to_owned()).collect()
}

/// Whether a level is the second of two.
fn is_second(level: &str, levels: [&str; 2]) -> io::Result<bool> {
    match levels.iter().position(|known| *known == level) {
        Some(place) => Ok(place == 1),
        None => Err(io::Error::other(format!(
            "found level {level:?}, expected one of {}",
            levels.join(", ")
        ))),
    }
}

fn number(level: &str) -> io::Result<usize> {
    level
        .parse()
        .map_err(|_| io::Error::other(format!("found level {level:?}, expected a number")))
}

fn layouts() -> Result<Vec<String>, NotVaried> {
    if facts::text("/proc/sys/kernel/randomize_va_space").as_deref() == Some("0") {
        return Err(NotVaried::FixedForAll);
    }
    let random = settings::layout_is_random().map_err(NotVaried::Personality)?;
    // On a thread of its own, of which it is a setting.
    let tried = std::thread::Builder::new().spawn(move || settings::set_layout(!random));
    match tried.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => Ok(owned(&[INHERITED, LAYOUTS[usize::from(!random)]])),
        Ok(Ok(Err(error))) => Err(NotVaried::PersonalityRefused(error)),
        Ok(Err(_)) | Err(_) => Err(NotVaried::NoThread),
    }
}

fn cpus() -> Result<Vec<String>, NotVaried> {
    let allowed = pin::allowed().map_err(NotVaried::AllowedCpus)?;
    if allowed.len() < 2 {
        return Err(NotVaried::OneCpu);
    }
    let number = allowed.len().min(MOST_CPUS);
    let some =
        (0..number).map(|index| allowed[index * (allowed.len() - 1) / (number - 1)].to_string());
    Ok([INHERITED.to_owned()].into_iter().chain(some).collect())
}

/// The command's CPU and its neighbour's.
fn neighbours() -> Result<(u32, u32), NotVaried> {
    let allowed = pin::allowed().map_err(NotVaried::AllowedCpus)?;
    let &[.., other, own] = &allowed[..] else {
        return Err(NotVaried::OneCpu);
    };
    let siblings =
        facts::cpu_list(&format!("cpu{own}/topology/thread_siblings_list")).unwrap_or_default();
    let sibling = siblings
        .into_iter()
        .find(|cpu| *cpu != own && allowed.contains(cpu));
    Ok((own, sibling.unwrap_or(other)))
}

fn huge_pages() -> Result<Vec<String>, NotVaried> {
    let enabled = facts::text("/sys/kernel/mm/transparent_hugepage/enabled");
    match enabled {
        None => Err(NotVaried::NoHugePages),
        Some(text) if text.contains("[never]") => Err(NotVaried::HugePagesNever),
        Some(_) => settings::huge_pages_settable()
            .map(|()| owned(&[INHERITED, "off"]))
            .map_err(NotVaried::HugePagesNotSettable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_factor_has_levels_or_says_why_not_and_each_can_be_set() {
        let names = LongNames::new().ok();
        for factor in chosen(&["all".to_owned()], "sh".as_ref()).unwrap() {
            match &factor.missing {
                Some(why) => {
                    println!("SKIPPED: factor {}: {why}", factor.name);
                    assert!(factor.levels.is_empty() && why.lines().count() == 1);
                }
                None => assert!(factor.levels.len() >= 2, "{factor:?}"),
            }
            for level in &factor.levels {
                let set = settings([(&factor.name, level)], &names).unwrap();
                let changes = set != Settings::default();
                assert!(
                    changes || level == INHERITED || level == "0",
                    "{} {level}",
                    factor.name
                );
            }
        }
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_those_that_are() {
        let chosen = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            super::chosen(&names, "sh".as_ref())
        };
        let error = chosen(&["astrology"]).unwrap_err().to_string();
        assert!(
            error.contains("\"astrology\"") && error.contains("huge-pages"),
            "{error}"
        );
        assert_eq!(chosen(&["priority"]).unwrap().len(), 1);
        assert_eq!(chosen(&[]).unwrap(), []);
    }

    #[test]
    fn the_name_of_a_script_is_not_varied() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let of = |command: &OsStr| chosen(&["arguments".to_owned()], command).unwrap();
        assert!(of(script.as_os_str())[0].missing.is_some());
        assert_eq!(of("sh".as_ref())[0].missing, None);
    }
}
