#!/bin/sh
# Draws the pictures of the pages beside this file: docs/phenomena/pictures.sh [BANDSCOPE] [KIND...]. One line of the table
# is one picture: kind, how to record it, scenario. Simulated machines, so anybody gets the same picture, but for the date
# in its heading. Needs nothing but the program.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bandscope=$(realpath "${1:-target/debug/bandscope}")
[ $# -eq 0 ] || shift
wanted=" $* "
directory=$(mktemp -d)
trap 'rm -r "$directory"' EXIT

grep -v '^#' <<'TABLE' | while read -r kind length rates scenario; do
# kind                length rates scenario
quantisation          200ms  10000 quiet
alternating-bands     20ms   10000 alternate:period=4,ratio=0.987
bistable-pace         20s    10000 states:dwell=1.5
sub-loop-mixture      200ms  10000 mixture:fraction=0.502
frequency-steps       2s     10000 frequency:top=38,low=30,dwell=50ms
moving-edges          20s    10000 flips:period=2.00001ms
edge-pairs            50ms   10000 flips:period=7.33ms,dwell=3.14ms
periodic-interference 200ms  10000 tick:hz=250,cost=20us
sampling-artefact     10s    10000,7000 pages:quanta=256,cost=200ns+noise:sigma=0.0003
alias                 4s     10000,7777 tick:hz=12345,cost=100ns+noise:sigma=0.0003
clock-drift           4s     10000 drift:ppm=50+flips
warm-up               600ms  10000 warmup:duration=180ms
interrupt-helps       300ms  10000 helps:hz=100,up=80%,decay=30ms
interrupted-loop      100ms  10000 interrupted:hz=257,factor=3
migration             2s     10000 flips:period=2.0001ms+jump:every=500ms,size=37us,cpu=1
TABLE
    case $wanted in "  " | *" $kind "*) ;; *) continue ;; esac
    recording=$directory/$kind.bandscope
    "$bandscope" record --machine "simulated:$scenario" --start-delay 0 --duration "$length" \
        --rate "$rates" --kernel mulss80 --output "$recording" >/dev/null
    (cd "$directory" && "$bandscope" report "$kind.bandscope" --format png --width 900 --output "$here/images/$kind.png")
    echo "docs/phenomena/images/$kind.png"
done
