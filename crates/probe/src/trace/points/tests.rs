//! Tests of the catalogue on a tracefs of plain files.

use super::super::functions::Function;
use super::*;
use std::fs;
use std::path::Path;

/// A tracefs of plain files, as Linux 6.18 has it.
fn describe(root: &Path, subsystem: &str, name: &str, id: u16, fields: &str) {
    let directory = root.join("events").join(subsystem).join(name);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("id"), id.to_string()).unwrap();
    let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
    fs::write(
        directory.join("format"),
        format!("name: {name}\nID: {id}\nformat:\n{common}{fields}\n"),
    )
    .unwrap();
}

fn machine(root: &Path) {
    let irq = "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n";
    let name = "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n";
    let vec = "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n";
    let vector = "\tfield:int vector;\toffset:8;\tsize:4;\tsigned:1;\n";
    let switch = "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";
    describe(root, "irq", "irq_handler_entry", 1, &format!("{irq}{name}"));
    describe(root, "irq", "irq_handler_exit", 2, irq);
    describe(root, "irq", "softirq_entry", 3, vec);
    describe(root, "irq", "softirq_exit", 4, vec);
    describe(root, "sched", "sched_switch", 5, switch);
    describe(root, "irq_vectors", "local_timer_entry", 6, vector);
    describe(root, "irq_vectors", "local_timer_exit", 7, vector);
    describe(root, "irq_vectors", "vector_setup", 8, vector);
    describe(root, "irq_vectors", "irq_work_entry", 11, vector);
    describe(root, "irq_vectors", "irq_work_exit", 12, vector);
    describe(root, "exceptions", "page_fault_user", 9, "");
    let delta = "\tfield:s64 delta_ns;\toffset:16;\tsize:8;\tsigned:1;\n";
    describe(root, "nmi", "nmi_handler", 10, delta);
}

fn catalogue(root: &Path) -> Result<Catalogue, TraceError> {
    Catalogue::read(&Tracefs::at(root).unwrap(), Arc::default())
}

