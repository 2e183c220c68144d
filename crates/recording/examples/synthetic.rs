//! Writes a synthetic recording and prints what it costs: bytes a quantum by column, rows a second in and
//! out, memory.
//!
//! `cargo run --release -p bandscope-recording --example synthetic -- DIRECTORY [SECONDS] [RATE_HZ]`
//!
//! The series is a quiet one: quanta end 0 to 250 ticks of a 2.3 GHz clock after their deadline, counts are
//! 855 to 857 at 10 kHz, and 250 times a second a gap of about 3 us takes time. Two rates alternate
//! in segments of a second. No work kernel ran: this is for the file format alone.

use bandscope_recording::manifest::{Clock, ClockOrigin, Counter, Kernel, Settings, State};
use bandscope_recording::{Gap, Manifest, Quanta, Quantum, Source, Writer, read};
use bandscope_statistics::random::Random;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TICKS_PER_NS: f64 = 2.3;
const TICKS_PER_UNIT: u64 = 268;
const TICKS_PER_GAP: u64 = 6900;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(
        arguments
            .next()
            .ok_or("usage: synthetic DIRECTORY [SECONDS] [RATE_HZ]")?,
    );
    let seconds: u64 = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let rate_hz: f64 = arguments.next().map_or(Ok(10_000.0), |text| text.parse())?;
    let rates_hz = [rate_hz, (rate_hz * 0.7777).round()];
    let (rows, writing) = record(&directory, seconds, rates_hz)?;
    println!(
        "{rows} quanta written in {:.3} s: {:.1} million a second",
        writing.as_secs_f64(),
        rows as f64 / writing.as_secs_f64() / 1e6
    );
    print_peak_memory();
    print_sizes(&directory, rows)?;
    print_reading(&directory)
}

fn manifest(rates_hz: [f64; 2], seconds: u64) -> Manifest {
    Manifest {
        tool: "synthetic".into(),
        started: "2026-11-21T12:00:00Z".into(),
        settings: Settings {
            machine: "synthetic".into(),
            cpus: vec![1],
            rates_hz: rates_hz.into(),
            kernels: vec!["mulss80".into()],
            segment_s: 1.0,
            duration_s: seconds as f64,
            ..Settings::default()
        },
        clock: Clock {
            name: "synthetic".into(),
            ticks_per_ns: TICKS_PER_NS,
            origin: ClockOrigin::Simulated,
            ..Clock::default()
        },
        kernels: vec![Kernel {
            name: "mulss80".into(),
            ..Kernel::default()
        }],
        counters: vec![Counter {
            name: "context-switches".into(),
            ..Counter::default()
        }],
        ..Manifest::default()
    }
}

/// Writes segments of a second and returns the number of quanta and the time spent in the writer.
fn record(
    directory: &Path,
    seconds: u64,
    rates_hz: [f64; 2],
) -> Result<(u64, Duration), Box<dyn Error>> {
    let mut manifest = manifest(rates_hz, seconds);
    let mut writer = Writer::create(directory, &manifest)?;
    let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
    let mut random = Random::new(1);
    let (mut rows, mut writing) = (0, Duration::ZERO);
    for segment in 0..seconds {
        let rate_hz = rates_hz[segment as usize % 2];
        let mut series = Segment::new(segment as u32, rate_hz, &mut random);
        // Batches of 50 ms, as a run delivers them.
        for _ in 0..20 {
            quanta.clear();
            gaps.clear();
            series.fill((rate_hz / 20.0) as u64, &mut quanta, &mut gaps);
            rows += quanta.len() as u64;
            let began = Instant::now();
            writer.append_quanta(1, rate_hz, "mulss80", &quanta)?;
            writer.append_gaps(1, &gaps)?;
            writing += began.elapsed();
        }
    }
    manifest.state = State::Complete;
    let began = Instant::now();
    writer.finish(&manifest)?;
    Ok((rows, writing + began.elapsed()))
}

/// One second of quanta.
struct Segment<'a> {
    segment: u32,
    random: &'a mut Random,
    begin: f64,
    quantum: f64,
    index: u64,
    end: u64,
    next_gap: u64,
}

