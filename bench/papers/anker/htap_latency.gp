# SPDX-License-Identifier: MIT
#
# Queries beside transactions: how much slower each system gets, and how much slower the homogeneous engine is than the
# heterogeneous one. Called by bench/plot/pictures with csv (files), svg and table set.

set terminal svg size 900, 340 font "sans-serif,12" background "white"
set output svg
set multiplot
set tmargin at screen 0.82
set bmargin at screen 0.2
set datafile separator "\t"
set datafile missing "-"
set style data histograms
set style histogram clustered gap 1
set style fill solid 1 noborder
set border 3 linecolor "#444444"
set grid y linecolor "#dddddd"
set xtics nomirror scale 0 rotate by -25 font ",11"
set ytics nomirror
set key at screen 0.60, 0.90 horizontal maxrows 1 font ",11"
rows(metric, more, systems) = sprintf("< awk -v experiment=latency -v metric=%s %s -v systems='%s' -f '%s' %s | tr _ ' '", \
        metric, more, systems, table, csv)

set lmargin at screen 0.06
set rmargin at screen 0.60
set label 1 "latency beside transactions, of that without (logarithmic)" at screen 0.33, 0.96 center font ",13"
set logscale y
set yrange [0.8:*]
plot rows("loaded", "-v over=alone", "homogeneous heterogeneous sqlite duckdb homogeneous-eager") \
             using 2:xtic(1) title "homogeneous" linecolor rgb "#b5532a", \
     "" using 6 title "homogeneous, eager" linecolor rgb "#d9a58c", \
     "" using 3 title "heterogeneous" linecolor rgb "#0b6fa4", \
     "" using 4 title "SQLite" linecolor rgb "#7a7a7a", \
     "" using 5 title "DuckDB" linecolor rgb "#d4a72c"

unset logscale
set label 1 "homogeneous, of heterogeneous" at screen 0.82, 0.96 center font ",13"
set lmargin at screen 0.67
set rmargin at screen 0.98
set yrange [0:*]
unset key
ratios = rows("loaded", "-v base=heterogeneous", "homogeneous homogeneous-eager")
plot ratios using 2:xtic(1) linecolor rgb "#b5532a", \
     ratios using 3 linecolor rgb "#d9a58c", \
     1 with lines linecolor rgb "#0b6fa4" linewidth 2, \
     ratios using ($0 - 0.17):2:(sprintf("%.1f", $2)) with labels offset 0, 0.6 font ",10"
unset multiplot
