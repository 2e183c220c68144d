"""The scenes: what disturbs, how bandscope is started, and what is true of it.

A scene is data. `script()` is what the guest runs; `judge.py` takes the rest as the truth.
"""

import dataclasses

from kernels import ARM, OLD, RT, STANDARD

# What a scene sets, and where.
WRITTEN = {
    "stat_interval": "/proc/sys/vm/stat_interval",
    "timer_migration": "/proc/sys/kernel/timer_migration",
    "real_time_limit": "/proc/sys/kernel/sched_rt_runtime_us",
    "watchdog": "/proc/sys/kernel/watchdog",
    "workers": "/sys/devices/virtual/workqueue/cpumask",
    "new_interrupts": "/proc/irq/default_smp_affinity",
}

# Long enough for 400 periods of the slowest task, short enough that all scenes fit into the time of a check.
SECONDS = 4


@dataclasses.dataclass(frozen=True)
class Disturber:
    """One run of machines/guest/disturb.c; times in microseconds."""

    name: str
    mode: str = "spin"
    period: int = 0
    length: int = 0
    count: int = 1
    fifo: int = 1
    threads: int = 1
    cpu: int = 0
    target: int = 0
    seconds: int = 60
    # Milliseconds until it begins.
    delay: int = 0

    @property
    def hz(self):
        """Frequency of its train; None where it has no period."""
        return self.threads * 1e6 / self.period if self.period else None

    def command(self, log):
        keys = [f"{key}={value}" for key in ("name", "period", "length", "count", "fifo", "threads", "cpu", "target", "seconds", "delay")
                if (value := getattr(self, key)) != "" and not (key == "period" and not value)]
        return f"disturb {self.mode} {' '.join(keys)} log={log}"


# What a cure may change: affinities of interrupts, of all threads but those that come and go, and of unbound workers.
SETTINGS = ("(cd /proc; grep -H . irq/*/smp_affinity_list; grep -H Cpus_allowed_list $(grep -Lx 'Name:.kworker.*' $(ls -d [0-9]*/task/*/status | grep -v \"^$$/\"));"
            " cat /sys/devices/virtual/workqueue/cpumask) 2>/dev/null")


@dataclasses.dataclass(frozen=True)
class Caught:
    """What a flight recorder has to catch each time that the disturber is at it, and who is behind it."""

    condition: str
    # The part of the gap that the disturber is behind.
    cause: str
    sender: str
    # A function that the part ran, or in which it was sent.
    function: str = ""
    set_by: str = ""


@dataclasses.dataclass(frozen=True)
class Scene:
    """A machine, what happens on it, and how it is measured."""

    name: str
    disturbers: tuple = ()
    root: bool = True
    cpus: int = 1
    # The CPU that is measured.
    measured: int = 0
    boot_line: str = ""
    # Share of the CPU that a quota of a control group leaves, and the real-time priority of the measured thread.
    quota: float | None = None
    priority: int | None = None
    # Signals to the program while it measures: seconds after it begins to stop, and to continue.
    stopped: tuple = ()
    modules: tuple = ()
    # The command line of another tool that measures in the place of bandscope.
    tool: str = ""
    catch: Caught | None = None
    # What `bandscope cure` is told to try in place of a recording, and the line of the ledger that it acts on.
    cure: str = ""
    line: str = ""
    # Settings of `WRITTEN`, and what is written there first.
    written: tuple = ()
    # What else the shell starts.
    shell: str = ""
    seconds: int = SECONDS

    def script(self):
        lines = [f"echo {value} >{WRITTEN[name]}" for name, value in self.written]
        for disturber in self.disturbers:
            lines.append(f"{disturber.command(f'/tmp/out/{disturber.name}.tsv')} &")
        if self.shell:
            lines.append(self.shell)
        if self.disturbers or self.shell:
            lines.append("sleep 2")
        record = f"bandscope record --cpus {self.measured} --duration {self.seconds}s --output /tmp/out/it.bandscope"
        if self.catch:
            record += f" --trace on --around 1ms --catch '{self.catch.condition}'"
        if self.cure:
            record = f"bandscope cure {self.cure} --cpus {self.measured} --budget 100s --trial 500ms --seed 1 --yes --format json --output it.cures.json >cure.json 2>cure.log"
        if self.tool:
            record = f"{self.tool} >/tmp/out/tool.txt 2>&1"
        if self.priority:
            record = f"disturb become fifo={self.priority} {record}"
        if not self.root:
            record = f"su -s /bin/sh nobody -c '{record}'"
        if self.quota:
            lines += ["mkdir /sys/fs/cgroup/quota", f"echo {round(self.quota * 100000)} 100000 >/sys/fs/cgroup/quota/cpu.max"]
            record = f"sh -c 'echo 0 >/sys/fs/cgroup/quota/cgroup.procs; exec {record}'" if self.root else \
                f"sh -c 'echo 0 >/sys/fs/cgroup/quota/cgroup.procs; exec su -s /bin/sh nobody -c \"{record[len('su -s /bin/sh nobody -c ') + 1:-1]}\"'"
        if self.cure:
            lines.append(f"{SETTINGS} >/tmp/out/set-before")
        lines.append("cat /proc/interrupts >/tmp/out/interrupts-before")
        lines.append(f"cd /tmp/out; {record} &")
        lines.append("measuring=$!")
        if self.stopped:
            stop, go_on = self.stopped
            lines += [f"sleep {stop}; killall -STOP bandscope; sleep {go_on}; killall -CONT bandscope"]
        lines.append("wait $measuring; echo status $?")
        if self.cure:
            lines.append(f"{SETTINGS} >/tmp/out/set-after")
        lines.append("killall disturb 2>/dev/null; wait")
        if self.quota:
            lines.append("cat /sys/fs/cgroup/quota/cpu.stat >/tmp/out/cpu.stat")
        lines.append("cat /proc/stat >/tmp/out/stat; cat /proc/interrupts >/tmp/out/interrupts")
        return "\n".join(lines) + "\n"


