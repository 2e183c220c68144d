//! Moves of a child, and who inherits what.

use super::give_back::{IsLeft, inherited};
use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

fn thread(id: u32) -> Thread {
    let stat = fs::read(format!("/proc/{id}/stat")).unwrap();
    Thread {
        id,
        started: Stat::parse(&stat).unwrap().started,
    }
}

#[test]
fn what_is_left_of_a_set() {
    assert_eq!(narrowed(&[0, 1], &[1], &[0]), Some(vec![0]));
    assert_eq!(narrowed(&[1], &[1], &[0, 2]), Some(vec![0, 2]));
    assert_eq!(narrowed(&[0], &[1], &[0]), None);
    // Off a sibling, but not onto the measured CPU.
    assert_eq!(narrowed(&[1, 3], &[3], &[0, 2]), Some(vec![0, 2]));
}

#[test]
fn whoever_is_born_meanwhile_has_what_a_moved_ancestor_had() {
    let thread = |id: u32| Thread {
        id,
        started: u64::from(id),
    };
    let found = |id: u32, process: u32, parent: u32| Found {
        thread: thread(id),
        process,
        parent,
        name: String::new(),
        process_name: String::new(),
        is_fixed: false,
    };
    let moved = |id: u32, process: u32, before: &str, during: &str| Move {
        thread: thread(id),
        process,
        before: before.into(),
        during: during.into(),
    };
    // 10 is moved twice; its process has a worker 11 of another set; 12 is pinned.
    let moves = [
        moved(10, 10, "0-3", "0,2-3"),
        moved(11, 10, "1-2", "2"),
        moved(12, 12, "1", "0,2-3"),
        moved(10, 10, "0,2-3", "0,2"),
    ];
    let all = [
        found(10, 10, 1),
        found(11, 10, 1),
        found(12, 12, 1),
        found(20, 20, 10),
        found(21, 21, 20),
        found(22, 22, 12),
        found(23, 23, 1),
    ];
    let before = |place: usize, now: &str| {
        let how: (IsLeft<'_>, &dyn Fn(&Found) -> bool) = (&|during| during == now, &|_| false);
        inherited(&all[place], &all, &moves, how)
    };
    assert_eq!(before(3, "0,2"), Some("0-3"));
    assert_eq!(before(3, "0,2-3"), Some("0-3"));
    assert_eq!(before(3, "2"), Some("1-2"));
    assert_eq!(before(4, "0,2"), Some("0-3"));
    assert_eq!(before(5, "0,2-3"), Some("1"));
    // Its parent is gone: what is left with "2" had one set alone, what is left with "0,2-3" had two.
    assert_eq!((before(6, "2"), before(6, "0,2-3")), (Some("1-2"), None));
    assert_eq!(before(3, "1"), None);
    // Its parent was there, was not moved and has that set: it is its own.
    let all = [found(30, 30, 1), found(31, 31, 30)];
    let has_kept = |one: &Found| one.process == 30;
    let before = |has_kept: &dyn Fn(&Found) -> bool| {
        let is_left: IsLeft<'_> = &|during| during == "2";
        inherited(&all[1], &all, &moves, (is_left, has_kept))
    };
    assert_eq!((before(&has_kept), before(&|_| false)), (None, Some("1-2")));
    // A thread of its process was moved, made it and ended; another one had that set all the time.
    let all = [found(41, 40, 1), found(42, 42, 40)];
    let has_kept = |one: &Found| one.thread.id == 41;
    let moves = [moved(40, 40, "1-2", "2"), moved(50, 50, "0-2", "2")];
    let before = |now: &str| {
        let is_left: IsLeft<'_> = &|during| during == now;
        inherited(&all[1], &all, &moves, (is_left, &has_kept))
    };
    assert_eq!((before("2"), before("3")), (Some("1-2"), None));
}

#[test]
fn a_thread_has_its_own_name_and_that_of_its_process() {
    let found = |name: &str, process_name: &str, is_fixed: bool| Found {
        thread: Thread { id: 7, started: 0 },
        process: 6,
        parent: 1,
        name: name.into(),
        process_name: process_name.into(),
        is_fixed,
    };
    let worker = found("C2 CompilerThre", "java", false);
    assert!(worker.is_named("java") && worker.is_named("C2 CompilerThre"));
    assert!(!worker.is_named("python3"));
    let names = names_of(vec![worker, found("kworker/u8:1", "kworker/u8:1", true)]);
    let names: Vec<(&str, bool)> = names.iter().map(|(name, &can)| (&**name, can)).collect();
    let expected = [
        ("C2 CompilerThre", true),
        ("java", true),
        ("kworker/u8:1", false),
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_thread_gets_back_what_it_had_and_a_child_what_its_parent_had() {
    let cpus = bandscope_probe::pin::allowed().unwrap();
    let [first, second, ..] = cpus[..] else {
        println!("SKIPPED: affinities: one CPU");
        return;
    };
    let shell = "read line; sleep 60 & echo $!; read line; kill $!";
    let mut parent = Command::new("sh")
        .args(["-c", shell])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (parent.stdin.take().unwrap(), parent.stdout.take().unwrap());
    let (moved, since) = (thread(parent.id()), now());
    let (wide, narrow) = (cpu_list::written(&[first, second]), first.to_string());
    set(moved, &wide).unwrap();
    let movable: Vec<Move> = movable(&[second], &[first], Some("sh"));
    assert!(self::movable(&[second], &[first], Some("no such name")).is_empty());
    let own: Vec<&Move> = movable.iter().filter(|one| one.thread == moved).collect();
    assert_eq!((&own[0].before, &own[0].during), (&wide, &narrow));
    set(moved, &narrow).unwrap();
    writeln!(input, "now").unwrap();
    let mut child = String::new();
    BufReader::new(output).read_line(&mut child).unwrap();
    let child = thread(child.trim().parse().unwrap());
    assert_eq!(of(child), Some(vec![first]));
    let moves = [own[0].clone()];
    let given = give_back(&moves, Some(since));
    assert!(given.failed.is_empty() && !given.others_set);
    assert_eq!(of(moved), Some(vec![first, second]));
    assert_eq!(of(child), Some(vec![first, second]));
    // Of CPUs that its cpuset lacks it gets the others.
    let none = CpuSet::MAX_CPU as u32 - 1;
    let far = Move {
        during: cpu_list::written(&[first, none]),
        ..moves[0].clone()
    };
    let mut noted = Vec::new();
    let mut note = |moves: &[Move]| -> io::Result<()> {
        noted.extend_from_slice(moves);
        Ok(())
    };
    assert!(within_its_cpuset(&far, &mut note).unwrap().unwrap());
    assert_eq!((of(moved), &*noted), (Some(vec![first]), &moves[..]));
    // With none of them it stays where it is.
    let nowhere = Move {
        during: none.to_string(),
        ..far
    };
    let refused = within_its_cpuset(&nowhere, &mut |_| Ok(())).unwrap();
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(of(moved), Some(vec![first]));
    // Its cpuset, which lost a CPU meanwhile, left it a part of what the move did.
    let by_list = |before: &[u32], during: &[u32]| Move {
        before: cpu_list::written(before),
        during: cpu_list::written(during),
        ..moves[0].clone()
    };
    let part = by_list(&[first, second, none], &[first, none]);
    assert!(!give_back(&[part], None).others_set);
    assert_eq!(of(moved), Some(vec![first, second]));
    // A part that its cpuset does not explain was chosen.
    set(moved, &narrow).unwrap();
    let all = by_list(&[first, second, none], &[first, second]);
    assert!(give_back(&[all], None).others_set);
    assert_eq!(of(moved), Some(vec![first]));
    // Whoever set it meanwhile has the last word.
    set(moved, &second.to_string()).unwrap();
    assert!(give_back(&moves, Some(since)).others_set);
    assert_eq!(of(moved), Some(vec![second]));
    writeln!(input, "end").unwrap();
    parent.wait().unwrap();
}
