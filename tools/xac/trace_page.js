/* SPDX-License-Identifier: MIT */

/*
 * Draws a trace: a row for each participant, a bar for each transaction, an arrow from the commit that won to the
 * transaction that lost.
 *
 * Time is in ns since the beginning of what is shown. What is narrower than a pixel is drawn merged: each row keeps its
 * items in order of time, with sums, so that drawing takes time for the pixels and not for the items.
 */
"use strict";
(function () {

const trace = JSON.parse(document.getElementById("trace").textContent);
const canvas = document.getElementById("canvas"), tip = document.getElementById("tip");
const paper = canvas.getContext("2d");

/* ---- What is in the trace ---- */

const OUTCOMES = [
        { name: "committed", color: "committed" }, { name: "read-only", color: "readonly" },
        { name: "lost a conflict", color: "lost" }, { name: "aborted", color: "aborted" },
        { name: "open when its process died", color: "open" },
];
const COMMITTED = 0, READ_ONLY = 1, LOST = 2, ABORTED = 3, OPEN = 4, CHECKPOINT = 5;
/* Kinds of marks, as trace_format.h has them. */
const FAULT = 5, PAUSE = 6, GROUP = 7, CHECKPOINT_MARK = 8, WAIT = 9;
const FLAG_WAITED = 4, FLAG_WRITE = 8, FLAG_EXCLUSIVE = 16, FLAG_AGAIN = 32, FLAG_FAILED = 64;
const MINOR = [
        { name: "pause before another try", color: "pause" }, { name: "write of the log", color: "group" },
        { name: "sleep in xac_wait()", color: "wait" },
];
const FAULTS = [
        { name: "fault by a load", color: "load" }, { name: "fault by a store", color: "store" },
        { name: "fault on a page touched before", color: "again" },
];
const BAR_WORDS = 9, MARK_WORDS = 7; /* of trace_html.c */

const bar_count = trace.bars.length / BAR_WORDS, mark_count = trace.marks.length / MARK_WORDS;
const arrow_count = trace.arrows.length / 2;

function bar_of(no)
{
        const at = no * BAR_WORDS, words = trace.bars;
        return { no, track: words[at], begin: words[at + 1], end: words[at + 1] + words[at + 2], outcome: words[at + 3],
                flags: words[at + 4], a: words[at + 5], b: words[at + 6], c: words[at + 7], d: words[at + 8] };
}

function mark_of(no)
{
        const at = no * MARK_WORDS, words = trace.marks;
        return { no, track: words[at], begin: words[at + 1], end: words[at + 1] + words[at + 2], kind: words[at + 3],
                flags: words[at + 4], a: words[at + 5], b: words[at + 6] };
}

const env_count = trace.environments.filter(env => env.path).length;
const file_names = new Map(trace.files.map(([env, no, name]) => [env + "/" + no, name]));
const bytes_of = new Map(trace.bytes.map(([bar, ...bytes]) => [bar, bytes]));

function page_name(track, file_no, page_no)
{
        if (file_no < 0)
                return "a page that is not known";
        const env = trace.tracks[track].env;
        const name = file_names.get(env + "/" + file_no) || "file " + file_no;
        return "page " + page_no + " of " + name + (env_count > 1 ? " in " + env_name(env) : "");
}

function env_name(env)
{
        return env >= 0 && trace.environments[env].path || "an environment that is not known";
}

/* Items of a row in order of time, with sums: how many of each kind come before each. */
class Series {
        constructor(items, kinds, kind_of)
        {
                const count = items.length;
                items.sort((left, right) => left.begin - right.begin);
                this.items = items;
                this.kind = new Uint8Array(count);
                this.begin = new Float64Array(count);
                this.end_so_far = new Float64Array(count);
                this.sums = kinds.map(() => new Uint32Array(count + 1));
                this.kinds = kinds;
                for (let i = 0, end = -Infinity; i < count; i++) {
                        this.kind[i] = kind_of(items[i]);
                        this.begin[i] = items[i].begin;
                        this.end_so_far[i] = end = Math.max(end, items[i].end);
                        this.sums.forEach((sum, kind) => { sum[i + 1] = sum[i] + (this.kind[i] === kind); });
                }
        }
}

/* The first that is not below, from `low` on. */
function search(sorted, value, low = 0)
{
        let high = sorted.length;
        while (low < high) {
                const middle = (low + high) >> 1;
                if (sorted[middle] < value)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* Rows from top to bottom: the name of each process, then its participants that did anything. */
function list_rows()
{
        const bars = trace.tracks.map(() => []), minor = trace.tracks.map(() => []), faults = trace.tracks.map(() => []);
        for (let i = 0; i < bar_count; i++)
                bars[trace.bars[i * BAR_WORDS]].push(bar_of(i));
        for (let i = 0; i < mark_count; i++) {
                const mark = mark_of(i);
                (mark.kind === FAULT ? faults : mark.kind === CHECKPOINT_MARK ? bars : minor)[mark.track].push(mark);
        }
        const processes = new Map(), rows = [];
        trace.tracks.forEach((track, no) => {
                if (!bars[no].length && !minor[no].length && !faults[no].length)
                        return;
                const name = (track.program || "?") + "  " + track.pid;
                if (!processes.has(name))
                        processes.set(name, []);
                processes.get(name).push({ track, no });
        });
        for (const [name, tracks] of processes) {
                tracks.sort((left, right) => left.track.background - right.track.background);
                rows.push({ is_title: true, text: name });
                for (const { track, no } of tracks)
                        rows.push({
                                track, no, text: track.background ? "background" : "thread " + track.tid,
                                bars: new Series(bars[no], [...OUTCOMES, { name: "checkpoint", color: "checkpoint" }],
                                        item => item.kind === CHECKPOINT_MARK ? CHECKPOINT : item.outcome),
                                minor: new Series(minor[no], MINOR, item => item.kind === PAUSE ? 0 : item.kind === GROUP ? 1 : 2),
                                faults: new Series(faults[no], FAULTS,
                                        item => item.flags & FLAG_AGAIN ? 2 : item.flags & FLAG_WRITE ? 1 : 0),
                        });
        }
        return rows;
}

/* The pages over which transactions lost, most conflicts first. */
function list_pages()
{
        const pages = new Map();
        for (let i = 0; i < bar_count; i++) {
                const bar = bar_of(i);
                if (bar.outcome !== LOST || bar.a < 0)
                        continue;
                const key = trace.tracks[bar.track].env + "/" + bar.a + "/" + bar.b;
                if (!pages.has(key))
                        pages.set(key, { key, name: page_name(bar.track, bar.a, bar.b), bars: [], ns: 0, apart: 0 });
                const page = pages.get(key);
                page.bars.push(i);
                page.ns += bar.end - bar.begin;
                page.apart += are_apart(bytes_of.get(i));
        }
        return [...pages.values()].sort((left, right) => right.bars.length - left.bars.length);
}

/* Did the two change bytes of which none are the same? Parts of the page, a bit each, say so. */
function are_apart(bytes)
{
        if (!bytes || bytes[0] > bytes[1] || bytes[2] > bytes[3])
                return false;
        return (BigInt("0x" + bytes[4]) & BigInt("0x" + bytes[5])) === 0n || bytes[1] < bytes[2] || bytes[3] < bytes[0];
}

const rows = list_rows(), pages = list_pages();
const lost_in_order = [];
for (let i = 0; i < bar_count; i++)
        if (trace.bars[i * BAR_WORDS + 3] === LOST)
                lost_in_order.push(i);
lost_in_order.sort((left, right) => bar_of(left).end - bar_of(right).end);
/* An arrow leaves when the winner's xend() was called, and ends where the loser ends. */
const arrows = [];
const arrows_of_bar = new Map();
for (let i = 0; i < arrow_count; i++) {
        const winner = bar_of(trace.arrows[2 * i]), loser = bar_of(trace.arrows[2 * i + 1]);
        const arrow = { winner, loser, from: winner.end - winner.d, to: loser.end };
        arrow.least = Math.min(arrow.from, arrow.to);
        arrow.most = Math.max(arrow.from, arrow.to);
        arrows.push(arrow);
}
arrows.sort((left, right) => left.least - right.least);
for (const arrow of arrows)
        for (const bar of [arrow.winner.no, arrow.loser.no]) {
                if (!arrows_of_bar.has(bar))
                        arrows_of_bar.set(bar, []);
                arrows_of_bar.get(bar).push(arrow);
        }

/* ---- Where things are ---- */

const LEFT = 130, TOP = 24;
/* Of a row, times `stretch`, so that few rows fill the picture. */
const TITLE_HEIGHT = 22, ROW_HEIGHT = 34, BAR_AT = 4, BAR_HEIGHT = 14, MINOR_AT = 19, MINOR_HEIGHT = 5, FAULT_AT = 25,
        FAULT_HEIGHT = 5, STRETCH_MAX = 2.2;
const whole = { from: 0, to: Math.max(trace.to - trace.from, 1000) };
const view = { from: whole.from, to: whole.to, down: 0 };
let size = { width: 800, height: 400 }, colors = {}, picked = null, hovered = null;

let height = 0, stretch = 1;
const row_of_track = [];
for (const row of rows)
        if (!row.is_title)
                row_of_track[row.no] = row;

function lay_out()
{
        const titles = rows.filter(row => row.is_title).length * TITLE_HEIGHT;
        stretch = Math.min(Math.max((size.height - TOP - titles - 8) / ((rows.length * ROW_HEIGHT) || 1), 1), STRETCH_MAX);
        height = 0;
        for (const row of rows) {
                row.y = height;
                row.height = row.is_title ? TITLE_HEIGHT : ROW_HEIGHT * stretch;
                height += row.height;
        }
        view.down = Math.min(view.down, Math.max(height + TOP - size.height + 8, 0));
}

function x_of(time) { return LEFT + (time - view.from) / (view.to - view.from) * (size.width - LEFT); }
function time_of(x) { return view.from + (x - LEFT) / (size.width - LEFT) * (view.to - view.from); }
function y_of(row) { return TOP + row.y - view.down; }

/* Shows from there to there, but no less than 100 ns, and nothing outside the trace. */
function show(from, to)
{
        const length = Math.min(Math.max(to - from, 100), whole.to - whole.from);
        const middle = (from + to) / 2;
        view.from = Math.min(Math.max(middle - length / 2, whole.from), whole.to - length);
        view.to = view.from + length;
        request();
}

/* factor 2: half of it, with the same moment at `at`. */
function zoom(factor, at = (view.from + view.to) / 2)
{
        show(at - (at - view.from) / factor, at + (view.to - at) / factor);
}

function move(part, down)
{
        const by = part * (view.to - view.from);
        view.down = Math.min(Math.max(view.down + down, 0), Math.max(height + TOP - size.height + 8, 0));
        show(view.from + by, view.to + by);
}

/* ---- Drawing ---- */

const READ_COLORS = ["ground", "text", "faint", "line", "band", "committed", "readonly", "lost", "aborted", "open", "checkpoint",
        "group", "pause", "wait", "load", "store", "again", "arrow"];

function read_colors()
{
        const style = getComputedStyle(document.documentElement);
        for (const name of READ_COLORS)
                colors[name] = style.getPropertyValue("--" + name).trim();
}

/* A column of one pixel, divided by how many of each kind it stands for. */
function draw_merged(series, first, end, x, y, tall)
{
        const count = end - first;
        let at = y;
        series.kinds.forEach((kind, no) => {
                const share = (series.sums[no][end] - series.sums[no][first]) / count;
                if (share > 0) {
                        paper.fillStyle = colors[kind.color];
                        paper.fillRect(x, at, 1, tall * share);
                        at += tall * share;
                }
        });
}

/* A bar says more than by its colour: paler where xend() was running, a cross where it lost, stripes where it was undone. */
function draw_bar(item, kind, x, y, wide, tall)
{
        paper.fillStyle = colors[kind.color];
        paper.fillRect(x, y, Math.max(wide, 1), tall);
        if (wide < 3 || item.outcome === undefined)
                return;
        paper.strokeStyle = paper.fillStyle = colors.ground;
        if (item.outcome === COMMITTED && item.d > 0) {
                const begin = Math.max(x_of(item.end - item.d), x), alpha = paper.globalAlpha;
                paper.globalAlpha = alpha * 0.45;
                paper.fillRect(begin, y, Math.max(x + wide - begin, 0), tall);
                paper.globalAlpha = alpha;
        } else if (wide < 6) {
                return;
        } else if (item.outcome === LOST) {
                paper.lineWidth = 1.5;
                paper.beginPath();
                paper.moveTo(x + wide - 5, y + tall / 2 - 2.5);
                paper.lineTo(x + wide - 1, y + tall / 2 + 2.5);
                paper.moveTo(x + wide - 1, y + tall / 2 - 2.5);
                paper.lineTo(x + wide - 5, y + tall / 2 + 2.5);
                paper.stroke();
        } else if (item.outcome === ABORTED || item.outcome === OPEN) {
                for (let at = x + 3; at < Math.min(x + wide, size.width); at += 6)
                        if (at > LEFT)
                                paper.fillRect(at, y, 1.5, tall);
        }
}

function draw_series(series, y, tall)
{
        const pixel = (view.to - view.from) / (size.width - LEFT);
        let i = search(series.end_so_far, view.from);
        while (i < series.items.length && series.begin[i] < view.to) {
                const item = series.items[i];
                const x = x_of(item.begin), column = Math.floor(Math.max(x, LEFT));
                let next = i + 1;
                if (item.end - item.begin < pixel)
                        next = Math.max(next, search(series.begin, time_of(column + 1), i));
                if (next > i + 1)
                        draw_merged(series, i, next, column, y, tall);
                else if (item.end >= view.from)
                        draw_bar(item, series.kinds[series.kind[i]], Math.max(x, LEFT - 1),
                                y, Math.min(x_of(item.end), size.width + 1) - Math.max(x, LEFT - 1), tall);
                i = next;
        }
}

function is_picked(arrow)
{
        return !picked || picked.set.has(arrow.loser.no);
}

/* Those that are seen. With both ends in the same `step` pixels they are one. */
function merge_arrows(list, step)
{
        const seen = new Map();
        for (const arrow of list) {
                if (arrow.least > view.to)
                        break;
                if (arrow.most < view.from || !is_picked(arrow))
                        continue;
                const x0 = x_of(arrow.from), x1 = x_of(arrow.to);
                const key = (Math.round(x0 / step) * 4096 + Math.round(x1 / step)) + "," + arrow.winner.track + "," + arrow.loser.track;
                if (!seen.has(key))
                        seen.set(key, { arrow, x0, x1 });
        }
        return [...seen.values()];
}

/* No more than can be drawn at once, and told. */
function list_arrows(list)
{
        const MOST = 1000;
        let seen = merge_arrows(list, 3);
        for (let step = 6; seen.length > MOST && step < 100; step *= 2)
                seen = merge_arrows(seen.map(one => one.arrow), step);
        return seen;
}

/* The more there are, the fainter, so that the bars are seen through them. */
function draw_arrows(list, alpha)
{
        const lines = new Path2D(), heads = new Path2D(), seen = list_arrows(list);
        for (const { arrow, x0, x1 } of seen)
                add_arrow(lines, heads, arrow, x0, x1);
        paper.strokeStyle = paper.fillStyle = colors.arrow;
        paper.lineWidth = 1;
        paper.globalAlpha = alpha * Math.min(Math.max(250 / (seen.length || 1), 0.25), 1);
        paper.stroke(lines);
        paper.fill(heads);
        paper.globalAlpha = 1;
}

function add_arrow(lines, heads, arrow, x0, x1)
{
        const from = row_of_track[arrow.winner.track], to = row_of_track[arrow.loser.track];
        const is_down = to.y >= from.y;
        const y0 = y_of(from) + (BAR_AT + (is_down ? BAR_HEIGHT : 0)) * stretch;
        const y1 = y_of(to) + (BAR_AT + (is_down ? 0 : BAR_HEIGHT)) * stretch;
        const bend = (y1 - y0) * 0.5, back = is_down ? -5 : 5;
        lines.moveTo(x0, y0);
        lines.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
        heads.moveTo(x1, y1);
        heads.lineTo(x1 - 3, y1 + back);
        heads.lineTo(x1 + 3, y1 + back);
        heads.closePath();
}

/* The bars of the page that was picked, above all others. */
function draw_picked()
{
        let column = -1, row = null;
        for (const no of picked.bars) {
                const bar = bar_of(no), at = row_of_track[bar.track], x = x_of(bar.begin);
                if (bar.end < view.from || bar.begin > view.to || (Math.floor(x) === column && row === at))
                        continue;
                column = Math.floor(x);
                row = at;
                draw_bar(bar, OUTCOMES[LOST], Math.max(x, LEFT - 1), y_of(at) + BAR_AT * stretch,
                        Math.max(x_of(bar.end) - Math.max(x, LEFT - 1), 2), BAR_HEIGHT * stretch);
        }
}

function step_of(length, most)
{
        const rough = length / most, power = Math.pow(10, Math.floor(Math.log10(rough)));
        return [1, 2, 5, 10].map(times => times * power).find(step => step >= rough);
}

function draw_axis()
{
        const step = step_of(view.to - view.from, Math.max((size.width - LEFT) / 110, 2));
        paper.fillStyle = colors.ground;
        paper.fillRect(0, 0, size.width, TOP);
        paper.font = "12px system-ui, sans-serif";
        paper.textAlign = "left";
        for (let n = Math.ceil((view.from + trace.from) / step); n * step <= view.to + trace.from; n++) {
                const x = x_of(n * step - trace.from);
                paper.fillStyle = colors.line;
                paper.fillRect(x, 0, 1, size.height);
                paper.fillStyle = colors.faint;
                paper.fillText(moment(n * step, step, view.to + trace.from), x + 4, 15);
        }
}

function draw_labels()
{
        paper.fillStyle = colors.ground;
        paper.fillRect(0, TOP, LEFT - 2, size.height);
        for (const row of rows) {
                const y = y_of(row);
                if (y > size.height || y + row.height < TOP)
                        continue;
                if (row.is_title) {
                        paper.fillStyle = colors.band;
                        paper.fillRect(0, y, size.width, TITLE_HEIGHT - 2);
                        paper.fillStyle = colors.text;
                        paper.font = "bold 12px system-ui, sans-serif";
                        paper.fillText(row.text, 6, y + 14);
                } else {
                        paper.font = "12px system-ui, sans-serif";
                        paper.fillStyle = colors.faint;
                        paper.fillText(row.text, 12, y + 4 + (BAR_AT + BAR_HEIGHT / 2) * stretch);
                }
        }
}

function draw_rows()
{
        paper.globalAlpha = picked ? 0.35 : 1;
        for (const row of rows) {
                const y = y_of(row);
                if (row.is_title || y > size.height || y + row.height < TOP)
                        continue;
                draw_series(row.bars, y + BAR_AT * stretch, BAR_HEIGHT * stretch);
                draw_series(row.minor, y + MINOR_AT * stretch, MINOR_HEIGHT * stretch);
                draw_series(row.faults, y + FAULT_AT * stretch, FAULT_HEIGHT * stretch);
        }
        paper.globalAlpha = 1;
}

function draw()
{
        const scale = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
        size = { width: Math.max(box.width, LEFT + 50), height: Math.max(box.height, 50) };
        const wide = Math.round(size.width * scale), tall = Math.round(size.height * scale);
        if (canvas.width !== wide || canvas.height !== tall) {
                canvas.width = wide;
                canvas.height = tall;
        }
        lay_out();
        paper.setTransform(scale, 0, 0, scale, 0, 0);
        paper.fillStyle = colors.ground;
        paper.fillRect(0, 0, size.width, size.height);
        draw_axis();
        paper.save();
        paper.beginPath();
        paper.rect(LEFT - 1, TOP, size.width, size.height);
        paper.clip();
        draw_rows();
        if (picked)
                draw_picked();
        draw_arrows(arrows, picked ? 0.9 : 0.7);
        if (hovered && hovered.outcome !== undefined)
                draw_arrows(arrows_of_bar.get(hovered.no) || [], 1);
        paper.restore();
        draw_labels();
}

let is_requested = false;
function request()
{
        if (is_requested)
                return;
        is_requested = true;
        requestAnimationFrame(() => { is_requested = false; draw(); });
}

/* ---- Words ---- */

function duration(ns)
{
        if (ns < 1000)
                return Math.round(ns) + " ns";
        for (const [limit, unit] of [[1e6, "\u00b5s"], [1e9, "ms"], [Infinity, "s"]])
                if (ns < limit) {
                        const amount = ns / { "\u00b5s": 1e3, ms: 1e6, s: 1e9 }[unit];
                        return amount.toFixed(amount < 10 ? 2 : amount < 100 ? 1 : 0) + " " + unit;
                }
}

/* With as many places as the step needs; all moments up to `most` have the same unit. */
function moment(ns, step, most)
{
        const [size_ns, unit] = most >= 1e9 ? [1e9, "s"] : most >= 1e6 ? [1e6, "ms"] : [1e3, "\u00b5s"];
        return (ns / size_ns).toFixed(Math.min(Math.max(Math.ceil(-Math.log10(step / size_ns) - 1e-9), 0), 9)) + " " + unit;
}

function count(number, one, many)
{
        return number.toLocaleString("en") + " " + (number === 1 ? one : many);
}

function who(track_no)
{
        const track = trace.tracks[track_no];
        return (track.program || "?") + " " + track.pid + ", " + (track.background ? "background" : "thread " + track.tid);
}

function range(first, last) { return first > last ? "none" : first === last ? "byte " + first : "bytes " + first + " to " + last; }

function words_of_bytes(bytes)
{
        if (!bytes)
                return "";
        return "\nothers changed " + range(bytes[0], bytes[1]) + ", it had changed " + range(bytes[2], bytes[3]) +
                (are_apart(bytes) ? "\nno byte is the same: only the page is shared" : "");
}

function words_of_lost(bar)
{
        const arrow = (arrows_of_bar.get(bar.no) || []).find(one => one.loser.no === bar.no);
        let winner = "";
        if (arrow)
                winner = "\ncommit " + bar.c + " won, of " + who(arrow.winner.track);
        else if (bar.c > 0)
                winner = "\ncommit " + bar.c + " won, which is not shown";
        return "over " + page_name(bar.track, bar.a, bar.b) + words_of_bytes(bytes_of.get(bar.no)) + winner +
                (bar.flags & FLAG_AGAIN ? "\nxac_run() tries again" : "");
}

function words_of_bar(bar)
{
        const head = OUTCOMES[bar.outcome].name + ", " + duration(bar.end - bar.begin) + "\n" + who(bar.track) + "\n";
        if (bar.outcome === LOST)
                return head + words_of_lost(bar);
        if (bar.outcome === ABORTED)
                return head + (trace.reasons[bar.a] || "error " + bar.a);
        if (bar.outcome === OPEN)
                return head;
        const won = (arrows_of_bar.get(bar.no) || []).filter(arrow => arrow.winner.no === bar.no).length;
        return head + (bar.a > 0 ? "commit " + bar.a + ": " : "") + count(bar.b, "page", "pages") + " read, " + bar.c + " written" +
                (bar.d > 0 ? "\nxend() took " + duration(bar.d) + (bar.flags & FLAG_WAITED ? ", with the disk" : "") : "") +
                (won ? "\nmade " + count(won, "other", "others") + " lose" : "");
}

function words_of_mark(mark)
{
        const took = duration(mark.end - mark.begin), failed = mark.flags & FLAG_FAILED ? ", which FAILED" : "";
        switch (mark.kind) {
        case FAULT:
                return "fault by a " + (mark.flags & FLAG_WRITE ? "store" : "load") + ", " + took + "\n" +
                        page_name(mark.track, mark.a, mark.b) + (mark.flags & FLAG_AGAIN ? "\nit had touched the page before" : "");
        case PAUSE:
                return "pause of " + took + ", after " + count(mark.a, "loss", "losses") + " in a row" +
                        (mark.flags & FLAG_EXCLUSIVE ? "\nthen all others wait for it" : "");
        case GROUP:
                return "write of the log, " + took + failed + "\n" + count(mark.a, "byte", "bytes") + ", up to commit " + mark.b;
        case CHECKPOINT_MARK:
                return "checkpoint, " + took + failed + "\n" + count(mark.a, "page", "pages") + " brought home, up to commit " + mark.b;
        default:
                return "sleep in xac_wait(), " + took;
        }
}

/* ---- What is under the pointer ---- */

/* { item } or, if there are several in two pixels, { series, first, end }; null. */
function find_in(series, x)
{
        const from = time_of(x - 2), to = time_of(x + 2);
        const first = search(series.end_so_far, from);
        let end = search(series.begin, to, first), found = [];
        for (let i = end - 1; i >= first && found.length < 2; i--)
                if (series.items[i].end >= from)
                        found.push(series.items[i]);
        if (found.length === 0)
                return null;
        const exact = found.find(item => item.begin <= time_of(x) && item.end >= time_of(x));
        if (found.length === 1 || (exact && x_of(exact.end) - x_of(exact.begin) >= 3))
                return { item: exact || found[0] };
        return { series, first, end };
}

function find(x, y)
{
        const row = rows.find(one => y >= y_of(one) && y < y_of(one) + one.height);
        if (!row || row.is_title || x < LEFT || y < TOP)
                return null;
        const inside = (y - y_of(row)) / stretch;
        const series = inside < MINOR_AT ? row.bars : inside < FAULT_AT ? row.minor : row.faults;
        return find_in(series, x) || (series === row.minor ? find_in(row.bars, x) : null);
}

function words_of_many({ series, first, end })
{
        const lines = series.kinds.map((kind, no) => [series.sums[no][end] - series.sums[no][first], kind.name])
                .filter(([number]) => number > 0).map(([number, name]) => number + " \u00d7 " + name);
        return lines.join("\n") + "\nzoom in to tell them";
}

function add_map(label, hex, name)
{
        const title = document.createElement("div"), cells = document.createElement("div");
        title.textContent = label;
        cells.className = "bytes";
        const parts = BigInt("0x" + hex);
        for (let i = 0n; i < 64n; i++) {
                const cell = document.createElement("i");
                if (parts >> i & 1n)
                        cell.className = name;
                cells.append(cell);
        }
        tip.append(title, cells);
}

function show_tip(x, y)
{
        const found = find(x, y), before = hovered;
        hovered = found && found.item || null;
        if (before !== hovered)
                request();
        tip.hidden = !found;
        if (!found)
                return;
        const item = found.item;
        tip.textContent = !item ? words_of_many(found) : item.outcome === undefined ? words_of_mark(item) : words_of_bar(item);
        const bytes = item && item.outcome === LOST && bytes_of.get(item.no);
        if (bytes) {
                add_map("the page, changed by others", bytes[4], "others");
                add_map("changed by itself", bytes[5], "own");
        }
        const box = tip.getBoundingClientRect();
        tip.style.left = Math.max(Math.min(x + 14, size.width - box.width - 4), 0) + "px";
        tip.style.top = Math.max(y + 18 + box.height > size.height ? y - box.height - 10 : y + 18, 0) + "px";
}

/* ---- Beside it ---- */

function pick(page)
{
        picked = page && page !== picked ? page : null;
        if (picked && !picked.set)
                picked.set = new Set(picked.bars);
        document.querySelectorAll("#pages button").forEach((button, no) =>
                button.setAttribute("aria-pressed", String(pages[no] === picked)));
        request();
}

/* The next conflict (of the page that was picked) behind the middle of the view, or the one before it. */
function go_to_conflict(step)
{
        const list = picked ? picked.bars : lost_in_order, middle = (view.from + view.to) / 2;
        const ends = list.map(no => bar_of(no).end), width = (view.to - view.from) / 2;
        const slack = width / 1e6;
        const at = step > 0 ? search(ends, middle + slack) : search(ends, middle - slack) - 1;
        if (at >= 0 && at < list.length)
                show(ends[at] - width, ends[at] + width);
}

function list_hot_pages()
{
        const MOST = 100, list = document.getElementById("pages");
        for (const page of pages.slice(0, MOST)) {
                const item = document.createElement("li"), button = document.createElement("button"), more = document.createElement("small");
                button.append(page.name);
                more.textContent = count(page.bars.length, "conflict", "conflicts") + ", " + duration(page.ns) + " of work lost" +
                        (page.apart ? "; in " + page.apart + " no byte was the same" : "");
                button.append(more);
                button.setAttribute("aria-pressed", "false");
                button.addEventListener("click", () => pick(page));
                item.append(button);
                list.append(item);
        }
        pages.length = Math.min(pages.length, MOST);
        document.getElementById("none").textContent = pages.length ? "Click one to see its conflicts alone." :
                "Nothing that is shown lost over a page that is known.";
}

function write_legend()
{
        const legend = document.getElementById("legend");
        const add = (kind, is_small) => {
                const entry = document.createElement("span"), sample = document.createElement("i");
                sample.style.background = "var(--" + kind.color + ")";
                sample.className = is_small ? "small" : "";
                entry.append(sample, kind.name);
                legend.append(entry);
        };
        OUTCOMES.forEach((kind, no) => add(no === COMMITTED ? { name: "committed, paler: in xend()", color: kind.color } : kind, false));
        add({ name: "checkpoint", color: "checkpoint" }, false);
        MINOR.forEach(kind => add(kind, true));
        FAULTS.forEach(kind => add(kind, true));
        const arrow = document.createElement("span");
        arrow.textContent = "\u2192 from the commit that won to the transaction that lost";
        legend.append(arrow);
}

function words_of_part()
{
        const part = count(bar_count, "transaction", "transactions") + ", " + count(arrow_count, "conflict", "conflicts") +
                " with both sides, " + count(mark_count, "other mark", "other marks");
        if (trace.items >= trace.all)
                return "This is the whole trace of " + duration(trace.span) + ": " + part + ".";
        return "This is a part of the trace, from " + (trace.from / 1e9).toFixed(6) + " s to " + (trace.to / 1e9).toFixed(6) + " s of " +
                duration(trace.span) + ", " + { asked: "as asked for", conflicts: "where most conflicts are" }[trace.cause] + ": " + part +
                "; " + trace.items.toLocaleString("en") + " of " + trace.all.toLocaleString("en") +
                " events. Another part: xac trace --html --from SECONDS --to SECONDS.";
}

function write_header()
{
        const begun = trace.real_ms ? " of " + new Date(trace.real_ms).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "";
        document.getElementById("title").textContent = "Trace " + trace.trace.split("/").pop() + begun;
        document.title = "xac trace " + trace.trace.split("/").pop();
        const missing = [];
        if (trace.lost)
                missing.push(count(trace.lost, "event", "events") + " found no room when recorded");
        if (trace.left_out)
                missing.push(count(trace.left_out, "event", "events") + " of this time found no room on the page");
        if (trace.missing)
                missing.push(count(trace.missing, "event", "events") + " are missing from the file");
        if (trace.damage)
                missing.push("the file is damaged in " + count(trace.damage, "place", "places"));
        document.getElementById("shown").textContent = words_of_part() + (missing.length ? " NOT COMPLETE: " + missing.join("; ") + "." : "");
        write_legend();
}

/* ---- Hands ---- */

const fingers = new Map();
let has_moved = false;

function position(event)
{
        const box = canvas.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/* One finger, or the mouse, moves; two zoom. */
function drag(event)
{
        const before = fingers.get(event.pointerId), now = position(event);
        if (!before) {
                show_tip(now.x, now.y);
                return;
        }
        if (fingers.size === 1) {
                if (!has_moved && Math.hypot(now.x - before.x, now.y - before.y) < 4)
                        return;
                has_moved = true;
                move((before.x - now.x) / (size.width - LEFT), before.y - now.y);
        } else if (fingers.size === 2) {
                const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
                const was = Math.max(Math.abs(before.x - other.x), 10), is = Math.max(Math.abs(now.x - other.x), 10);
                has_moved = true;
                zoom(is / was, time_of((now.x + other.x) / 2));
        }
        fingers.set(event.pointerId, now);
        tip.hidden = has_moved;
}

function let_go(event)
{
        const at = position(event);
        fingers.delete(event.pointerId);
        if (fingers.size === 0 && !has_moved && event.type === "pointerup")
                show_tip(at.x, at.y);
}

canvas.addEventListener("pointerdown", event => {
        if (fingers.size === 0)
                has_moved = false;
        fingers.set(event.pointerId, position(event));
        canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", drag);
canvas.addEventListener("pointerup", let_go);
canvas.addEventListener("pointercancel", let_go);
canvas.addEventListener("pointerleave", () => { tip.hidden = true; hovered = null; request(); });
canvas.addEventListener("wheel", event => {
        event.preventDefault();
        if (event.shiftKey)
                move(0, event.deltaY || event.deltaX);
        else
                zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), time_of(Math.max(position(event).x, LEFT)));
}, { passive: false });

const KEYS = {
        "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), "0": () => { view.down = 0; show(whole.from, whole.to); },
        ArrowLeft: () => move(-0.15, 0), ArrowRight: () => move(0.15, 0), ArrowUp: () => move(0, -ROW_HEIGHT), ArrowDown: () => move(0, ROW_HEIGHT),
        n: () => go_to_conflict(1), p: () => go_to_conflict(-1), Escape: () => pick(null),
};
window.addEventListener("keydown", event => {
        if (event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key] || event.target.closest("aside") && event.key.startsWith("Arrow"))
                return;
        event.preventDefault();
        KEYS[event.key]();
});
window.addEventListener("resize", request);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { read_colors(); request(); });

/* PAGE#1.25-1.5 shows these seconds. */
function follow_address()
{
        const [, from, to] = /^#([\d.]+)-([\d.]+)$/.exec(window.location.hash) || [];
        if (to)
                show(from * 1e9 - trace.from, to * 1e9 - trace.from);
}
window.addEventListener("hashchange", follow_address);

read_colors();
write_header();
list_hot_pages();
draw();
follow_address();

/* For tests, and for who asks the console. */
window.xacTrace = {
        bars: rows.reduce((sum, row) => sum + (row.is_title ? 0 : row.bars.items.filter(item => item.outcome !== undefined).length), 0),
        arrows: arrows.length, marks: mark_count, rows: row_of_track.length,
        pages: pages.map(page => ({ name: page.name, conflicts: page.bars.length })),
        range: () => [view.from + trace.from, view.to + trace.from],
        zoom: factor => { zoom(factor); return view.to - view.from; },
        show: (from, to) => show(from - trace.from, to - trace.from),
        all: () => KEYS["0"](),
        pick: no => pick(pages[no]),
        next: () => go_to_conflict(1),
        tip: (x, y) => { show_tip(x, y); return tip.hidden ? "" : tip.textContent; },
        x: time => x_of(time - trace.from),
        y: track => y_of(row_of_track[track]) + (BAR_AT + 1) * stretch,
        draw,
};
})();
