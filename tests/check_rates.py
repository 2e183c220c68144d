#!/usr/bin/env python3
"""How often `check --against` fails an unchanged machine, and how often it notices 1 % added on purpose.

    sudo tests/check_rates.py target/release/bandscope [UNCHANGED] [DISTURBED] [CPU]
    tests/check_rates.py target/release/bandscope 100 20 simulated

Saves a baseline of 30 runs of 2 s. Then UNCHANGED checks (100) and DISTURBED ones (20), a run of 2 s each, spread over the session. A
disturbed one runs beside `bandscope inject`: 50 µs each 5 ms, which is 1 % of the CPU. Root and kernel events name the task.

The figures to reach: of 100 unchanged checks at most 9 fail; of 20 disturbed ones all fail on `task:*`. Both hold for a machine that
nobody else uses. So the spread of the baseline and the load are printed, and the exit status says only whether both were reached.
With `simulated`, runs of a simulated machine with random tasks take the place of real ones, a seed each: there unchanged is unchanged.
120 checks take some ten minutes; after LIMIT_S it stops, and says how far it came.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

LIMIT_S = 1800
INJECT = ["--period", "5ms", "--length", "50us", "--duration", "60s"]


# Random tasks, some of them long; and 1 % more.
SIMULATED = "simulated:tick:hz=250,cost=3us+tasks:hz=50,mean=100us+heavy-tail:hz=50"
ADDED = "+timed-task:hz=200,cost=50us"


def check(program, directory, *more):
    """The result of a check; raises where it could not be made."""
    done = subprocess.run([program, "check", "--format", "json", *more], cwd=directory, capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        raise SystemExit(f"check {' '.join(more)}: exit status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def failed(result):
    """Names of figures that fail, with value, baseline and limit."""
    changes = [change for cpu in result["cpus"] for change in cpu["changes"] if change["fails"]]
    return {change["name"]: [change["value"], change["baseline"], change["limit"]] for change in changes}


def disturbed(program, directory, cpu):
    """A check beside a disturbance; that ends with it, whatever happens."""
    words = ["inject", "--cpu", cpu, *INJECT, "--log", f"log-{time.monotonic_ns()}.jsonl"]
    child = subprocess.Popen([program, *words], cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        if child.poll() is not None:
            raise SystemExit(f"inject ended by itself, with exit status {child.returncode}")
        return check(program, directory, "--against", "quiet.json", "--duration", "2s")
    finally:
        child.terminate()
        child.wait()


def measure(program, directory, kind, number, cpu):
    """A check of one of both kinds, of the real or the simulated machine."""
    against = ["--against", "quiet.json", "--duration", "2s"]
    if cpu == "simulated":
        scenario = SIMULATED + (ADDED if kind == "disturbed" else "") + f",seed={1000 + number}"
        return check(program, directory, *against, "--machine", scenario)
    return disturbed(program, directory, cpu) if kind == "disturbed" else check(program, directory, *against)


def main():
    program = os.path.abspath(sys.argv[1])
    numbers = [int(word) for word in sys.argv[2:4]]
    unchanged, wanted = (numbers + [100, 20][len(numbers):])[:2]
    cpu = sys.argv[4] if len(sys.argv) > 4 else str(max(os.sched_getaffinity(0)))
    begun = time.monotonic()
    results = {"unchanged": [], "disturbed": []}
    with tempfile.TemporaryDirectory() as directory:
        which = ["--machine", SIMULATED] if cpu == "simulated" else ["--cpus", cpu]
        check(program, directory, *which, "--duration", "60s", "--runs", "30", "--save", "quiet.json")
        with open(os.path.join(directory, "quiet.json")) as text:
            figures = json.load(text)["cpus"][0]["figures"]
        for figure in figures:
            if figure["name"] in ("lost", "task:*"):
                print(f"baseline: {figure['name']} {' '.join(f'{100 * value:.2f}' for value in figure['values'])} %", flush=True)
        # In turns, so that both see the same machine.
        order = sorted([((n + 0.5) / unchanged, "unchanged") for n in range(unchanged)] + [((n + 0.5) / wanted, "disturbed") for n in range(wanted)])
        for number, (_, kind) in enumerate(order):
            if time.monotonic() - begun > LIMIT_S:
                print(f"stopped after {LIMIT_S} s")
                break
            result = measure(program, directory, kind, number, cpu)
            found = failed(result)
            results[kind].append(found)
            of_tasks = next((f"{100 * change['value']:.2f} % of at most {100 * change['limit']:.2f} %" for change in result["cpus"][0]["changes"] if change["name"] == "task:*"), "not known")
            print(f"{kind}: {', '.join(found) or 'passes'} (task:* {of_tasks}, load {os.getloadavg()[0]:.1f})", flush=True)
    false_alarms = sum(bool(found) for found in results["unchanged"])
    noticed = sum("task:*" in found for found in results["disturbed"])
    print(f"unchanged: {false_alarms} of {len(results['unchanged'])} fail (at most 9 of 100)")
    print(f"disturbed by 1 %: {noticed} of {len(results['disturbed'])} fail on task:* (all)")
    reached = false_alarms * 100 <= 9 * len(results["unchanged"]) and noticed == len(results["disturbed"]) == wanted
    sys.exit(0 if reached else 1)


main()
