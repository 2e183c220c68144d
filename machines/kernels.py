"""Packaged kernels: fetched by the name of a Debian meta-package and unpacked, never installed.

`get(Kernel)` returns the path of vmlinuz, the version and the folder of its modules. Packages are kept under target/machines/kernels. Another architecture's
packages come by a package list of our own, so that the system's settings stay as they are.
"""

import dataclasses
import lzma
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "machines"


class Skipped(Exception):
    """What this machine cannot do, and why."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel by the meta-package that names its newest version."""

    name: str
    package: str
    architecture: str = "amd64"


RT = Kernel("6.12 real-time", "linux-image-6.12-rt-amd64")
STANDARD = Kernel("6.12", "linux-image-6.12-amd64")
OLD = Kernel("6.1", "linux-image-amd64")
ARM = Kernel("6.12 arm64", "linux-image-6.12-arm64", "arm64")


def output(*command, **more):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def options(architecture):
    """What tells apt to look for another architecture in lists of its own, and to leave the system's alone."""
    if architecture == output("dpkg", "--print-architecture").strip():
        return []
    state = WORK / f"apt-{architecture}"
    chosen = ["-o", f"APT::Architecture={architecture}", "-o", f"APT::Architectures={architecture}", "-o", f"Dir::State={state}",
              "-o", f"Dir::Cache={state}/cache", "-o", "Dir::State::status=/dev/null", "-o", "APT::Sandbox::User=root"]
    if not (state / "lists").exists():
        (state / "lists/partial").mkdir(parents=True)
        (state / "cache/archives/partial").mkdir(parents=True)
        subprocess.run(["apt-get", *chosen, "-qq", "update"], check=False, stderr=subprocess.DEVNULL)
        # apt's status is 0 where nothing answered. Without an index the next run has to ask again.
        if not any((state / "lists").glob("*_Packages*")):
            shutil.rmtree(state / "lists")
    return chosen


def get(kernel):
    """(vmlinuz, version, modules) of a kernel; raises Skipped where it cannot be had."""
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if not shutil.which(tool):
            raise Skipped(f"no {tool}: kernels are Debian's packages")
    try:
        chosen = options(kernel.architecture)
        depends = output("apt-cache", *chosen, "depends", "--no-recommends", kernel.package, stderr=subprocess.DEVNULL)
        package = re.search(r"Depends: (linux-image-[^\s<>:]+)", depends)
        if not package:
            raise Skipped(f"no package {kernel.package}")
        package = package[1]
        folder = WORK / "kernels" / package
        if not (folder / "boot").exists():
            incoming = folder.with_name(f".{package}")
            shutil.rmtree(incoming, ignore_errors=True)
            incoming.mkdir(parents=True)
            subprocess.run(["apt-get", *chosen, "-qq", "download", package], cwd=incoming, check=True, stderr=subprocess.DEVNULL)
            (archive,) = incoming.glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", archive, incoming], check=True)
            archive.unlink()
            incoming.rename(folder)
    except (subprocess.CalledProcessError, OSError) as error:
        raise Skipped(f"{kernel.package}: {error}") from error
    (image,) = (folder / "boot").glob("vmlinuz-*")
    version = image.name.removeprefix("vmlinuz-")
    modules = folder / "lib/modules" / version
    if not modules.exists():
        modules = folder / "usr/lib/modules" / version
    return image, version, modules


def module(modules, name):
    """The bytes of a kernel module, unpacked; None where the kernel has it built in or not at all."""
    for path in modules.rglob(f"{name}.ko*"):
        data = path.read_bytes()
        return lzma.decompress(data) if path.suffix == ".xz" else data
    return None
