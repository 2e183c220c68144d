#!/bin/sh
# Seeds for the fuzz targets, in fuzz/corpus: the published files, and small simulated recordings whose parts lose their
# checksum and get the run that fuzz_targets/part.rs expects. Usage: fuzz/seeds.sh [BANDSCOPE]
set -eu
cd "$(dirname "$0")/.."
bandscope=${1:-target/debug/bandscope}
mkdir -p fuzz/corpus/dat fuzz/corpus/manifest fuzz/corpus/part
cp cases/*.dat fuzz/corpus/dat/
directory=$(mktemp -d)
trap 'rm -r "$directory"' EXIT
for scenario in quiet tick flips drift; do
    it=$directory/$scenario
    "$bandscope" record --machine "simulated:$scenario" --kernel mulss80 --rate 1000 --samples 200 --output "$it" >"$directory/out"
    "$bandscope" export "$it" --format ftq --output "$directory/dat" >>"$directory/out"
    find "$directory/dat" -type f -exec cp {} "fuzz/corpus/dat/$scenario.dat" \;
    rm -r "$directory/dat"
    run=$(sed -n 's/.*"run": "\([0-9a-f]*\)".*/\1/p' "$it/recording.json")
    cp "$it/recording.json" "fuzz/corpus/manifest/$scenario.json"
    for part in quanta gaps; do
        # A scenario without interruptions has no gaps.
        [ -d "$it/$part" ] || continue
        find "$it/$part" -name 'part-*' -exec cat {} + |
            LC_ALL=C sed "s/$run/ffffffffffffffffffffffffffffffff/; s/bandscope-xxh64:/bandscope-xxh00:/" \
                >"fuzz/corpus/part/$scenario-$part"
    done
done
