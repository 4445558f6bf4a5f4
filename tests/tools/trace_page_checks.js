/* SPDX-License-Identifier: MIT */

/*
 * Run in the page by test_trace_page.sh, behind the page's own script. EXPECTED is what the trace has. Says in the
 * page what is wrong, and "checked" at the end.
 */
"use strict";
(function () {
const said = document.createElement("pre");
said.id = "said";
document.body.append(said);

function check(is_right, what)
{
        if (!is_right)
                said.append("WRONG: " + what + "\n");
}

function equal(actual, expected, what)
{
        check(actual === expected, what + " is " + actual + " instead of " + expected);
}

function length() { const [from, to] = xacTrace.range(); return to - from; }
function near(actual, expected) { return Math.abs(actual - expected) <= Math.abs(expected) * 1e-6; }
function press(key) { document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); }

const canvas = document.getElementById("canvas");
const box = canvas.getBoundingClientRect();

function pointer(type, x, y)
{
        canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: box.left + x, clientY: box.top + y, bubbles: true }));
}

/* Of what is drawn: the colour there, as #rrggbb. */
function read_canvas()
{
        const scale = window.devicePixelRatio || 1;
        const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return (x, y) => {
                const at = (Math.round(y * scale) * image.width + Math.round(x * scale)) * 4;
                return "#" + [...image.data.slice(at, at + 3)].map(part => part.toString(16).padStart(2, "0")).join("");
        };
}

function color_named(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }

function check_counts()
{
        equal(xacTrace.bars, EXPECTED.bars, "the number of bars");
        equal(xacTrace.arrows, EXPECTED.arrows, "the number of arrows");
        equal(xacTrace.rows, EXPECTED.rows ?? 5, "the number of rows");
        equal(xacTrace.pages.reduce((sum, page) => sum + page.conflicts, 0), EXPECTED.arrows, "the sum over the pages");
        equal(document.querySelectorAll("b").length, 0, "how much of a name became a tag");
        check(document.getElementById("pages").textContent.includes("of <script>\"x\\y\"<\/script>"), "a name is missing");
}

function check_zoom()
{
        const all = length();
        xacTrace.zoom(2);
        check(near(length(), all / 2), "zoom(2) shows " + length() + " of " + all);
        press("+");
        check(near(length(), all / 3), "+ shows " + length() + " of " + all);
        press("-");
        const [from] = xacTrace.range();
        press("ArrowRight");
        check(xacTrace.range()[0] > from, "the right arrow does not move");
        press("ArrowLeft");
        check(near(xacTrace.range()[0], from), "the left arrow does not move back");
        pointer("pointerdown", 500, 100);
        pointer("pointermove", 400, 100);
        pointer("pointerup", 400, 100);
        check(xacTrace.range()[0] > from, "dragging does not move");
        press("0");
        check(near(length(), all), "0 does not show all");
        canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -200, clientX: box.left + 400, clientY: box.top + 100 }));
        check(length() < all * 0.9, "the wheel does not zoom");
        for (let i = 0; i < 200; i++)
                xacTrace.zoom(2);
        check(length() > 50 && length() < 1000, "zooming in ends at " + length());
        xacTrace.all();
        check(near(length(), all), "all() does not show all");
}

/* The first bar of the second program's first thread: 1.4 microseconds after the beginning, alone and wide. */
function check_drawn()
{
        const bar = EXPECTED.bar;
        xacTrace.show(bar.begin - 500, bar.end + 500);
        xacTrace.draw();
        const x = xacTrace.x((bar.begin * 3 + bar.end) / 4), y = xacTrace.y(bar.track), color_at = read_canvas();
        equal(color_at(x, y + 4), color_named(bar.color), "the colour of a bar");
        equal(color_at(xacTrace.x(bar.begin) - 4, y + 4), color_named("ground"), "the colour beside it");
        const tip = xacTrace.tip(x, y);
        check(tip.includes(bar.text), "of a bar is said: " + tip);
        xacTrace.all();
}

function check_conflict()
{
        xacTrace.pick(0);
        equal(document.querySelectorAll("#pages button[aria-pressed=true]").length, 1, "the number of pages that are picked");
        xacTrace.show(...xacTrace.range().map((moment, no, [from, to]) => no ? from + (to - from) / 100 : from));
        const before = xacTrace.range();
        press("n");
        check(xacTrace.range()[0] > before[0], "n does not go to the next conflict");
        const [from, to] = xacTrace.range();
        xacTrace.show((from + to) / 2 - 1500, (from + to) / 2 + 1500);
        xacTrace.draw();
        const texts = [0, 1, 2, 3].map(track => xacTrace.tip(xacTrace.x((from + to) / 2 - 300), xacTrace.y(track)));
        const text = texts.find(one => one.startsWith("lost a conflict") && one.includes("over " + xacTrace.pages[0].name));
        check(text, "no conflict where n went: " + texts);
        check(text && text.includes("others changed bytes 0 to 63, it had changed bytes 128 to 200"), "its bytes are missing: " + text);
        check(text && text.includes("no byte is the same"), "that no byte is the same is not said: " + text);
        check(text && / won, of /.test(text), "who won is missing: " + text);
        press("Escape");
        equal(document.querySelectorAll("#pages button[aria-pressed=true]").length, 0, "the number of pages picked after Esc");
        xacTrace.all();
}

check_counts();
check_zoom();
if (EXPECTED.bar)
        check_drawn();
check_conflict();
check(window.errors.length === 0, window.errors.join("; "));
said.append("checked\n");
})();