fn raw(id: u16, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let mut raw = vec![0; 64];
    raw[..2].copy_from_slice(&id.to_ne_bytes());
    for (offset, bytes) in fields {
        raw[*offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    raw
}

#[test]
fn records_say_what_happened() {
    let root = tempfile::tempdir().unwrap();
    machine(root.path());
    let mut catalogue = catalogue(root.path()).unwrap();
    let mut decode = |id, fields: &[(usize, &[u8])]| catalogue.decode(&raw(id, fields));
    let enter = |kind, number, name: &str| {
        Some(Point::Enter {
            kind,
            number,
            name: name.into(),
        })
    };
    let name = (12, &(4u32 << 16 | 32).to_le_bytes()[..]);
    assert_eq!(
        decode(1, &[(8, &[24]), name, (32, b"eth0")]),
        enter(EventKind::Interrupt, 24, "eth0")
    );
    assert_eq!(decode(3, &[(8, &[9])]), enter(EventKind::Softirq, 9, "RCU"));
    assert_eq!(
        decode(3, &[(8, &[77])]),
        enter(EventKind::Softirq, 77, "77")
    );
    assert_eq!(
        decode(6, &[(8, &[236])]),
        enter(EventKind::Vector, 236, "local_timer")
    );
    let kind = EventKind::Vector;
    assert_eq!(
        decode(7, &[(8, &[236])]),
        Some(Point::Exit { kind, number: 236 })
    );
    assert_eq!(decode(8, &[]), None, "no beginning and no end of anything");
    assert_eq!(decode(12, &[]), None);
    assert!(matches!(
        decode(11, &[(8, &[246])]),
        Some(Point::Over { ns: 0, .. })
    ));
    assert_eq!(
        decode(5, &[(24, &[7]), (40, b"a\x1b\xff\\\0rest"), (56, &[9])]),
        Some(Point::Switch {
            previous: 7,
            next: 9,
            name: r"a\x1b\xff\\".into(),
            left: Left::Unknown,
        })
    );
    assert_eq!(
        decode(5, &[(24, &[0xff; 4])]),
        None,
        "no task has a negative number"
    );
    assert!(matches!(
        decode(10, &[(16, &[200])]),
        Some(Point::Over { ns: 200, .. })
    ));
    assert!(matches!(
        decode(10, &[(16, &[0xff; 8])]),
        Some(Point::Over { ns: 0, .. })
    ));
    for length in 0..60 {
        assert_eq!(catalogue.decode(&raw(5, &[])[..length]), None, "{length}");
    }
}

#[test]
fn a_kernel_that_lacks_something_says_what() {
    let root = tempfile::tempdir().unwrap();
    machine(root.path());
    describe(root.path(), "irq", "softirq_exit", 4, "");
    assert_eq!(
        catalogue(root.path()).unwrap_err().to_string(),
        "this kernel describes irq:softirq_exit in an unknown way"
    );
    fs::remove_dir_all(root.path().join("events/irq/softirq_exit")).unwrap();
    assert_eq!(
        catalogue(root.path()).unwrap_err().to_string(),
        "this kernel has no tracepoint irq:softirq_exit"
    );
}

#[test]
fn a_switch_says_how_the_task_left() {
    for (state, priority, left) in [
        (0, 120, Left::Runnable { realtime: false }),
        (0x100, 120, Left::Runnable { realtime: false }),
        (0x100, 49, Left::Runnable { realtime: true }),
        (1, 120, Left::Waits),
        (2, 120, Left::Waits),
        (4, 120, Left::Stopped),
        (8, 49, Left::Stopped),
    ] {
        assert_eq!(Left::of(state, priority), left, "{state:#x} {priority}");
    }
}

#[test]
fn timers_are_recorded_where_the_ticks_function_is_known() {
    let root = tempfile::tempdir().unwrap();
    machine(root.path());
    let function = "\tfield:void * hrtimer;\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:void * function;\toffset:16;\tsize:8;\tsigned:0;\n";
    let flags = "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n";
    let vec = "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n";
    let waking = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n";
    describe(root.path(), "sched", "sched_waking", 21, waking);
    let start = format!("{function}{flags}");
    describe(root.path(), "timer", "hrtimer_expire_entry", 20, &start);
    describe(root.path(), "timer", "hrtimer_start", 22, &start);
    let raise = format!("{vec}{flags}");
    describe(root.path(), "irq", "softirq_raise", 23, &raise);
    assert!(!catalogue(root.path()).unwrap().tells_timers());
    let symbols = "ffff000000001000 t tick_nohz_handler\nffff000000002000 t hrtimer_wakeup\n";
    let functions = Functions::read(symbols.as_bytes(), std::time::Duration::MAX);
    let mut catalogue =
        Catalogue::read(&Tracefs::at(root.path()).unwrap(), Arc::new(functions)).unwrap();
    assert!(catalogue.tells_timers());
    let mut expires = |address: u64| {
        let raw = raw(20, &[(8, &[5]), (16, &address.to_ne_bytes())]);
        catalogue.decode(&raw)
    };
    let point = |is_tick, name: &str| {
        let name = name.into();
        let function = Function { is_tick, name };
        Some(Point::Expires {
            timer: 5,
            function,
            by: Level::Task,
        })
    };
    assert_eq!(
        expires(0xffff_0000_0000_1000),
        point(true, "tick_nohz_handler")
    );
    assert_eq!(
        expires(0xffff_0000_0000_2000),
        point(false, "hrtimer_wakeup")
    );
    assert_eq!(expires(7), point(false, "unknown"));
    let woken = raw(
        21,
        &[(2, &[0x19]), (8, b"cyclic\0"), (24, &77u32.to_ne_bytes())],
    );
    assert_eq!(
        catalogue.decode(&woken),
        Some(Point::Wakes {
            number: 77,
            name: "cyclic".into(),
            by: Level::Interrupt,
        })
    );
    let by = Level::Task;
    let set = raw(22, &[(8, &[0xff; 8])]);
    let timer = u64::MAX;
    assert_eq!(catalogue.decode(&set), Some(Point::Sets { timer, by }));
    let raised = raw(23, &[(8, &[3])]);
    let number = 3;
    assert_eq!(
        catalogue.decode(&raised),
        Some(Point::Raises { number, by })
    );
    let filters = (catalogue.tracepoints().iter()).filter(|one| !one.filter.is_empty());
    let filters: Vec<(&str, &str)> = filters.map(|one| (&*one.name, &*one.filter)).collect();
    let filter = "function != 0xffff000000001000";
    assert_eq!(filters, [("timer:hrtimer_start", filter)]);
    let opened = |catalogue: &Catalogue, name: &str| {
        let one = catalogue.tracepoints().iter().find(|one| one.name == name);
        catalogue.opened(one.unwrap())
    };
    catalogue.with_stacks = true;
    let twice = |when: &str, also: &str| {
        [
            (Stacks::Kernel, format!("!({when}){also}")),
            (Stacks::Empty, format!("({when}){also}")),
        ]
    };
    assert_eq!(
        opened(&catalogue, "sched:sched_waking"),
        twice("common_flags & 8", "")
    );
    let sleeper = "common_flags & 8 || function == 0xffff000000002000";
    assert_eq!(
        opened(&catalogue, "timer:hrtimer_start"),
        twice(sleeper, &format!(" && ({filter})"))
    );
    let empty = [(Stacks::Empty, String::new())];
    assert_eq!(opened(&catalogue, "sched:sched_switch"), empty);
    let catalogue = catalogue.without_stacks();
    let one = [(Stacks::Absent, filter.to_owned())];
    assert_eq!(opened(&catalogue, "timer:hrtimer_start"), one);
    for one in catalogue.tracepoints() {
        let is_of_all = matches!(one.shape, Shape::Act(Act::Sets(..) | Act::Raises(..)));
        let is_for = |watch| (one.is_for_measured(watch, false), one.is_for_others(watch));
        if is_of_all {
            assert_eq!(is_for(Watch::Senders), (false, false), "{}", one.name);
            assert_eq!(is_for(Watch::All), (true, true), "{}", one.name);
        }
    }
    let is_on = |watch| {
        let on = catalogue.recorded(watch, true);
        on.iter().any(|name| name == "timer:hrtimer_start")
    };
    assert_eq!([Watch::Senders, Watch::All].map(is_on), [false, true]);
    let elsewhere: Vec<&str> = (catalogue.tracepoints().iter())
        .filter(|tracepoint| tracepoint.is_for_others(Watch::Senders))
        .map(|tracepoint| tracepoint.name.as_str())
        .collect();
    let wanted = [
        "irq:irq_handler_entry",
        "irq:irq_handler_exit",
        "irq:softirq_entry",
        "irq:softirq_exit",
        "timer:hrtimer_expire_entry",
        "sched:sched_waking",
    ];
    assert_eq!(elsewhere, wanted, "vectors are not told apart elsewhere");
}

#[test]
fn what_the_user_asks_for_is_told_with_its_fields() {
    let directory = tempfile::tempdir().unwrap();
    machine(directory.path());
    let fields = "\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:char comm[4];\toffset:12;\tsize:4;\tsigned:0;\n";
    describe(directory.path(), "sched", "sched_migrate_task", 300, fields);
    let tracefs = Tracefs::at(directory.path()).unwrap();
    let mut catalogue = catalogue(directory.path()).unwrap();
    let asked = |name: &str| machine::Tracepoint {
        system: "sched".into(),
        name: name.into(),
        filter: "pid>1".into(),
    };
    catalogue
        .add(&tracefs, &[asked("sched_migrate_task")])
        .unwrap();
    assert_eq!(catalogue.tracepoints().last().unwrap().filter, "pid>1");
    let mut raw = vec![0; 16];
    raw[..2].copy_from_slice(&300u16.to_ne_bytes());
    raw[8] = 7;
    raw[12..16].copy_from_slice(b"a\x1bb\0");
    let wanted = over(
        EventKind::Tracepoint,
        0,
        &r"sched:sched_migrate_task pid=7 comm=a\x1bb".into(),
        0,
    );
    assert_eq!(catalogue.decode(&raw), Some(wanted));
    let twice = catalogue.add(&tracefs, &[asked("sched_migrate_task")]);
    assert!(matches!(twice, Err(TraceError::RecordedAlready(_))));
    let nowhere = catalogue.add(&tracefs, &[asked("nosuch")]);
    assert!(matches!(nowhere, Err(TraceError::NoSuchEvent(_))));
}

#[test]
fn a_mask_of_cpus_is_read() {
    assert_eq!(cpus(&[0b101, 0, 0b1000_0000]), [0, 2, 23]);
    assert_eq!(cpus(&[]), [] as [u32; 0]);
}
