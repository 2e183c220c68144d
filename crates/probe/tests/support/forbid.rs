//! System calls that the kernel refuses a thread from now on, by a seccomp filter.

/// From now on the kernel answers these system calls of the calling thread with `errno`.
pub fn forbid(calls: &[i64], errno: i32) -> std::io::Result<()> {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let compare = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    // The number of the call is the first word of struct seccomp_data.
    let mut program = vec![step(load, 0, 0)];
    for &call in calls {
        program.push(step(compare, 1, call as u32));
        program.push(step(answer, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
    }
    program.push(step(answer, 0, libc::SECCOMP_RET_ALLOW));
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    let (yes, no): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: the first call sets a flag. The second reads `filter` and the program behind it, which both live
    // through it; a program that the kernel's checker does not accept is refused.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const filter,
            ) == 0
    };
    set.then_some(()).ok_or_else(std::io::Error::last_os_error)
}
