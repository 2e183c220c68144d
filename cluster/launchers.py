#!/usr/bin/env python3
"""Real launchers start the program as tasks of a job: launchers.py PROGRAM

Open MPI's and MPICH's mpirun, and Slurm's srun on four nodes: its daemons run here, four slurmd of one machine. Each job must leave a part and a summary for each task, and
`bandscope fleet` must find them all, by node and number. Under Slurm a second job into the same directory is refused; a task that is killed is named; and a
prolog whose `bandscope check` fails drains its node. Slurm also starts the ranks of bandscope-mpi, of both MPIs. Needs a static or native program, and root for Slurm's daemons. Says SKIPPED for a launcher that is not there.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NODES = 4
# Other daemons of Slurm may run on the machine; these ports are not theirs.
CONTROLLER_PORT, NODE_PORT = 26817, 26820
LIMIT_S = 60
SIMULATED = ["--machine", "simulated:tick", "--rate", "1000", "--samples", "1000"]


def run(command: list, work: Path, **more) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], cwd=work, capture_output=True, text=True, timeout=LIMIT_S, **more)


def expect(is_so: bool, what: str, *seen: object) -> None:
    if not is_so:
        raise SystemExit(f"FAILED: {what}\n" + "\n".join(str(one) for one in seen))
    print(f"ok     {what}", flush=True)


def fleet(program: Path, work: Path, job: str) -> dict:
    done = run([program, "fleet", job, "--format", "json"], work)
    expect(done.returncode == 0, f"{job}: fleet reads it", done.stderr)
    return json.loads(done.stdout)


def parts(work: Path, job: str) -> list[str]:
    return sorted(str(path.relative_to(work / job).parent) for path in (work / job).glob("node=*/task=*/summary.json"))


def mpi(name: str, launch: list, program: Path, work: Path) -> None:
    if shutil.which(launch[0]) is None:
        print(f"SKIPPED: no {launch[0]}: {name} started nothing")
        return
    job = f"{name}-job"
    done = run([*launch, "-n", "3", program, "record", *SIMULATED, "--output", job], work)
    expect(done.returncode == 0, f"{name}: three tasks record", done.stdout, done.stderr)
    expect([part.split("/")[1] for part in parts(work, job)] == ["task=0", "task=1", "task=2"], f"{name}: a part for each", parts(work, job))
    rows = fleet(program, work, job)["nodes"]
    expect([row["cpus"] for row in rows] == [3], f"{name}: one node with three CPUs", rows)


def configuration(directory: Path, prolog: Path) -> str:
    return f"""
