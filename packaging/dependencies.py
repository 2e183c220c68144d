"""Writes what a binary is made of: THIRD-PARTY.txt, its licences, and bandscope.cdx.json, its bill of materials (CycloneDX 1.5).

    dependencies.py TARGET BINARY DIRECTORY
    dependencies.py TARGET                     only checks that every licence has its text

Counted are the crates that cargo links for TARGET (no build, test or macro crates), Rust's standard library, musl, and the font.
The standard library alone and no clock: the same Cargo.lock, binary and SOURCE_DATE_EPOCH give the same bytes. cargo-about and
cargo-cyclonedx would each take minutes to build, and the latter draws a random serial number.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCE_FILE = re.compile(r"(licen[sc]e|unlicense|copying|copyright|notice)", re.IGNORECASE)
# zstd is offered under BSD or, in this file, GPL-2.0. It is taken under BSD.
NOT_CHOSEN = {"zstd/COPYING"}
# Crates under MIT alone that bring no licence file, with the notice of their sources.
MIT_NOTICES = {"iced-x86": "Copyright (C) 2018-present iced project and contributors"}


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def linked_crates(target):
    """The packages of `cargo metadata` that are in the binary, by id, and the ids that each of them links."""
    metadata = json.loads(output("cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"))
    # `cargo metadata` has the features of all members together, tests included; `cargo tree` those of this binary.
    tree = output(
        "cargo", "tree", "--locked", "--package=bandscope", f"--target={target}", "--edges=normal,no-proc-macro", "--prefix=none"
    )
    linked = {tuple(line.split()[:2]) for line in tree.splitlines()}
    packages = {p["id"]: p for p in metadata["packages"] if (p["name"], "v" + p["version"]) in linked}
    assert len(packages) == len(linked), "a crate of `cargo tree` is not in `cargo metadata`"
    links = {
        node["id"]: sorted(
            d["pkg"] for d in node["deps"] if d["pkg"] in packages and any(kind["kind"] is None for kind in d["dep_kinds"])
        )
        for node in metadata["resolve"]["nodes"]
        if node["id"] in packages
    }
    return packages, links


def licence_texts(package):
    """The licence files of a crate, also of C sources that it brings along; for a crate without one, the text that it names."""
    directory = pathlib.Path(package["manifest_path"]).parent
    names = sorted(
        path.relative_to(directory).as_posix()
        for pattern in ("*", "*/*")
        for path in directory.glob(pattern)
        if path.is_file() and LICENCE_FILE.match(path.name) and path.suffix != ".rs"
    )
    texts = [(directory / name).read_text(errors="replace") for name in names if name not in NOT_CHOSEN]
    if not texts and "Apache-2.0" in package["license"]:
        texts = [(ROOT / "LICENSE-APACHE").read_text()]
    elif not texts and package["license"] == "MIT" and package["name"] in MIT_NOTICES:
        permission = (ROOT / "LICENSE-MIT").read_text().partition("Permission is")
        texts = [MIT_NOTICES[package["name"]] + "\n\n" + "".join(permission[1:])]
    assert texts, f"{package['name']} has no licence file: find its text, and say here where it is"
    return texts


def third_party(packages):
    """(name, licence, texts) of all that is not ours."""
    for package in packages:
        if package["source"]:
            yield f"{package['name']} {package['version']}", package["license"], licence_texts(package)
    yield "musl, the C library", "MIT", [(ROOT / "packaging/musl-copyright").read_text()]
    yield "DejaVu Sans, the letters in pictures", "Bitstream-Vera", [(ROOT / "crates/view/fonts/LICENSE-DejaVu").read_text()]


def write_licences(entries, path):
    users = {}
    for name, _, texts in entries:
        for text in texts:
            users.setdefault(text.strip().replace("\r\n", "\n"), []).append(name)
    with open(path, "w") as out:
        out.write("bandscope is MIT or Apache-2.0, at your choice. This binary also contains the following works.\n")
        out.write("Rust's standard library (MIT or Apache-2.0) has a page of its own, rust-standard-library.html.\n\n")
        out.writelines(f"{name}: {licence}\n" for name, licence, _ in entries)
        for text, names in users.items():
            out.write(f"\n{'=' * 80}\n{', '.join(sorted(set(names)))}\n{'=' * 80}\n\n{text}\n")


def checksums():
    with open(ROOT / "Cargo.lock", "rb") as lock:
        return {(p["name"], p["version"]): p.get("checksum") for p in tomllib.load(lock)["package"]}


def component(package, checksum):
    name, version = package["name"], package["version"]
    purl = f"pkg:cargo/{name}@{version.replace('+', '%2B')}"
    found = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    # Before SPDX expressions, crates wrote a slash.
    found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found


def write_bill(packages, links, target, binary, path):
    known = checksums()
    components = {key: component(p, known.get((p["name"], p["version"]))) for key, p in packages.items()}
    rustc = re.search(r"release: (\S+)", output("rustc", "-vV"))[1]
    runtime = [
        {"type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": rustc, "licenses": [{"expression": "MIT OR Apache-2.0"}]},
        {"type": "library", "bom-ref": "musl", "name": "musl", "licenses": [{"expression": "MIT"}]},
    ]
    top = next(key for key, p in packages.items() if p["name"] == "bandscope")
    program = components.pop(top)
    program["type"] = "application"
    program["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()}]
    program["properties"] = [{"name": "target", "value": target}]
    reference = {key: c["bom-ref"] for key, c in components.items()} | {top: program["bom-ref"]}
    depends = [{"ref": reference[key], "dependsOn": [reference[d] for d in links[key]]} for key in packages]
    next(d for d in depends if d["ref"] == program["bom-ref"])["dependsOn"] += [c["bom-ref"] for c in runtime]
    when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": program},
        "components": sorted([*components.values(), *runtime], key=lambda c: c["bom-ref"]),
        "dependencies": sorted(depends, key=lambda d: d["ref"]),
    }
    pathlib.Path(path).write_text(json.dumps(bill, indent=1) + "\n")


def main(target, binary=None, directory=None):
    packages, links = linked_crates(target)
    entries = list(third_party(sorted(packages.values(), key=lambda p: (p["name"], p["version"]))))
    if binary:
        write_licences(entries, f"{directory}/THIRD-PARTY.txt")
        write_bill(packages, links, target, binary, f"{directory}/bandscope.cdx.json")


main(*sys.argv[1:])
