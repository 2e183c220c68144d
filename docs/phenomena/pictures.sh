#!/bin/sh
# Draws the pictures of the pages beside this file: docs/phenomena/pictures.sh [BANDSCOPE] [KIND...]. One line of the table
# is one picture: kind, how to record it, what to draw (`all`, or what `report --view` takes), scenario, more options of `record`. Simulated
# machines, so anybody gets the same picture, but for the date in its heading. `multimodal-runs` is of runs of a command and has none: what
# `repeat` prints of made-up runs is drawn. Needs nothing but the program.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bandscope=$(realpath "${1:-target/debug/bandscope}")
[ $# -eq 0 ] || shift
wanted=" $* "
directory=$(mktemp -d)
trap 'rm -r "$directory"' EXIT

grep -v '^#' <<'TABLE' | while read -r kind length rates views scenario options; do
# kind                length rates      views       scenario options
quantisation          200ms  10000      all         quiet
alternating-bands     20ms   10000      all         alternate:period=4,ratio=0.987
bistable-pace         20s    10000      all         states:dwell=1.5
sub-loop-mixture      200ms  10000      all         mixture:fraction=0.502
frequency-steps       2s     10000      all         frequency:top=38,low=30,dwell=50ms
moving-edges          20s    10000      series,fold flips:period=2.00001ms
edge-pairs            50ms   10000      all         flips:period=7.33ms,dwell=3.14ms
periodic-interference 200ms  10000      all         tick:hz=250,cost=20us
sampling-artefact     10s    10000,7000 all         pages:quanta=256,cost=200ns+noise:sigma=0.0003
alias                 4s     10000,7777 all         tick:hz=12345,cost=100ns+noise:sigma=0.0003
clock-drift           4s     10000      all         drift:ppm=50+flips
warm-up               600ms  10000      all         warmup:duration=180ms
interrupt-helps       300ms  10000      all         helps:hz=100,up=80%,decay=30ms
interrupted-loop      100ms  10000      all         interrupted:hz=257,factor=3
migration             2s     10000      all         flips:period=2.0001ms+jump:every=500ms,size=37us,cpu=1
time-away             300ms  10000      all         tasks:hz=60,mean=200us+tick:hz=250,cost=8us
throttled             200ms  10000      all         quota:period=100ms,share=0.6
stolen-time           300ms  10000      all         host-steal:hz=60,cost=150us+tick:hz=250,cost=8us
smt-neighbour         2s     10000      all         neighbour:ratio=1.35,dwell=50ms --kernel add6x80 --segment 250ms
synchronous-gaps      300ms  10000      all         host-steal:hz=60,cost=200us,skew=2us+tick:hz=250,cost=8us,skew=900us --cpus 0,1
core-coupling         400ms  10000      all         core-coupling:dwell=20ms,lag=50us --cpus 0,1
TABLE
    case $wanted in "  " | *" $kind "*) ;; *) continue ;; esac
    recording=$directory/$kind.bandscope
    # Options are words; they have no spaces.
    # shellcheck disable=SC2086
    "$bandscope" record --machine "simulated:$scenario" --start-delay 0 --duration "$length" \
        --rate "$rates" --kernel mulss80 $options --output "$recording" >/dev/null
    case $views in all) views= ;; *) views="--view $views" ;; esac
    # shellcheck disable=SC2086
    (cd "$directory" && "$bandscope" report "$kind.bandscope" --format png --width 900 $views --output "$here/images/$kind.png")
    echo "docs/phenomena/images/$kind.png"
done

# A fifth of 40 runs at 190 instead of 320 MB/s, as published (docs/method.md, section 10.1); 2 % of scatter from a generator of its own.
runs() {
    awk 'BEGIN {
        printf "{\"schema\":\"bandscope.runs/1\",\"tool\":\"docs/phenomena/pictures.sh\",\"started\":\"2026-01-01T00:00:00Z\",\"command\":[\"./benchmark\"],"
        printf "\"metric\":{\"name\":\"([0-9.]+) MB/s\",\"unit\":\"\",\"higher_is_better\":true,\"resolution\":0.01},\"duration_s\":30,\"asked\":40,\"runs\":["
        x = 3
        for (run = 0; run < 40; run++) {
            x = x * 16807 % 2147483647; slow = x / 2147483647 < 0.2
            x = x * 16807 % 2147483647; speed = (slow ? 190 : 320) * (1 + 0.02 * (x / 2147483647 - 0.5))
            printf "%s{\"at_s\":%d,\"value\":%.2f,\"wall_s\":%.3f,\"end\":{\"status\":0}}", run ? "," : "", run, speed, 200 / speed
        }
        print "]}"
    }'
}

# Text as a picture, a line of it a line.
picture_of_text() {
    sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' | awk '{ lines[NR] = $0 } END {
        height = 17 * NR + 22
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"%d\" viewBox=\"0 0 760 %d\" font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"12\" fill=\"#1a1a1a\">\n", height, height
        printf "<rect width=\"760\" height=\"%d\" fill=\"#ffffff\"/>\n", height
        for (line = 1; line <= NR; line++)
            if (lines[line] != "") printf "<text x=\"14\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", 17 * line + 8, lines[line]
        print "</svg>"
    }'
}

case $wanted in "  " | *" multimodal-runs "*)
    runs >"$directory/runs.json"
    "$bandscope" repeat --from "$directory/runs.json" --format text | picture_of_text >"$here/images/multimodal-runs.svg"
    echo "docs/phenomena/images/multimodal-runs.svg"
    ;;
esac
