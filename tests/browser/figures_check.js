/* SPDX-License-Identifier: MIT */
/*
 * Runs at the end of a document with figures and writes what is wrong, or
 * "ok N", into the document element's data-result (figures_check.py).
 */
(async function () {
"use strict";

const faults = [];
let checks = 0;

function check(condition, what) {
	checks++;
	if (!condition)
		faults.push(what);
}

const settle = () => new Promise((resolve) => {
	setTimeout(resolve, 50);
});

function key(target, name, more) {
	const event = new KeyboardEvent("keydown", Object.assign(
		{ key: name, bubbles: true, cancelable: true }, more));

	target.dispatchEvent(event);
	return event;
}

const click = (node) => node.dispatchEvent(
	new MouseEvent("click", { bubbles: true }));
const boxesOf = (svg) => [...svg.querySelectorAll(".mp-frames > svg")];
const boxOf = (svg, name) => boxesOf(svg).find((box) =>
	box.firstElementChild.textContent.split("\n")[0] === name);
const shown = (box) => box.style.display !== "none";
const width = (box) => parseFloat(box.getAttribute("width"));
const left = (box) => parseFloat(box.getAttribute("x"));

function search(svg, text) {
	const input = svg.querySelector(".mp-search");

	input.value = text;
	input.dispatchEvent(new Event("input", { bubbles: true }));
	input.dispatchEvent(new Event("change", { bubbles: true }));
	return svg.querySelector(".mp-found").textContent;
}

function checkTexts(svg) {
	const scale = svg.getBoundingClientRect().width;

	check(scale > 100, "the graph has no width");
	for (const box of boxesOf(svg)) {
		const text = box.querySelector("text");

		if (text && shown(box) && text.textContent)
			check(text.getComputedTextLength() <=
				width(box) * scale / 100 + 1,
				"text wider than its box: " + text.textContent);
	}
}

/* The small sample tree of tests/lib/figure_samples_trees.c. */
async function checkSmall(svg, prefix) {
	const step = boxOf(svg, "sqlite3_step");
	const page = boxOf(svg, "page_get (inlined)");
	const main = boxOf(svg, "main");
	const before = width(page);
	const reset = svg.querySelector(".mp-reset");

	checkTexts(svg);
	check(reset.disabled, "reset is enabled without zoom");

	click(step);
	check(width(step) === 100 && left(step) === 0, "zoomed is not full");
	check(width(main) === 100, "an ancestor is not full");
	check(main.classList.contains("a"), "an ancestor is not faded");
	check(width(page) > before, "a callee did not grow");
	check(!reset.disabled, "reset is disabled in a zoom");
	check(location.hash.includes(prefix + "zoom="),
		"zoom is not in the fragment: " + location.hash);
	check(svg.querySelector(".mp-details").textContent ===
		"Zoomed into sqlite3_step", "details do not tell the zoom");
	checkTexts(svg);

	click(page);
	check(!shown(boxOf(svg, "btree_open")), "a sibling is shown");
	click(reset);
	check(Math.abs(width(page) - before) < 1e-9, "reset did not reset");
	check(boxesOf(svg).every(shown), "reset left boxes hidden");
	check(!location.hash.includes(prefix + "zoom="), "zoom is left over");

	page.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
	const details = svg.querySelector(".mp-details").textContent;
	for (const part of ["page_get (inlined)", "7.63 MiB (8,000,000 bytes)",
		"2,000 allocations", "66.3 %", "pager.c:44", "libsqlite3.so.0"])
		check(details.includes(part), "details lack " + part);

	check(search(svg, "btree|page_get") ===
		"matched 2 drawn frames, 11.5 MiB (>99.9 %)",
		"found: " + search(svg, "btree|page_get"));
	check(search(svg, "sqlite3_step|PAGE_GET") ===
		"matched 2 drawn frames, 11.5 MiB (>99.9 %)",
		"nested matches count twice: " +
		search(svg, "sqlite3_step|PAGE_GET"));
	check(page.classList.contains("m") && !main.classList.contains("m"),
		"highlight is wrong");
	check(location.hash.includes(prefix + "search=sqlite3_step%7CPAGE_GET"),
		"search is not in the fragment: " + location.hash);
	check(search(svg, "(") === "not a regular expression",
		"a broken regex is not told");
	check(search(svg, "shell\\.c:88") === "matched 1 drawn frame, 11.5 MiB (>99.9 %)",
		"files are not searched: " + search(svg, "shell\\.c:88"));
	check(search(svg, "no such name") === "matched 0 drawn frames, 0 B (0 %)",
		"nothing found reads: " + search(svg, "no such name"));

	/* Keys: Enter zooms, arrows walk, Esc ends first search, then zoom. */
	main.focus();
	check(key(main, "Enter").defaultPrevented, "Enter is not taken");
	check(width(main) === 100 && !reset.disabled, "Enter does not zoom");
	main.setAttribute("tabindex", "0");
	main.focus();
	key(main, "ArrowDown");
	check(document.activeElement === boxOf(svg, "run_queries"),
		"ArrowDown does not go to the callee");
	key(document.activeElement, "ArrowUp");
	check(document.activeElement === main,
		"ArrowUp does not go to the caller");
	key(main, "Escape");
	check(svg.querySelector(".mp-search").value === "",
		"Esc does not end the search");
	check(!reset.disabled, "the first Esc ends the zoom too");
	key(main, "Escape");
	check(reset.disabled, "the second Esc does not end the zoom");

	main.focus();
	check(key(main, "f", { ctrlKey: true }).defaultPrevented,
		"Ctrl-F is not taken");
	check(document.activeElement === svg.querySelector(".mp-search"),
		"Ctrl-F does not focus the search");
	check(!key(document.activeElement, "f", { ctrlKey: true })
		.defaultPrevented, "the second Ctrl-F is taken");

	/* State comes back from the fragment. */
	const number = boxesOf(svg).indexOf(step);
	location.hash = "#" + prefix + "zoom=" + number + "&" + prefix +
		"search=main";
	await settle();
	check(width(step) === 100, "zoom is not read from the fragment");
	check(main.classList.contains("m"), "search is not read");
	location.hash = "#" + prefix + "zoom=99999&" + prefix + "search=%";
	await settle();
	check(reset.disabled, "a zoom that does not exist is taken");
	location.hash = "#";
	await settle();
	check(boxesOf(svg).every(shown), "an empty fragment leaves a zoom");
}

/* Another graph of the page stays as it is. */
async function checkOthers(first, second) {
	click(boxesOf(first)[3]);
	check(second.querySelector(".mp-reset").disabled,
		"a zoom reaches another graph");
	click(boxesOf(second)[2]);
	check(location.hash.includes(first.id + ".zoom=3") &&
		location.hash.includes(second.id + ".zoom=2"),
		"two zooms in the fragment: " + location.hash);
	location.hash = "#some-heading";
	await settle();
	check(first.querySelector(".mp-reset").disabled &&
		second.querySelector(".mp-reset").disabled,
		"an anchor does not reset");
}

function checkTimeline(svg) {
	const box = svg.getBoundingClientRect();
	const lines = () => [...svg.querySelectorAll(".mp-readout text")]
		.map((line) => line.textContent);
	const point = (ratio) => svg.dispatchEvent(new PointerEvent(
		"pointermove", { bubbles: true,
			clientX: box.left + box.width * ratio }));

	const peak = parseFloat(svg.querySelector(".mp-dot")
		.getAttribute("cx"));

	point(peak / 100 - 0.001);
	check(lines()[0] === "10.8 s", "time under the pointer: " + lines());
	check(lines()[1] === "Live bytes: 10.6 MiB",
		"value under the pointer: " + lines());
	check(lines()[2] === "Resident memory: 34.3 MiB", "rss: " + lines());
	check(/^Live blocks: 22,\d\d\d$/.test(lines()[3]),
		"blocks: " + lines());
	for (const ratio of [0, 0.5, 1]) {
		point(ratio);
		const panel = svg.querySelector(".mp-readout rect")
			.getBoundingClientRect();
		check(panel.left >= box.left - 1 && panel.right <= box.right + 1,
			"the readout leaves the chart at " + ratio);
	}
	svg.dispatchEvent(new PointerEvent("pointerleave"));
	check(svg.querySelector(".mp-readout").style.display === "none",
		"the readout stays");
	key(svg, "End");
	check(lines()[0] === "12.5 s", "End: " + lines());
}

/* Labels stay inside, on one line without touching each other. */
function checkHistogram(svg) {
	const box = svg.getBoundingClientRect();
	const texts = [...svg.querySelectorAll(":scope > text")]
		.map((text) => ({ text: text.textContent,
			box: text.getBoundingClientRect() }));

	check(svg.querySelectorAll(".mp-class > title").length > 5,
		"classes have no titles");
	for (const a of texts) {
		check(a.box.left >= box.left - 1 && a.box.right <= box.right + 1,
			"a text leaves the chart: " + a.text);
		for (const b of texts)
			check(a === b || a.box.right <= b.box.left ||
				b.box.right <= a.box.left ||
				a.box.bottom <= b.box.top + 2 ||
				b.box.bottom <= a.box.top + 2,
				"texts overlap: " + a.text + ", " + b.text);
	}
	for (const column of svg.querySelectorAll(".mp-class > rect")) {
		const place = column.getBoundingClientRect();

		check(place.bottom <= box.bottom && place.right <= box.right + 1,
			"a column leaves the chart");
	}
}

try {
	const flames = [...document.querySelectorAll("svg.mp-flame")];
	const chart = document.querySelector("svg.mp-timeline");
	const root = document.documentElement;

	await settle();
	check(flames.every((svg) => svg.classList.contains("mp-live")),
		"a graph has no script");
	if (flames.length)
		await checkSmall(flames[0],
			flames[0] === root ? "" : flames[0].id + ".");
	if (flames.length > 1) {
		await checkOthers(flames[0], flames[1]);
		checkTexts(flames[1]);
	}
	if (chart)
		checkTimeline(chart);
	document.querySelectorAll("svg.mp-histogram").forEach(checkHistogram);
	if (root.localName === "html")
		check(root.scrollWidth <= innerWidth, "the page is too wide");
} catch (error) {
	faults.push("exception: " + error + " " + error.stack);
}
document.documentElement.setAttribute("data-result",
	faults.length ? faults.join("\n") : "ok " + checks);
if (parent !== window)
	parent.postMessage(faults.length ? faults.join("\n") : "ok " + checks,
		"*");
})();
