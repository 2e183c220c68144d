#!/bin/sh
# Seeds for the fuzz targets, in fuzz/corpus: the files that the tests read, small simulated recordings whose parts lose their
# checksum and get the run that fuzz_targets/part.rs expects, and a small program. Usage: fuzz/seeds.sh [BANDSCOPE]
set -eu
cd "$(dirname "$0")/.."
bandscope=${1:-target/debug/bandscope}
for target in dat manifest part experiments runs counters histogram disturbances baseline cures summary executable; do
    mkdir -p "fuzz/corpus/$target"
done
kept=crates/cli/tests/kept/0.1.0
cp $kept/lab.json fuzz/corpus/experiments/
cp $kept/repeat.json fuzz/corpus/runs/
cp $kept/repeat.json fuzz/corpus/counters/
cp $kept/histogram.json fuzz/corpus/histogram/
cp $kept/disturbed.disturbances.jsonl fuzz/corpus/disturbances/
cp cases/*.dat fuzz/corpus/dat/
cp cases/*.hist cases/*.tsv fuzz/corpus/histogram/
cp cases/*.txt cases/*.tsv crates/recording/tests/data/perf/* fuzz/corpus/counters/
cp crates/cli/tests/data/*.lab.json fuzz/corpus/experiments/
cp fuzz/seeds/cures.json fuzz/corpus/cures/
cp fuzz/seeds/clock.json fuzz/corpus/summary/
directory=$(mktemp -d)
trap 'rm -r "$directory"' EXIT
rm -f fuzz/corpus/baseline/tick.json
"$bandscope" check --machine simulated:tick --duration 1s --runs 3 --save fuzz/corpus/baseline/tick.json >"$directory/out"
printf 'int f(int x) { return x * 3; }\nvoid _start(void) { for (;;) f(4); }\n' >"$directory/small.c"
for version in 4 5; do
    for link in -static -static-pie; do
        # Without a page of nothing between its segments: a seed of some KiB.
        gcc -gdwarf-$version -O1 -nostdlib "$link" -Wl,-z,noseparate-code,--build-id=none "$directory/small.c" -o "fuzz/corpus/executable/dwarf-$version$link"
    done
done
for scenario in quiet tick flips drift; do
    it=$directory/$scenario
    "$bandscope" record --machine "simulated:$scenario" --kernel mulss80 --rate 1000 --samples 200 --output "$it" >"$directory/out"
    "$bandscope" export "$it" --format ftq --output "$directory/dat" >>"$directory/out"
    find "$directory/dat" -type f -exec cp {} "fuzz/corpus/dat/$scenario.dat" \;
    rm -r "$directory/dat"
    "$bandscope" export "$it" --format summary --output "fuzz/corpus/summary/$scenario.json"
    run=$(sed -n 's/.*"run": "\([0-9a-f]*\)".*/\1/p' "$it/recording.json")
    cp "$it/recording.json" "fuzz/corpus/manifest/$scenario.json"
    for part in quanta gaps events; do
        # A scenario without interruptions has no gaps or events.
        [ -d "$it/$part" ] || continue
        find "$it/$part" -name 'part-*' -exec cat {} + |
            LC_ALL=C sed "s/$run/ffffffffffffffffffffffffffffffff/; s/bandscope-xxh64:/bandscope-xxh00:/" \
                >"fuzz/corpus/part/$scenario-$part"
    done
done
