"""A guest: its initramfs, its boot under qemu in instruction time, and what it brings out.

`-icount shift=0,sleep=off`: one instruction takes one nanosecond of the guest's time, whatever the host does. Whatever a host could decide is
fixed (clock, random instructions, address layout), so the same scene gives the same recording.
"""

import io
import pathlib
import platform
import shutil
import subprocess
import tarfile
import threading

from kernels import ROOT, WORK, Skipped, get, module

# Longest that one scene may take, in seconds of the host. A scene takes some 40 s of CPU time; beside builds that is minutes.
BOOT_TIMEOUT_S = 1200
QEMU = {
    "amd64": ["qemu-system-x86_64", "-machine", "pc", "-cpu", "max,-rdrand,-rdseed"],
    "arm64": ["qemu-system-aarch64", "-machine", "virt,gic-version=3", "-cpu", "max"],
}
COMPILERS = {"amd64": "gcc", "arm64": "aarch64-linux-gnu-gcc"}
# What all scenes need is fetched and built once, also where several start together.
PREPARING = threading.Lock()


def cpio(entries):
    """An initramfs (the kernel's Documentation/driver-api/early-userspace/buffer-format.rst) of (name, mode, bytes)."""
    out = io.BytesIO()
    for inode, (name, mode, data) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        fields = [inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        out.write(b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0")
        out.write(b"\0" * (-out.tell() % 4))
        out.write(data)
        out.write(b"\0" * (-out.tell() % 4))
    return out.getvalue()


def disturber(architecture):
    """machines/guest/disturb.c, linked statically."""
    compiler = COMPILERS[architecture]
    if not shutil.which(compiler):
        raise Skipped(f"no {compiler}")
    source, binary = ROOT / "machines/guest/disturb.c", WORK / f"disturb-{architecture}"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        binary.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler, "-static", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", source, "-o", binary], check=True)
    return binary


def libraries(program):
    """A dynamically linked program with all that it loads, as entries of an initramfs."""
    found = subprocess.run(["ldd", program], check=True, text=True, stdout=subprocess.PIPE).stdout.split()
    return [pathlib.Path(program), *(pathlib.Path(word) for word in found if word.startswith("/"))]


def image(scene, kernel, binary, busybox):
    """The initramfs of a scene, and the version of its kernel."""
    vmlinuz, version, modules = get(kernel)
    files = {"bin/busybox": busybox.read_bytes(), "bin/bandscope": pathlib.Path(binary).read_bytes(),
             "bin/disturb": disturber(kernel.architecture).read_bytes(),
             "init": (ROOT / "machines/guest/init").read_bytes(), "scene": scene.script().encode(),
             "etc/passwd": b"root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"}
    for name in scene.modules:
        data = module(modules, name)
        if data is not None:
            files[f"modules/{name}.ko"] = data
    if scene.tool:
        tool = scene.tool.split()[0]
        if not shutil.which(tool):
            raise Skipped(f"no {tool}")
        for path in libraries(shutil.which(tool)):
            files[str(path.resolve() if path.name == tool else path).lstrip("/")] = path.read_bytes()
    folders = {str(parent) for name in files for parent in pathlib.PurePath(name).parents if str(parent) != "."}
    entries = [(name, 0o040755, b"") for name in sorted(folders | {"dev", "proc", "sys", "tmp"}, key=lambda name: (name.count("/"), name))]
    entries += [(name, 0o100755, data) for name, data in sorted(files.items())]
    return vmlinuz, version, cpio(entries)


def static_busybox(architecture):
    path = pathlib.Path("/bin/busybox")
    if architecture == "arm64":
        from kernels import options, output
        folder = WORK / "busybox-arm64"
        if not folder.exists():
            incoming = folder.with_name(".busybox-arm64")
            shutil.rmtree(incoming, ignore_errors=True)
            incoming.mkdir(parents=True)
            try:
                subprocess.run(["apt-get", *options(architecture), "-qq", "download", "busybox-static"], cwd=incoming, check=True,
                               stderr=subprocess.DEVNULL)
            except subprocess.CalledProcessError as error:
                raise Skipped("no package busybox-static for arm64") from error
            (archive,) = incoming.glob("*.deb")
            output("dpkg-deb", "-x", archive, incoming)
            incoming.rename(folder)
        path = next(path for path in (folder / "bin/busybox", folder / "usr/bin/busybox") if path.exists())
    if not path.exists():
        raise Skipped("no static busybox (package busybox-static)")
    return path


def boot(scene, kernel, binary, folder):
    """Boots a scene and unpacks what it brings out into `folder`; returns the version of the kernel."""
    qemu = QEMU[kernel.architecture]
    if not shutil.which(qemu[0]):
        raise Skipped(f"no {qemu[0]}")
    with PREPARING:
        vmlinuz, version, initramfs = image(scene, kernel, binary, static_busybox(kernel.architecture))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "initramfs").write_bytes(initramfs)
    shutil.copy(vmlinuz.with_name(vmlinuz.name.replace("vmlinuz", "config")), folder / "config")
    console = "ttyS0" if kernel.architecture == "amd64" else "ttyAMA0"
    append = f"console={console} quiet panic=-1 norandmaps random.trust_cpu=off cryptomgr.notests {scene.boot_line}"
    # What comes out goes over a second port, as bytes: files of the guest reach nothing else.
    out = ["-serial", f"file:{folder}/out.tar.gz"] if kernel.architecture == "amd64" else \
        ["-device", "virtio-serial-pci", "-chardev", f"file,id=out,path={folder}/out.tar.gz", "-device", "virtconsole,chardev=out"]
    command = [*qemu, "-accel", "tcg", "-icount", "shift=0,sleep=off", "-smp", str(scene.cpus), "-m", "512", "-nodefaults", "-no-reboot",
               "-display", "none", "-rtc", "base=2026-01-01T00:00:00,clock=vm", "-kernel", vmlinuz, "-initrd", folder / "initramfs",
               "-append", append, "-serial", f"file:{folder}/console.log", *out]
    try:
        subprocess.run(list(map(str, command)), check=True, stdin=subprocess.DEVNULL, timeout=BOOT_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"{scene.name} on {version}: not done within {BOOT_TIMEOUT_S} s; {folder}/console.log says how far it came") from error
    finally:
        (folder / "initramfs").unlink()
    try:
        with tarfile.open(folder / "out.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise RuntimeError(f"{scene.name} on {version}: nothing came out ({error}); see {folder}/console.log") from error
    return version


def host_architecture():
    return {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