ClusterName=bandscope
SlurmctldHost=localhost
SlurmctldPort={CONTROLLER_PORT}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmUser=root
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd-%n.log
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
TmpFS={directory}/tmp-%n
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
Prolog={prolog}
PrologFlags=Alloc
NodeName=n[1-{NODES}] NodeHostname=localhost Port=[{NODE_PORT}-{NODE_PORT + NODES - 1}] CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def slurm(program: Path, work: Path) -> None:
    lacking = [tool for tool in ("slurmctld", "slurmd", "srun", "scontrol", "munged") if shutil.which(tool) is None]
    if lacking or os.geteuid() != 0:
        print(f"SKIPPED: {', '.join(lacking) or 'not root'}: Slurm started nothing")
        return
    directory = work / "slurm"
    own = [f"{kind}-n{number}" for kind in ("spool", "tmp") for number in range(1, NODES + 1)]
    for name in ("", "state", *own):
        (directory / name).mkdir()
    # As docs/check.md has it; which nodes fail is a file here, as all of them are this machine.
    prolog = directory / "prolog"
    prolog.write_text(
        f"#!/bin/sh\nlimit='lost > 99 %'\n[ -e {directory}/bad-$SLURMD_NODENAME ] && limit='lost > 0.001 %'\n"
        f"exec {program} check --machine simulated:tick --duration 1s --fail-if \"$limit\" 2>&1\n"
    )
    prolog.chmod(0o755)
    (directory / "slurm.conf").write_text(configuration(directory, prolog))
    key = directory / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    environment = {**os.environ, "SLURM_CONF": str(directory / "slurm.conf")}
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={directory}/munge.socket"]
    munge += [f"--pid-file={directory}/munge.pid", f"--log-file={directory}/munge.log", f"--seed-file={directory}/munge.seed"]
    daemons = [munge, ["slurmctld", "-D", "-c"], *(["slurmd", "-D", "-N", f"n{number}"] for number in range(1, NODES + 1))]
    started = []
    try:
        for daemon in daemons:
            started.append(subprocess.Popen(daemon, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            time.sleep(1)
        idle = wait_for_idle(work, environment)
        expect(idle == NODES, f"slurm: {NODES} nodes are idle", idle, (directory / "slurmctld.log").read_text()[-2000:])
        jobs(program, work, environment, directory)
    finally:
        for daemon in reversed(started):
            daemon.send_signal(signal.SIGTERM)
        for daemon in started:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()


def wait_for_idle(work: Path, environment: dict) -> int:
    for _ in range(30):
        said = run(["sinfo", "-h", "-N", "-o", "%N %t"], work, env=environment).stdout.split("\n")
        idle = sum(line.endswith(" idle") for line in said)
        if idle == NODES:
            break
        time.sleep(1)
    return idle


def jobs(program: Path, work: Path, environment: dict, directory: Path) -> None:
    srun = ["srun", "-N", str(NODES), "--overcommit", "-n"]
    record = [program, "record", *SIMULATED, "--output"]
    done = run([*srun, str(NODES), *record, "slurm-job"], work, env=environment)
    expect(done.returncode == 0, "slurm: four nodes record", done.stdout, done.stderr)
    expect(parts(work, "slurm-job") == [f"node=n{node}/task={node - 1}" for node in range(1, NODES + 1)], "slurm: a part on each node", parts(work, "slurm-job"))
    said = fleet(program, work, "slurm-job")
    expect([row["node"] for row in said["nodes"]] == [f"n{node}" for node in range(1, NODES + 1)], "slurm: fleet names the nodes", said["nodes"])

    done = run([*srun, str(NODES), *record, "slurm-job"], work, env=environment)
    expect(done.returncode == 2 and done.stderr.count("exists already") == NODES, "slurm: a second job into the same parts is refused", done.stderr)

    kill = f"[ $SLURM_PROCID = 2 ] && exit 9; exec {program} record {' '.join(SIMULATED)} --output killed-job"
    run([*srun, str(NODES), "sh", "-c", kill], work, env=environment)
    notes = " ".join(fleet(program, work, "killed-job")["notes"])
    expect("1 of 4 tasks left no part: 2" in notes, "slurm: a task that failed is named", notes)

    path = {**environment, "PATH": f"{work}/bin:{os.environ['PATH']}"}
    (work / "bin").mkdir()
    (work / "bin" / "bandscope").symlink_to(program)
    script = Path(__file__).resolve().parent / "fleet.sbatch"
    done = run(["sbatch", "--wait", f"--nodes={NODES}", "--output=batch.txt", script, *SIMULATED], work, env=path)
    said = (work / "batch.txt").read_text() if (work / "batch.txt").exists() else ""
    expect(done.returncode == 0 and f"{NODES} nodes" in said, "slurm: fleet.sbatch reports the fleet", done.stderr, said)

    together(srun, program, work, environment)

    (directory / "bad-n3").touch()
    run(["sbatch", "-w", "n3", "-n", "1", "--wrap", "true"], work, env=environment)
    state = ""
    for _ in range(20):
        state = run(["sinfo", "-h", "-n", "n3", "-o", "%t %E"], work, env=environment).stdout.strip()
        if state.startswith("drain"):
            break
        time.sleep(1)
    expect(state.startswith("drain"), "slurm: a node whose check fails in the prolog is drained", state)


def together(srun: list[str], program: Path, work: Path, environment: dict) -> None:
    """Slurm itself starts the ranks of bandscope-mpi: by PMI-2 those of MPICH, by PMIx those of Open MPI."""
    source = Path(__file__).resolve().parent / "bandscope-mpi.c"
    offered = run(["srun", "--mpi=list"], work, env=environment)
    for kind, protocol in (("mpich", "pmi2"), ("openmpi", "pmix")):
        if shutil.which(f"mpicc.{kind}") is None or protocol not in (offered.stdout + offered.stderr).split():
            print(f"SKIPPED: no mpicc.{kind} or no srun --mpi={protocol}: srun started no bandscope-mpi of {kind}")
            continue
        built = work / f"bandscope-mpi-{kind}"
        run([f"mpicc.{kind}", "-O2", "-o", built, source], work, check=True)
        command = [*srun, str(NODES), f"--mpi={protocol}", built, *SIMULATED, "-qo", f"{kind}-together"]
        done = run(command, work, env={**environment, "BANDSCOPE": str(program)})
        clocks = [json.loads(path.read_text())["reference"] for path in (work / f"{kind}-together").glob("node=*/task=*/clock.json")]
        is_one_job = len(clocks) == NODES and len(set(clocks)) == 1
        is_so = done.returncode == 0 and f"{NODES} nodes, {NODES} CPUs" in done.stdout and is_one_job
        expect(is_so, f"slurm: srun --mpi={protocol} starts bandscope-mpi of {kind}: one report, one clock of {NODES} nodes", done.returncode, done.stdout, done.stderr, clocks)
        if kind == "mpich":
            done = run([*srun, str(NODES), "--mpi=none", built, *SIMULATED, "-qo", "alone"], work, env={**environment, "BANDSCOPE": str(program)})
            is_so = done.returncode == 2 and "--mpi=pmi2" in done.stderr and not (work / "alone").exists()
            expect(is_so, "slurm: srun --mpi=none starts no job of bandscope-mpi", done.returncode, done.stdout, done.stderr)


def main() -> int:
    program = Path(sys.argv[1]).resolve()
    # So that Slurm's daemons end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="bandscope-launchers-") as directory:
        work = Path(directory)
        mpi("open-mpi", ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"], program, work)
        mpi("mpich", ["mpirun.mpich"], program, work)
        slurm(program, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
