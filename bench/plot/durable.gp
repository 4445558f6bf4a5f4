# SPDX-License-Identifier: MIT
# Durable transactions: commits per second and their latency over the number of workers, and the log under a held
# snapshot. What was not measured is left out.
# Called by bench/plot/draw with csv, svg and medians set.

set terminal svg size 1200,800 background "white"
set output svg
set multiplot layout 2,2
set grid y

# Rows of one experiment that `condition` (awk's, on the fields of the CSV file) selects.
series(experiment, condition, system, metric) = sprintf("< awk -F, 'NR == 1 || $1 == \"%s\" && (%s)' '%s' | " . \
        "awk -v measured=%s -v metric=%s -f '%s' /dev/stdin", \
        experiment, condition, csv, system, metric, medians)
has(experiment) = system(sprintf("grep -c '^%s,' '%s' || true", experiment, csv)) + 0
processes = "$4 == 1"
threads = "$3 == 1 && ($4 > 1 || $5 == 1)"

if (has("durable_commit")) {
        set logscale xy 2
        set format y "%.0f"
        set xrange [0.9:18]
        set xtics (1, 2, 4, 8, 16)
        set xlabel "processes or threads"
        set title "Durable commits per second"
        set key top left
        plot series("durable_commit", processes, "libxac", "rate") using 1:2:3:4 with yerrorlines title "processes", \
             series("durable_commit", threads, "libxac", "rate") using 1:2:3:4 with yerrorlines title "threads", \
             series("durable_commit", "1", "bare", "rate") using 1:2:3:4 with yerrorlines title "bare writes, one process"

        set title "Latency of a commit, microseconds"
        set key outside right
        plot for [metric in "latency_p50 latency_p99 latency_p999 latency_max"] \
             series("durable_commit", processes, "libxac", metric) using 1:2 with linespoints title metric noenhanced, \
             series("durable_commit", "1", "bare", "latency_p50") using 1:2 with linespoints dashtype 2 \
                 title "bare write, p50"
        unset logscale
        set key inside top left
        set xtics auto
        set xrange [*:*]
        set format y "% g"
}

if (has("durable_reader")) {
        set title "Log since the last checkpoint, MiB, with and without a held snapshot"
        set xlabel "look (every 20 ms)"
        set yrange [0:*]
        log_of(phase) = sprintf("< awk -F, '$1 == \"durable_reader\" && $2 == \"%s\" && $6 == \"log_over_time\" " . \
                "{ print $7 / 1048576 }' '%s'", phase, csv)
        plot log_of("no_snapshot") using 0:1 with lines title "no snapshot", \
             log_of("snapshot_held") using 0:1 with lines title "snapshot held"
        set yrange [*:*]
}

unset multiplot
