"""Holds `bandscope doctor` against how a scene's machine was set up, and `bandscope compare` against what a boot line changes.

The truth is the boot line, what the scene wrote, how the kernel was built, and the kernel's own count of timer interrupts.
"""

import json
import re
import subprocess

from judge import Verdict

def built(config):
    """Options of a kernel's build that are set to `y`, and its HZ."""
    text = config.read_text()
    return set(re.findall(r"^CONFIG_(\w+)=y$", text, re.MULTILINE)), int(re.search(r"^CONFIG_HZ=(\d+)$", text, re.MULTILINE)[1])


def expected(scene, config):
    """What each item is to say of a scene: a state, or None for any that was read and is not as a quiet CPU wants it; and what was found."""
    options, hz = built(config)
    given = dict(re.findall(r"(\w+)=(\S+)", scene.boot_line))
    here, several, written = str(scene.measured), scene.cpus > 1, dict(scene.written)
    isolated, stopped, offloaded = (given.get(name) == here for name in ("isolcpus", "nohz_full", "rcu_nocbs"))
    every = f"CPUs 0-{scene.cpus - 1}" if several else "CPU 0"
    workers = "CPU 0" if isolated or written.get("workers") == "1" else every
    elsewhere = given.get("irqaffinity") == "0" or written.get("new_interrupts") == "1"
    limit = written.get("real_time_limit")
    tick = "the tick stops on CPU 1" if stopped else "the tick stops on no busy CPU" if "NO_HZ_FULL" in options else "this kernel is built without NO_HZ_FULL"
    return {
        "isolcpus": ("quiet" if isolated else None, f"CPU {here} isolated" if isolated else "no CPU isolated"),
        "nohz-full": ("quiet" if stopped else None, tick),
        "tick-rate": ("quiet" if stopped else None, f"{hz} ticks a second"),
        "rcu-nocbs": ("quiet" if offloaded or stopped else None, f"callbacks of CPU {here} run elsewhere" if offloaded or stopped else "not set"),
        "irq-affinity": ("quiet" if several and elsewhere else "not-measurable", f"new interrupts may go to {'CPU 0' if elsewhere else every}"),
        "workqueues": ("quiet" if several and workers == "CPU 0" else None, f"unbound workers may use {workers}"),
        "preemption": ("quiet", "PREEMPT_RT" if "PREEMPT_RT" in options else "PREEMPT_DYNAMIC" if "PREEMPT_DYNAMIC" in options else "PREEMPT"),
        "mitigations": ("quiet", "none in force") if given.get("mitigations") == "off" else (None, "spectre_v2"),
        "idle-parameter": ("quiet", f"idle={given['idle']}" if "idle" in given else "not set"),
        "stat-interval": ("quiet" if "stat_interval" in written else None, f"memory statistics every {written.get('stat_interval', '1')} s"),
        "timer-migration": ("quiet", "timers stay") if written.get("timer_migration") == "0" else (None, "timers of idle CPUs move to busy ones"),
        "real-time-limit": ("quiet", "none") if limit == "-1" else (None, "950 ms in each 1000 ms"),
        "watchdog": ("quiet", "off") if written.get("watchdog") == "0" else ("quiet", "on CPU 0") if stopped else (None, f"on {every}" if several else "on"),
        "quota": ("costs", f"{100 * scene.quota:.0f} ms in each 100 ms") if scene.quota else ("quiet", "none"),
    }


def doctor(scene, folder, binary):
    """One verdict an item that is known."""
    said = subprocess.run([binary, "doctor", folder / "it.bandscope", "--format", "json"], check=True, stdout=subprocess.PIPE).stdout
    entries = {entry["item"]: entry for entry in json.loads(said)["entries"]}
    verdicts = []
    for item, (state, found) in expected(scene, folder / "config").items():
        entry = entries[item]
        fits = entry["state"] not in ("quiet", "unknown") if state is None else entry["state"] == state
        right = fits and found in (entry["found"] or "")
        verdicts.append(Verdict(f"doctor {item}", "doctor", "right" if right else "wrong", "", f"{entry['state']}: {entry['found']}; set up: {state}: {found}"))
    return verdicts


def timer_interrupts(folder, cpu):
    """How many the kernel counted on a CPU from just before the recording until just after it."""
    def counted(name):
        line = re.search(r"^ *LOC:(.*)$", (folder / name).read_text(), re.MULTILINE)
        return int(line[1].split()[cpu])

    return counted("interrupts") - counted("interrupts-before")


def boot_line(without, isolated, cpu, binary):
    """Whether `compare` says by name that a boot line took the tick away, of the folders of two scenes."""
    said = subprocess.run([binary, "compare", without / "it.bandscope", isolated / "it.bandscope", "--format", "json"], check=True, stdout=subprocess.PIPE).stdout
    said = json.loads(said)
    ticks = [line for line in lines_of(said) if line["name"] == "gap: tick"]
    counted = [timer_interrupts(folder, cpu) for folder in (without, isolated)]
    fell = all(line["b"] < line["a"] / 10 for line in ticks) and any(line["changed"] for line in ticks)
    right = bool(ticks) and fell and counted[1] < counted[0] / 10 and "gap: tick from" in said["verdict"]
    note = f"{[(line['a'], line['b'], line['changed']) for line in ticks]}; timer interrupts meanwhile, as the kernel counts them: {counted}"
    return Verdict("boot-line tick", "boot-line", "right" if right else "wrong", "", note)


def lines_of(value):
    """Every figure with two sides, however deep."""
    if isinstance(value, dict):
        if {"name", "a", "b", "changed"} <= value.keys():
            yield value
        for one in value.values():
            yield from lines_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from lines_of(one)


def cured(scene, folder):
    """Whether the lines that a cure acts on fell to a twentieth, and everything was put back. What it saves in all is not judged: two CPUs run in turn."""
    if not (folder / "cure.json").read_text().strip():
        return [Verdict(f"cure {scene.cure}", "cure", "missed", "", (folder / "cure.log").read_text().strip())]
    cure = json.loads((folder / "cure.json").read_text())["cures"][0]
    mine = [line["share"] for line in cure["lines"] if line["line"].startswith(scene.line)]
    before, after = (sum(one[side] for one in mine) for side in ("without", "with"))
    settings = [dict(line.rpartition(":")[::2] for line in (folder / name).read_text().splitlines()) for name in ("set-before", "set-after")]
    # Threads come and go, such as the shell's own.
    changed = {key: (settings[0].get(key), settings[1].get(key)) for key in settings[0] | settings[1]
               if settings[0].get(key) != settings[1].get(key) and not (key[:1].isdigit() and None in (settings[0].get(key), settings[1].get(key)))}
    threads = [key for key in settings[0].keys() & settings[1].keys() if key[:1].isdigit()]
    complete = "" in settings[0] and any(key.startswith("irq/") for key in settings[0]) and len(threads) >= 10
    return [
        Verdict(f"cure {scene.cure}: its line", "cure", "right" if before and after <= before / 20 else "wrong", "", f"{scene.line} {before:.4%} of the time, then {after:.4%}; {cure['sentence']}"),
        Verdict(f"cure {scene.cure}: put back", "cure", "right" if complete and not changed else "wrong", "",
                f"{len(threads)} threads that stayed, {len(settings[0])} settings; changed: {changed}"),
    ]
