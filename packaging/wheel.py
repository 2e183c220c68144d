"""Writes a wheel that carries a static binary with its manual pages and completions.

    wheel.py TREE ARCHITECTURE VERSION DIRECTORY

TREE has bin/bandscope and share/. maturin would compile the binary again, by flags of its own; this packs the bytes of the other
packages, with the standard library alone. Times are SOURCE_DATE_EPOCH, so the same tree gives the same bytes.
"""

import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

# A static binary runs beside any C library. pip 20.3 and later know these names.
PLATFORMS = ("manylinux_2_17", "musllinux_1_1")

METADATA = """\
Metadata-Version: 2.4
Name: bandscope
Version: {version}
Summary: Measures how much of a CPU's time a program really gets, and explains where the rest goes
License-Expression: MIT OR Apache-2.0
{licence_files}
Requires-Python: >=3.7
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: System :: Benchmark
Project-URL: Source, https://github.com/bandscope/bandscope
Description-Content-Type: text/markdown

{readme}"""


def main(tree, architecture, version, directory):
    tree = pathlib.Path(tree)
    documents = tree / "share/doc/bandscope"
    platform = ".".join(f"{p}_{architecture}" for p in PLATFORMS)
    info, data = f"bandscope-{version}.dist-info", f"bandscope-{version}.data"
    licences = [p for p in sorted(documents.iterdir()) if p.name.startswith("LICENSE") or p.name in {"THIRD-PARTY.txt", "rust-standard-library.html"}]

    files = {f"{data}/scripts/bandscope": (tree / "bin/bandscope").read_bytes()}
    for path in sorted((tree / "share").rglob("*")):
        if path.is_file() and documents not in path.parents:
            files[f"{data}/data/{path.relative_to(tree).as_posix()}"] = path.read_bytes()
    for path in licences:
        files[f"{info}/licenses/{path.name}"] = path.read_bytes()
    files[f"{info}/sboms/bandscope.cdx.json"] = (documents / "bandscope.cdx.json").read_bytes()
    tags = "".join(f"Tag: py3-none-{p}_{architecture}\n" for p in PLATFORMS)
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: bandscope packaging\nRoot-Is-Purelib: false\n{tags}".encode()
    files[f"{info}/METADATA"] = METADATA.format(
        version=version,
        licence_files="\n".join(f"License-File: {p.name}" for p in licences),
        readme=(documents / "README.md").read_text(),
    ).encode()
    record = f"{info}/RECORD"
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    files[record] = "".join([*lines, f"{record},,\n"]).encode()

    when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(pathlib.Path(directory) / f"bandscope-{version}-py3-none-{platform}.whl", "w") as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.endswith("/scripts/bandscope") else 0o100644) << 16
            wheel.writestr(entry, content, compresslevel=9)


main(*sys.argv[1:])
