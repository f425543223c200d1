// SPDX-License-Identifier: MIT
// Put at the end of a page by page_check.py: tries what a reader would do and
// sends what went wrong to the frame around it.
"use strict";
(() => {
	const faults = [];
	const expect = (what, condition) => {
		if (!condition)
			faults.push(what);
	};
	const tick = () => new Promise(done => setTimeout(done, 0));

	const check_width = () => {
		const width = document.documentElement.clientWidth;
		expect("page is wider than the window: " +
			document.documentElement.scrollWidth + " > " + width,
			document.documentElement.scrollWidth <= width);
		for (const node of document.querySelectorAll("main *")) {
			if (node.closest(".scroll, svg, nav, .what, .tablist, " +
			    "[hidden], details:not([open])"))
				continue;
			const right = node.getBoundingClientRect().right;
			expect("sticks out by " + (right - width) + ": <" +
				node.localName + " class=" +
				node.className + ">", right <= width + 1);
		}
	};

	const check_sorting = () => {
		const table = document.querySelector(".scroll > table");
		if (!table || table.tBodies[0].rows.length < 3)
			return;
		const heads = [...table.tHead.rows[0].cells];
		const sorted = heads.filter(head =>
			head.getAttribute("aria-sort") === "descending");
		expect("comes sorted by one number", sorted.length === 1);
		const column = heads.findIndex(head =>
			head.classList.contains("num") && head !== sorted[0]);
		const head = heads[column];
		const numbers = () => [...table.tBodies[0].rows].map(row => Number(
			row.cells[column].querySelector("data").value));
		const before = numbers().length;
		head.querySelector("button").click();
		expect("aria-sort after one click: " +
			head.getAttribute("aria-sort"),
			head.getAttribute("aria-sort") === "descending");
		expect("not sorted descending", numbers().every((value, i, all) =>
			i === 0 || all[i - 1] >= value));
		head.querySelector("button").click();
		expect("not sorted ascending", numbers().every((value, i, all) =>
			i === 0 || all[i - 1] <= value));
		expect("rows lost", numbers().length === before);
		heads[0].querySelector("button").click();
		expect("names ascend first",
			heads[0].getAttribute("aria-sort") === "ascending");
		expect("one sorted column", table.querySelectorAll(
			"[aria-sort=ascending], [aria-sort=descending]")
			.length === 1);
	};

	// A backtrace has the width of its table's view, and stays with its row.
	const check_backtraces = () => {
		const stack = document.querySelector(".more .stack");
		if (!stack)
			return;
		const table = stack.closest("table");
		const width = stack.closest(".scroll").clientWidth;
		stack.open = true;
		expect("backtrace is " + stack.clientWidth + " wide, of " + width,
			stack.clientWidth > width - 40 &&
			stack.clientWidth <= width);
		expect("backtrace wider than its box", [...stack.querySelectorAll(
			"li")].every(line => line.scrollWidth <= width));
		const pairs = () => [...table.querySelectorAll(".more")].map(row =>
			row.previousElementSibling.textContent +
			row.textContent).sort().join();
		const before = pairs();
		const head = table.tHead.querySelector(".num button");
		head.click();
		head.click();
		expect("backtraces leave their rows", pairs() === before);
		stack.open = false;
	};

	const check_tabs = () => {
		const tabs = document.querySelectorAll("[role=tab]");
		if (tabs.length < 2)
			return;
		const shown = () => [...document.querySelectorAll(
			"[role=tabpanel]")].filter(panel =>
			!panel.hasAttribute("hidden")).length;
		expect("one panel is shown", shown() === 1);
		tabs[1].click();
		expect("click chooses a tab", shown() === 1 &&
			tabs[1].getAttribute("aria-selected") === "true");
		tabs[1].focus();
		tabs[1].dispatchEvent(new KeyboardEvent("keydown",
			{ key: "ArrowLeft", bubbles: true }));
		expect("arrows choose a tab", document.activeElement === tabs[0] &&
			tabs[0].getAttribute("aria-selected") === "true");
	};

	const check_theme = () => {
		const button = document.querySelector("header button");
		const color = () => getComputedStyle(document.body)
			.backgroundColor;
		const seen = new Set();
		for (let i = 0; i < 3; i++) {
			button.click();
			seen.add(document.documentElement.dataset.theme);
			seen.add(color());
		}
		expect("three themes, two colours", seen.size === 5);
	};

	// WCAG 2.1, relative luminance and contrast ratio.
	const channels = text => text.match(/[\d.]+/g).slice(0, 3).map(Number);
	const luminance = rgb => rgb.map(c => c / 255).map(c =>
		c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const background = node => {
		for (; node; node = node.parentElement) {
			const color = getComputedStyle(node).backgroundColor;
			if (!/, 0\)$|transparent/.test(color))
				return color;
		}
		return "rgb(255, 255, 255)";
	};
	const check_contrast = theme => {
		document.documentElement.dataset.theme = theme;
		for (const node of document.querySelectorAll("main *, header *")) {
			const own = [...node.childNodes].some(child =>
				child.nodeType === 3 && child.data.trim());
			if (!own || node.closest("svg, script, [hidden], .drawing"))
				continue;
			const pair = [getComputedStyle(node).color,
				background(node)].map(channels).map(luminance);
			const ratio = (Math.max(...pair) + 0.05) /
				(Math.min(...pair) + 0.05);
			expect(theme + ": contrast " + ratio.toFixed(2) + " of <" +
				node.localName + " class=" + node.className + ">",
				ratio >= 4.5);
		}
	};

	const run = async () => {
		await tick();
		check_width();
		check_sorting();
		check_backtraces();
		check_tabs();
		check_theme();
		check_contrast("light");
		check_contrast("dark");
		expect("something was loaded: " + performance
			.getEntriesByType("resource").map(entry => entry.name),
			performance.getEntriesByType("resource").length === 0);
		expect("a hostile name ran", !window.alerted);
		parent.postMessage(faults.length
			? [...new Set(faults)].join("\n")
			: "ok at " + innerWidth, "*");
	};
	window.alert = () => { window.alerted = true; };
	run().catch(error => parent.postMessage(String(error.stack), "*"));
})();
