//! A disturber under a seccomp filter that forbids what it would like to ask of the kernel, as containers and sandboxes do.
#![cfg(target_os = "linux")]

#[path = "../../probe/tests/support/forbid.rs"]
mod forbid;

use bandscope_experiments::inject;
use bandscope_probe::pin;
use bandscope_recording::manifest::State;
use bandscope_sampler::machine::Priority;
use forbid::forbid;

#[test]
fn a_disturber_without_real_time_priority_disturbs_and_says_so() {
    let cpu = pin::allowed().unwrap()[0];
    let request = inject::Request {
        kind: inject::Kind::Task,
        cpu,
        measured: Vec::new(),
        priority: Priority::LOWEST,
        period_s: 5e-3,
        length_s: 1e-4,
        jitter_s: 0.0,
        seed: 0,
        duration_s: Some(0.1),
    };
    let thread = std::thread::spawn(move || {
        if let Err(error) = forbid(&[libc::SYS_sched_setscheduler], libc::EPERM) {
            println!("SKIPPED: forbidden system calls: no seccomp filter can be set here: {error}");
            return;
        }
        let disturber = inject::Disturber::start(&request).unwrap();
        let header = disturber.header().clone();
        assert_eq!(header.task.policy, "other");
        let missing = &header.missing[0];
        assert_eq!(missing.what, "real-time priority 1");
        assert!(missing.why.contains("not permitted"), "{}", missing.why);
        while !disturber.ended() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let (rows, end) = disturber.finish();
        assert_eq!(end.disturbances, rows.len() as u64);
        assert_eq!(end.state, State::Complete);
        assert_eq!(end.disturbances + end.skipped, 20);
    });
    thread.join().unwrap();
}
