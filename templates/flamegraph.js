/* SPDX-License-Identifier: MIT */
/*
 * Zoom and search for flamegraphs that are complete without.  One copy serves
 * all graphs of a page.  No network, no eval, nothing stored.
 *
 * Boxes are nested <svg>s in preorder; `y` tells the row, data-v the cost, the
 * first line of <title> the function and the last the numbers
 * (report/output/svg/flamegraph.c).
 *
 * State lives in the URL fragment: "#zoom=12&search=malloc" where the graph is
 * the whole document, "#leaks.zoom=12" in a page.
 */
(function () {
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const XHTML = "http://www.w3.org/1999/xhtml";
const ROW = 18, PAD = 3, BASELINE = 13, BORDER_MIN = 3.5;
const graphs = [];

/* --- words ---------------------------------------------------------------- */

/* The same rounding as report/core/units.c. */
function threeDigits(value) {
	if (value < 9.995)
		return value.toFixed(2);
	return value < 99.95 ? value.toFixed(1) : String(Math.round(value));
}

function formatCount(count) {
	return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

function formatBytes(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let i = 0;

	for (; i < 6 && Math.round(bytes) >= 1024; i++)
		bytes /= 1024;
	return (i ? threeDigits(bytes) : bytes) + " " + units[i];
}

function formatShare(ratio) {
	const percent = ratio * 100;

	if (percent === 0 || percent === 100)
		return percent + " %";
	if (percent < 0.01)
		return "<0.01 %";
	if (percent >= 99.95)
		return ">99.9 %";
	return (percent < 9.995 ? percent.toFixed(2) : percent.toFixed(1)) +
		" %";
}

/* Widths of letters as the browser really sets them. */
function makeRuler(svg) {
	const pen = document.createElementNS(XHTML, "canvas").getContext("2d");
	const style = getComputedStyle(svg);
	const widths = new Map();

	if (pen)
		pen.font = style.fontSize + " " + style.fontFamily;
	return function (letter) {
		let width = widths.get(letter);

		if (width === undefined) {
			width = pen ? pen.measureText(letter).width : 8;
			widths.set(letter, width);
		}
		return width;
	};
}

function fitText(ruler, text, room) {
	const dots = ruler("…");
	let used = 0, cut = "", kept = "", n = 0;

	for (const letter of text) {
		used += ruler(letter);
		if (used > room)
			return n < 2 ? "" : cut + "…";
		kept += letter;
		if (used + dots <= room) {
			cut = kept;
			n++;
		}
	}
	return kept;
}

/* --- the URL fragment ----------------------------------------------------- */

function readState() {
	const state = new Map();

	for (const part of location.hash.slice(1).split("&")) {
		const at = part.indexOf("=");

		try {
			if (at > 0)
				state.set(part.slice(0, at),
					decodeURIComponent(part.slice(at + 1)));
		} catch (error) {
			/* not ours */
		}
	}
	return state;
}

function writeState(changes) {
	const state = readState();
	const parts = [];

	for (const [key, value] of changes)
		if (value === "")
			state.delete(key);
		else
			state.set(key, value);
	for (const [key, value] of state)
		parts.push(key + "=" + encodeURIComponent(value));
	const hash = "#" + parts.join("&");

	if (hash === (location.hash || "#"))
		return;
	try {
		history.pushState(null, "", hash);
	} catch (error) {
		location.hash = hash;
	}
}

/* --- one graph ------------------------------------------------------------ */

class Graph {
	constructor(svg) {
		this.svg = svg;
		this.frames = svg.querySelector(".mp-frames");
		this.isDocument = svg === document.documentElement;
		this.prefix = this.isDocument ? "" : svg.id + ".";
		this.ruler = makeRuler(svg);
		this.zoomed = 0;
		this.search = "";
		this.readBoxes();
		this.addBar();
		this.addListeners();
		svg.classList.add("mp-live");
		svg.setAttribute("role", "group");
		this.boxes[0].node.setAttribute("tabindex", "0");
		this.current = 0;
	}

	readBoxes() {
		const path = [];

		this.boxes = Array.from(this.frames.children, (node, i) => {
			const row = Math.round(node.getAttribute("y") / ROW);

			path.length = row;
			path.push(i);
			return {
				node: node, row: row,
				parent: row ? path[row - 1] : -1,
				end: 0, /* index after the last one below */
				left: parseFloat(node.getAttribute("x")),
				width: parseFloat(node.getAttribute("width")),
				value: Number(node.dataset.v),
				text: node.querySelector("text"),
				shown: null, lines: null, isHit: false,
			};
		});
		for (let i = this.boxes.length - 1; i >= 0; i--) {
			const box = this.boxes[i];

			box.end = Math.max(box.end, i + 1);
			if (box.parent >= 0)
				this.boxes[box.parent].end = Math.max(
					this.boxes[box.parent].end, box.end);
		}
		this.byCount = this.svg.dataset.cost === "count";
	}

	/* Lines of the title: function, file, module, numbers. */
	lines(box) {
		if (!box.lines)
			box.lines = box.node.firstElementChild.textContent
				.split("\n");
		return box.lines;
	}

	label(i) {
		return i ? this.lines(this.boxes[i])[0].replace(/ \(inlined\)$/, "")
			: this.svg.dataset.root;
	}

	format(value) {
		return this.byCount ? formatCount(value) : formatBytes(value);
	}

	/* --- controls --- */

	addBar() {
		const holder = document.createElementNS(SVG, "foreignObject");
		const bar = document.createElementNS(XHTML, "div");
		const make = (tag, name) => {
			const element = document.createElementNS(XHTML, tag);

			element.setAttribute("class", name);
			bar.appendChild(element);
			return element;
		};

		bar.setAttribute("class", "mp-bar");
		this.details = make("div", "mp-details");
		this.found = make("span", "mp-found");
		this.found.setAttribute("role", "status");
		this.input = make("input", "mp-search");
		this.input.setAttribute("type", "search");
		this.input.setAttribute("placeholder", "Search (regex)");
		this.input.setAttribute("aria-label",
			"Search functions by regular expression");
		this.button = make("button", "mp-reset");
		this.button.setAttribute("type", "button");
		this.button.textContent = "Reset zoom";
		holder.setAttribute("width", "100%");
		holder.appendChild(bar);
		this.svg.appendChild(holder);
		this.holder = holder;
		this.top = Number(this.frames.getAttribute("y"));
		this.height = Number(this.svg.getAttribute("height"));
		this.showDetails(-1);
	}

	/* The bar has one row, or two where there is little room. */
	placeBar() {
		const narrow = this.pixels < 640;
		const height = narrow ? 56 : 32;

		this.barHeight = height;
		this.holder.setAttribute("height", height);
		this.frames.setAttribute("y", this.top + height + 4);
		this.svg.setAttribute("height", this.height + height + 4);
		this.followScroll();
	}

	/* Keeps the bar in sight while the graph scrolls below it. */
	followScroll() {
		const up = -this.svg.getBoundingClientRect().top;
		const most = this.height - this.barHeight;

		this.holder.setAttribute("y",
			Math.min(Math.max(this.top, up), Math.max(most, this.top)));
	}

	showDetails(i) {
		if (i < 0) {
			this.details.textContent = this.zoomed
				? "Zoomed into " + this.label(this.zoomed)
				: "Click a box to zoom; Ctrl-F to search";
			return;
		}
		const lines = this.lines(this.boxes[i]);
		const last = lines.length - 1;
		const parts = [lines[0], lines[last]]
			.concat(lines.slice(1, last));

		if (this.zoomed && i >= this.zoomed)
			parts[1] += " (" + formatShare(this.boxes[i].value /
				this.boxes[this.zoomed].value) + " of zoomed)";
		this.details.textContent = parts.join("  ·  ");
	}

	/* --- drawing --- */

	setText(box, i, pixels) {
		const text = pixels > 2 * PAD
			? fitText(this.ruler, this.label(i), pixels - 2 * PAD)
			: "";

		if (!box.text && text) {
			box.text = document.createElementNS(SVG, "text");
			box.text.setAttribute("x", PAD);
			box.text.setAttribute("y", BASELINE);
			box.node.appendChild(box.text);
		}
		if (box.text && box.text.textContent !== text)
			box.text.textContent = text;
	}

	/* Places every box for the zoom and cuts its text. */
	draw() {
		const focus = this.boxes[this.zoomed];
		const above = new Set();

		this.pixels = this.svg.getBoundingClientRect().width;
		if (!this.pixels)
			return; /* folded away: drawn when it opens */
		this.placeBar();
		for (let i = focus.parent; i >= 0; i = this.boxes[i].parent)
			above.add(i);
		this.boxes.forEach((box, i) => {
			const inside = i >= this.zoomed && i < focus.end;
			const isAbove = above.has(i);
			const shown = inside || isAbove;
			const width = isAbove ? 100
				: box.width / focus.width * 100;
			const left = isAbove ? 0
				: (box.left - focus.left) / focus.width * 100;
			const pixels = width * this.pixels / 100;
			const classes = box.node.classList;

			if (shown !== box.shown)
				box.node.style.display = shown ? "" : "none";
			box.shown = shown;
			if (!shown)
				return;
			box.node.setAttribute("x", left + "%");
			box.node.setAttribute("width", width + "%");
			classes.toggle("n", pixels < BORDER_MIN);
			classes.toggle("a", isAbove);
			this.setText(box, i, pixels);
		});
		this.button.disabled = !this.zoomed;
	}

	zoom(i) {
		if (!(i > 0 && i < this.boxes.length))
			i = 0;
		this.zoomed = i;
		this.draw();
		this.showDetails(-1);
	}

	/* Highlights what matches.  Return: whether @text is a regex. */
	find(text) {
		let pattern = null;

		try {
			pattern = text === "" ? null : new RegExp(text, "iu");
		} catch (error) {
			this.input.classList.add("mp-bad");
			this.found.textContent = "not a regular expression";
			return false;
		}
		this.input.classList.remove("mp-bad");
		this.search = text;
		let count = 0, value = 0, covered = 0;

		this.boxes.forEach((box, i) => {
			const hit = pattern !== null && i > 0 &&
				this.matches(box, pattern);

			if (hit !== box.isHit)
				box.node.classList.toggle("m", hit);
			box.isHit = hit;
			if (!hit)
				return;
			count++;
			if (i >= covered) { /* not inside another match */
				value += box.value;
				covered = box.end;
			}
		});
		this.found.textContent = pattern === null ? ""
			: "matched " + formatCount(count) +
			(this.svg.dataset.hidden > 0 ? " drawn" : "") +
			(count === 1 ? " frame, " : " frames, ") +
			this.format(value) + " (" +
			formatShare(value / (this.boxes[0].value || 1)) + ")";
		return true;
	}

	matches(box, pattern) {
		const lines = this.lines(box);

		for (let i = 0; i + 1 < lines.length; i++)
			if (pattern.test(lines[i]))
				return true;
		return false;
	}

	/* --- state --- */

	save() {
		writeState([
			[this.prefix + "zoom",
				this.zoomed ? String(this.zoomed) : ""],
			[this.prefix + "search", this.search],
		]);
	}

	load() {
		const state = readState();
		const search = state.get(this.prefix + "search") || "";

		this.input.value = search;
		this.find(search);
		this.zoom(Number(state.get(this.prefix + "zoom") || 0));
	}

	/* --- events --- */

	boxOf(target) {
		const node = target.closest ? target.closest("svg[data-v]") : null;

		return node ? this.boxes.findIndex((box) => box.node === node)
			: -1;
	}

	focus(i) {
		this.boxes[this.current].node.removeAttribute("tabindex");
		this.current = i;
		this.boxes[i].node.setAttribute("tabindex", "0");
		this.boxes[i].node.focus();
	}

	/* The box that an arrow leads to, or -1. */
	neighbour(i, key) {
		const box = this.boxes[i];
		const isShown = (n) => n >= 0 && n < this.boxes.length &&
			this.boxes[n].shown;

		if (key === "ArrowUp")
			return box.parent;
		if (key === "ArrowDown")
			return i + 1 < box.end && isShown(i + 1) ? i + 1 : -1;
		if (key === "ArrowRight")
			return isShown(box.end) &&
				this.boxes[box.end].parent === box.parent
				? box.end : -1;
		if (key !== "ArrowLeft" || box.parent < 0)
			return -1;
		for (let n = i - 1; n > box.parent; n--)
			if (this.boxes[n].parent === box.parent)
				return isShown(n) ? n : -1;
		return -1;
	}

	onKey(event) {
		const i = this.boxOf(event.target);

		if (i < 0 || event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key === "Enter" || event.key === " ") {
			this.zoom(i);
			this.save();
		} else if (event.key.startsWith("Arrow")) {
			const next = this.neighbour(i, event.key);

			if (next >= 0)
				this.focus(next);
		} else {
			return;
		}
		event.preventDefault();
	}

	/* Esc: first the search, then the zoom. */
	escape() {
		if (this.search || this.input.value) {
			this.input.value = "";
			this.find("");
		} else {
			this.zoom(0);
		}
		this.save();
	}

	addListeners() {
		const frames = this.frames;

		frames.addEventListener("click", (event) => {
			const i = this.boxOf(event.target);

			if (i >= 0) {
				this.zoom(i);
				this.save();
			}
		});
		for (const name of ["mouseover", "focusin"])
			frames.addEventListener(name, (event) => {
				this.showDetails(this.boxOf(event.target));
			});
		frames.addEventListener("mouseleave", () => {
			this.showDetails(-1);
		});
		frames.addEventListener("keydown", (event) => {
			this.onKey(event);
		});
		this.input.addEventListener("input", () => {
			this.find(this.input.value);
		});
		this.input.addEventListener("change", () => {
			this.save();
		});
		this.button.addEventListener("click", () => {
			this.zoom(0);
			this.save();
		});
		if (window.ResizeObserver)
			new ResizeObserver(() => {
				const width =
					this.svg.getBoundingClientRect().width;

				if (width !== this.pixels)
					requestAnimationFrame(() => {
						this.draw();
					});
			}).observe(this.svg);
	}

	isActive() {
		return this.isDocument || this.svg.matches(":hover") ||
			this.svg.contains(document.activeElement);
	}
}

/* --- all graphs ----------------------------------------------------------- */

function onKey(event) {
	const graph = graphs.find((one) =>
		one.svg.contains(document.activeElement)) ||
		graphs.find((one) => one.isActive());

	if (!graph)
		return;
	if (event.key === "Escape") {
		graph.escape();
	} else if ((event.ctrlKey || event.metaKey) && event.key === "f" &&
		document.activeElement !== graph.input) {
		/* A second Ctrl-F is the browser's own. */
		event.preventDefault();
		graph.input.focus();
		graph.input.select();
	}
}

function start() {
	for (const svg of document.querySelectorAll("svg.mp-flame"))
		if (svg.querySelector(".mp-frames") &&
			!svg.classList.contains("mp-live"))
			graphs.push(new Graph(svg));
	for (const graph of graphs)
		graph.load();
	if (!graphs.length)
		return;
	addEventListener("hashchange", () => {
		for (const graph of graphs)
			graph.load();
	});
	addEventListener("resize", () => {
		for (const graph of graphs)
			graph.draw();
	});
	addEventListener("scroll", () => {
		for (const graph of graphs)
			graph.followScroll();
	}, { passive: true });
	document.addEventListener("keydown", onKey);
}

if (document.readyState === "loading")
	document.addEventListener("DOMContentLoaded", start);
else
	start();
})();