def spin(period, length, name=None, **more):
    return Disturber(name or f"spin-{period}us", period=period, length=length, **more)


TASKS = tuple((f"task-{period // 1000}ms", (spin(period, length),))
              for period, length in ((2000, 50), (3000, 60), (5000, 50), (7000, 300), (10000, 60), (20000, 300)))
CROWDS = (
    ("tasks-250-333", (spin(4000, 20), spin(3000, 50))),
    ("tasks-200-250", (spin(5000, 50), spin(4000, 60))),
    ("tasks-100-125-500", (spin(10000, 300), spin(8000, 60), spin(2000, 50))),
)
TIMER = ("timer-1khz", (Disturber("sleeper", "timer", period=1000, fifo=0),))
SLICES = ("slices", (Disturber("hog", "hog", fifo=0),))
NET = ("loopback", (Disturber("loopback", "net", period=3000, count=8),))

ONE_CPU = (
    Scene("nothing"),
    *(Scene(name, disturbers) for name, disturbers in (*TASKS, *CROWDS, TIMER, SLICES)),
    Scene("quota-60", quota=0.6),
    Scene("quota-20", quota=0.2),
    # It begins while the measurement runs: what takes 95 % of a CPU would keep the program from getting ready.
    Scene("task-at-its-limit", (Disturber("greedy", "hog", fifo=1, seconds=2, delay=5500),)),
    Scene("stopped", stopped=(3, 1)),
    Scene("threads-50", (Disturber("crowd", "spin", period=50000, length=20, threads=50),)),
    Scene(*NET),
    Scene("block", (Disturber("reader", "block", period=3000, count=4),), modules=("configfs", "null_blk")),
)


def without_root(scene):
    """The same where no root asks."""
    return dataclasses.replace(scene, name=f"{scene.name}-unprivileged", root=False)


WITHOUT_ROOT = tuple(without_root(scene) for scene in ONE_CPU if scene.priority is None)


def six(cpus=1, boot_line="", suffix=""):
    """Six scenes for the other kernels and machines."""
    measured = cpus - 1
    place = [dataclasses.replace(disturber, cpu=measured) for _, disturbers in (TASKS[2], CROWDS[1], TIMER, SLICES, NET) for disturber in disturbers]
    task, first, second, timer, hog, _ = place
    scenes = [Scene("nothing"), Scene("task-5ms", (task,)), Scene("tasks-200-250", (first, second)), Scene("timer-1khz", (timer,)),
              Scene("slices", (hog,)), Scene("quota-60", quota=0.6)]
    if cpus == 2:
        # A storm of interrupts comes from another CPU.
        scenes[-1] = Scene("ipi", (Disturber("ringer", "ipi", period=2000, count=5, cpu=0, target=1),))
    return tuple(dataclasses.replace(scene, name=scene.name + suffix, cpus=cpus, measured=measured, boot_line=boot_line) for scene in scenes)


def caught(name, disturber, condition, cause, sender, **more):
    """A scene of twenty rare gaps, five a second."""
    return Scene(f"catch-{name}", (disturber,), catch=Caught(condition, cause, sender, **more))


RARE = 200000
CATCH_TASK = caught("task", Disturber("maker", "wake", period=RARE, length=200), "gap:task:woken > 150 us", "task:woken", "task:maker")
CATCH_TIMER = caught("timer", spin(RARE, 200, "sleeper"), "gap:task:sleeper > 150 us", "task:sleeper", "timer:hrtimer_wakeup", set_by="task:sleeper")
CATCH_WORKER = caught("worker", Disturber("maker", "tty", period=RARE, count=4000), "gap:task:kworker* > 150 us", "task:kworker/", "task:maker", function="flush_to_ldisc")
CATCH_SOFTIRQ = caught("softirq", Disturber("loopback", "net", period=RARE, count=60), "gap:softirq:NET_RX > 100 us", "softirq:NET_RX", "task:loopback")
CATCH_IPI = dataclasses.replace(
    caught("ipi", Disturber("ringer", "ipi", period=RARE, cpu=0, target=1), "gap:irq:call_function_single > 1 us", "irq:call_function_single", "task:ringer"),
    cpus=2, measured=1)
