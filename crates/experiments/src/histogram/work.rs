//! What fixed work can be made of: turns of a loop of the lab, or units of a work kernel, by one name.

use crate::Error;
use crate::lab::loops::{self, Loop, Scratch};
use bandscope_probe::kernels::{self, NativeKernel, Visitor};

/// Something that can be done so many times.
pub enum Work {
    /// A loop, which sets itself up once and then runs until its turns are over: what lasts only as long as a loop is not left is here.
    Loop(&'static Loop, Box<Scratch>),
    /// A work kernel, unit after unit.
    Kernel(Box<dyn FnMut(u64)>),
}

impl Work {
    /// The loop or work kernel of that name.
    ///
    /// # Errors
    /// If there is none, or this CPU lacks an instruction; the sentence names what there is.
    pub fn named(name: &str) -> Result<Work, Error> {
        if let Some(one) = loops::named(name) {
            return match one.supported() {
                Ok(()) => Ok(Work::Loop(one, Box::default())),
                Err(lacks) => Err(Error::LoopLacks {
                    name: name.to_owned(),
                    lacks,
                }),
            };
        }
        if kernels::kernels().iter().all(|info| info.name != name) {
            return Err(Error::UnknownWork {
                name: name.to_owned(),
                expected: names(),
            });
        }
        kernels::check(name).map_err(|why| Error::Machine(why.to_string()))?;
        kernels::dispatch(name, Units).ok_or_else(|| Error::UnknownKernel(name.to_owned()))
    }

    /// Does it so many times.
    #[inline]
    pub fn run(&mut self, turns: u64) {
        match self {
            Work::Loop(one, scratch) => one.run(turns, scratch),
            Work::Kernel(units) => units(turns),
        }
    }
}

/// All names: work kernels first.
pub fn names() -> Vec<&'static str> {
    let kernels = kernels::kernels().into_iter().map(|info| info.name);
    kernels
        .chain(loops::loops().iter().map(|one| one.name))
        .collect()
}

struct Units;

impl Visitor for Units {
    type Output = Work;
    fn visit<K: NativeKernel>(self) -> Work {
        let mut kernel = K::default();
        Work::Kernel(Box::new(move |turns| {
            for _ in 0..turns {
                kernel.execute();
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_one_thing_and_runs() {
        let unique: BTreeSet<_> = names().into_iter().collect();
        assert_eq!(unique.len(), names().len());
        for name in names() {
            match Work::named(name) {
                Ok(mut work) => [0, 1, 3].map(|turns| work.run(turns)),
                Err(why) => {
                    println!("SKIPPED: {why}");
                    continue;
                }
            };
        }
        let error = Work::named("non\x1bsense").err().unwrap().to_string();
        assert!(
            error.contains("non\\u{1b}sense") && error.contains(bandscope_probe::default_kernel())
        );
    }
}