impl Segment<'_> {
    fn new(segment: u32, rate_hz: f64, random: &mut Random) -> Segment<'_> {
        let begin = f64::from(segment) * 1.01 * TICKS_PER_NS * 1e9;
        Segment {
            segment,
            random,
            begin,
            quantum: TICKS_PER_NS * 1e9 / rate_hz,
            index: 0,
            end: begin as u64,
            next_gap: begin as u64 + 1_000_000,
        }
    }

    fn fill(&mut self, rows: u64, quanta: &mut Quanta, gaps: &mut Vec<Gap>) {
        for _ in 0..rows {
            self.index += 1;
            let start = self.end;
            let deadline = (self.begin + self.index as f64 * self.quantum) as u64;
            self.end = deadline + self.random.below(250);
            let mut quantum = Quantum {
                start,
                end: self.end,
                count: ((self.end - start) / TICKS_PER_UNIT) as u32,
                cpu: 1,
                segment: self.segment,
                ..Quantum::default()
            };
            if self.next_gap < self.end && quantum.length() > 2 * TICKS_PER_GAP {
                self.add_gap(&mut quantum, gaps);
            }
            quanta.push(quantum);
        }
    }

    fn add_gap(&mut self, quantum: &mut Quantum, gaps: &mut Vec<Gap>) {
        let gap = Gap {
            start: quantum.start + self.random.below(quantum.length() - 2 * TICKS_PER_GAP),
            duration: TICKS_PER_GAP + self.random.below(2000),
            handling: 60 + self.random.below(8),
            preempted: Some(false),
            segment: self.segment,
            ..Gap::default()
        };
        quantum.gaps = 1;
        quantum.gap_ticks = gap.duration;
        quantum.measurement_ticks = gap.handling;
        quantum.count -= (gap.duration / TICKS_PER_UNIT) as u32;
        gaps.push(gap);
        self.next_gap += (TICKS_PER_NS * 4e6) as u64;
    }
}

fn print_peak_memory() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("{line}");
    }
}

fn print_sizes(directory: &Path, quanta: u64) -> Result<(), Box<dyn Error>> {
    for kind in ["quanta", "gaps"] {
        let mut columns: BTreeMap<String, i64> = BTreeMap::new();
        let (mut rows, mut bytes, mut parts) = (0, 0, 0);
        for path in files(&directory.join(kind))? {
            bytes += path.metadata()?.len();
            parts += 1;
            let reader = SerializedFileReader::new(File::open(&path)?)?;
            for group in reader.metadata().row_groups() {
                rows += group.num_rows();
                for column in group.columns() {
                    *columns.entry(column.column_path().string()).or_default() +=
                        column.compressed_size();
                }
            }
        }
        println!(
            "{kind}: {rows} rows, {parts} parts, {bytes} bytes, {:.3} bytes a row, {:.3} a quantum",
            bytes as f64 / rows as f64,
            bytes as f64 / quanta as f64
        );
        for (column, size) in columns {
            println!("  {column:30} {:.3} bytes a row", size as f64 / rows as f64);
        }
    }
    Ok(())
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

fn print_reading(directory: &Path) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let recording = read::open(directory)?;
    println!("opened in {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
    for warning in recording.warnings() {
        println!("warning: {warning}");
    }
    let began = Instant::now();
    let mut units = 0;
    let mut rows = 0;
    for index in 0..recording.series().len() {
        recording.replay_quanta(index, &mut |chunk| {
            rows += chunk.len();
            units += chunk
                .count
                .iter()
                .map(|&count| u64::from(count))
                .sum::<u64>();
        })?;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{rows} quanta, {units} units read in {seconds:.3} s: {:.1} million a second",
        rows as f64 / seconds / 1e6
    );
    let began = Instant::now();
    let mut gaps = 0;
    for index in 0..recording.series().len() {
        recording.replay_gaps(index, &mut |chunk| gaps += chunk.len())?;
    }
    println!("{gaps} gaps read in {:.3} s", began.elapsed().as_secs_f64());
    print_peak_memory();
    Ok(())
}