CATCH = (CATCH_TASK, CATCH_TIMER, CATCH_WORKER, CATCH_SOFTIRQ, CATCH_IPI)

def cured(name, cure, line, *disturbers, **more):
    """A scene of two CPUs, of which something takes part of the second until the cure acts on it."""
    disturbers = tuple(dataclasses.replace(disturber, seconds=600) for disturber in disturbers)
    return Scene(f"cure-{name}", disturbers, cpus=2, measured=1, cure=cure, line=line, **more)


# A serial port interrupts the second CPU for every sixteen bytes that the first one writes to it.
SERIAL = "(taskset 1 sh -c 'while :; do printf %0480d 0; usleep 5000; done >/dev/ttyS0' &)\nsleep 1; echo 1 >/proc/irq/4/smp_affinity_list"
CURES = (
    cured("task", "tasks --only spin-5000us", "task:spin-5000us", spin(5000, 300, cpu=1)),
    cured("worker", "workers", "task:kworker/u", Disturber("maker", "tty", period=5000, count=4000), written=(("workers", "2"),)),
    cured("interrupt", "interrupts", "irq:ttyS0", shell=SERIAL),
)

# A measuring thread that is itself real-time. Before 6.12 the limit of real-time tasks idles the CPU; from 6.12 on nothing does, and the fair
# server gives ordinary tasks a share.
REALTIME = ((OLD, Scene("realtime-self", priority=10)),
            (STANDARD, Scene("realtime-self", (Disturber("waiting", "hog", fifo=0),), priority=10)))
# On 6.12 real-time the same guest does not end: after the measurement the ordinary task keeps the CPU, with the real-time one runnable.
UNDONE = ((RT, REALTIME[1][1]),)
ISOLATED = "isolcpus=1 nohz_full=1 rcu_nocbs=1 irqaffinity=0"
# Set up otherwise than it boots, for `doctor`.
SYSCTLS = (("stat_interval", "10"), ("timer_migration", "0"), ("real_time_limit", "-1"), ("watchdog", "0"))
ON_ONE_CPU = Scene("set-up-one-cpu", boot_line="mitigations=off", written=SYSCTLS)
SET_UP = (
    Scene("set-up", cpus=2, measured=1, boot_line=f"{ISOLATED} mitigations=off idle=nomwait", written=SYSCTLS),
    Scene("set-up-running", cpus=2, measured=1, written=(("workers", "1"), ("new_interrupts", "1"))),
)
SET_UP_WITHOUT_ROOT = tuple((kernel, without_root(scene))
                            for kernel, scene in ((STANDARD, SET_UP[0]), (STANDARD, SET_UP[1]), (OLD, ON_ONE_CPU), (RT, ON_ONE_CPU)))
ALL = (
    *((RT, scene) for scene in (*ONE_CPU, *WITHOUT_ROOT)),
    *((STANDARD, scene) for scene in six()),
    *((OLD, scene) for scene in six()),
    *REALTIME,
    *((STANDARD, scene) for scene in six(2, suffix="-two-cpus")),
    *((STANDARD, scene) for scene in six(2, ISOLATED, "-isolated")),
    *((ARM, scene) for scene in six()),
    *((STANDARD, scene) for scene in CATCH),
    # Where timers expire in a softirq, on another architecture, and before a kernel told who sent an interrupt.
    *((RT, scene) for scene in (CATCH_TIMER, CATCH_SOFTIRQ)),
    *((ARM, scene) for scene in (CATCH_TIMER, CATCH_WORKER)),
    *((OLD, scene) for scene in (CATCH_TASK, CATCH_TIMER)),
    *((STANDARD, scene) for scene in CURES),
    *((kernel, scene) for kernel in (RT, STANDARD) for scene in SET_UP),
    # With two CPUs 6.1 does not come up on this machine.
    (OLD, ON_ONE_CPU),
    *SET_UP_WITHOUT_ROOT,
)
# What every landing must pass: quiet; a task and a timer; a quota.
SLICE = (
    (RT, Scene("nothing")),
    (RT, Scene("task-and-timer", (*TASKS[2][1], *TIMER[1]))),
    (RT, Scene("quota-60", quota=0.6)),
)
OTHER_TOOLS = {
    "osnoise": f"rtla osnoise top -c 0 -d {SECONDS}s -q",
    "timerlat": f"rtla timerlat top -c 0 -d {SECONDS}s -q",
    "oslat": f"oslat -c 0 -C 0 -D {SECONDS} -z",
}
BESIDE_TOOLS = tuple(
    (RT, dataclasses.replace(scene, name=f"{scene.name}-beside-{tool}", tool=command))
    for scene in (Scene("nothing"), Scene(*TASKS[2]), Scene(*CROWDS[1]), Scene(*TIMER))
    for tool, command in OTHER_TOOLS.items()
)
