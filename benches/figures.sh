#!/usr/bin/env bash
# Measures every figure of docs/figures.md that one machine can, in one go: about half an hour.
# Usage: benches/figures.sh [CPU]      (needs hyperfine, GNU time, python3 with duckdb, and oslat from rt-tests)
# Nothing is asserted: medians and spreads are printed, for a person to read. Leave the machine alone meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
cpu=${1:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bandscope=target/release/bandscope
step() { printf '\n### %s\n' "$*"; }

cargo build --release --workspace --examples --quiet
cargo build --release --quiet
uptime

step "own cost: excess of the first unit, and time spent handling gaps"
target/release/examples/own_cost 5

step "work kernels: pace, spread on quanta without a gap, spread over 64 placements"
target/release/examples/kernels 10

step "time in gaps of 2 to 31 us beside oslat"
if command -v oslat >/dev/null; then
  python3 benches/oslat.py "$bandscope" "$cpu" 10 10
else
  echo "SKIPPED: no oslat"
fi

step "report on 524,288 rows of an FTQ file, as JSON"
"$bandscope" record --machine simulated:tick+flips+tasks --rate 10kHz --samples 524288 --output "$work/long.bandscope"
"$bandscope" export "$work/long.bandscope" --format ftq --output "$work/long.dat"
hyperfine --warmup 2 --runs 10 --export-json "$work/report.json" "$bandscope report --format json $work/long.dat"

step "analysis: quanta a second on one core"
cargo bench --quiet -p bandscope-analysis --bench analyse

step "ten minutes at 100 kHz: memory, bytes a quantum"
command time -v "$bandscope" record --cpus "$cpu" --rate 100kHz --duration 10min --output "$work/ten.bandscope" 2>"$work/time.txt"
grep -E "Maximum resident|Elapsed" "$work/time.txt"
python3 - "$work/ten.bandscope" <<'PYTHON'
import json, pathlib, sys
recording = pathlib.Path(sys.argv[1])
manifest = json.loads((recording / "recording.json").read_text())
for kind in ("quanta", "gaps"):
    size = sum(path.stat().st_size for path in (recording / kind).rglob("*.parquet"))
    rows = sum(part["rows"] for part in manifest["parts"] if part["path"].startswith(kind))
    print(f"{kind}: {rows} rows, {size} bytes, {size / max(rows, 1):.3f} bytes a row")
print("lost:", manifest["lost"], "clock error:", manifest["clock"]["error_ppm"], "ppm")
PYTHON
"$bandscope" report "$work/ten.bandscope" | head -30
uptime
