"""Time, memory and size of the page of a large fleet: `fleet --format html` of summaries that one recording gives under other names.

Usage: fleet_size.py BANDSCOPE NODES CPUS [RECORDING]

Without RECORDING it is of a simulated machine. Each hundredth node loses more by a task. Losses scatter by 20 % from CPU to CPU.
"""

import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

binary = pathlib.Path(sys.argv[1]).resolve()
nodes, cpus = int(sys.argv[2]), int(sys.argv[3])
# Nodes that differ in their figures; the others repeat them under their own names.
DISTINCT = 500
# As `summarise` keeps of each CPU of a node with so many.
GAPS = min(32, max(4, 512 // cpus))
NAME, RUN = "name-of-the-node", "0" * 32


def node(document, random, is_slow):
    def of_cpu(number):
        cpu = json.loads(json.dumps(random.choice(document["cpus"])))
        del cpu["longest"][GAPS:]
        # Only the worst stretch of a node is told part by part.
        for window in cpu["worst"] if number else []:
            window["parts"], window["causes"] = [], []
        for loss in cpu["losses"]:
            scale = random.lognormvariate(0, 0.2)
            loss["share"] *= scale
            loss["causes"] = [[name, share * scale] for name, share in loss["causes"]]
        if is_slow:
            cpu["losses"].append({"loss": "other tasks of the site", "share": 0.03, "error": 1e-4, "causes": [["backup", 0.03]]})
        return {**cpu, "cpu": number, "lost": min(1.0, sum(loss["share"] for loss in cpu["losses"]))}

    return json.dumps({**document, "node": NAME, "run": RUN, "cpus": [of_cpu(number) for number in range(cpus)]}, separators=(",", ":"))


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        recording = sys.argv[4] if len(sys.argv) > 4 else directory / "one.bandscope"
        if len(sys.argv) <= 4:
            subprocess.run([binary, "record", "--machine", "simulated:tick+tasks", "--duration", "5s", "-q", "-o", recording], check=True, stdout=subprocess.DEVNULL)
        document = json.loads(subprocess.check_output([binary, "export", recording, "--format", "summary"]))
        draw = random.Random(1)
        kinds = [node(document, draw, kind % 100 == 0) for kind in range(min(DISTINCT, nodes))]
        inputs, size = [], 0
        for number in range(nodes):
            text = kinds[number % len(kinds)].replace(NAME, f"n{number}").replace(RUN, f"{number:032x}")
            size += len(text)
            inputs.append(directory / f"{number}.json")
            inputs[-1].write_text(text)
        page = directory / "fleet.html"
        begun = time.monotonic()
        subprocess.run([binary, "fleet", *[path.name for path in inputs], "--format", "html", "-o", page.name], cwd=directory, check=True)
        took = time.monotonic() - begun
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        mib = used.ru_maxrss / 1024
        print(f"{nodes:,} nodes of {cpus} CPUs, {size / 1e6:,.0f} MB of summaries: {took:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of CPU time), {mib:,.0f} MiB, page {page.stat().st_size / 1e6:.1f} MB")


main()
