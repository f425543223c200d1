/* SPDX-License-Identifier: MIT */
/*
 * A readout under the pointer for timelines that are complete without.
 *
 * Curves are paths of H and V commands in a box of 1000 by 1000; data-top is
 * the value at the upper edge, data-end on the root the seconds at the right
 * (report/output/svg/timeline.c).
 */
(function () {
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const LINE = 16, PAD = 7;

/* The same rounding as report/core/units.c. */
function threeDigits(value) {
	if (value < 9.995)
		return value.toFixed(2);
	return value < 99.95 ? value.toFixed(1) : String(Math.round(value));
}

function formatCount(count) {
	return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function formatBytes(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let i = 0;

	for (; i < 6 && Math.round(bytes) >= 1024; i++)
		bytes /= 1024;
	return (i ? threeDigits(bytes) : Math.round(bytes)) + " " + units[i];
}

function formatSeconds(seconds) {
	if (seconds >= 60)
		return Math.floor(seconds / 60) + " min " +
			String(Math.floor(seconds % 60)).padStart(2, "0") + " s";
	if (seconds >= 1)
		return threeDigits(seconds) + " s";
	if (seconds >= 1e-3)
		return threeDigits(seconds * 1e3) + " ms";
	return threeDigits(seconds * 1e6) + " µs";
}

/* Steps of a path: right edges and heights. */
function readCurve(path) {
	const top = Number(path.dataset.top);
	const steps = [];
	let value = 0;

	for (const [, command, number] of path.getAttribute("d")
		.matchAll(/([MHV])(?:0 )?([\d.]+)/g))
		if (command === "H")
			steps.push({ right: number / 1000, value: value });
		else
			value = (1 - number / 1000) * top;
	return {
		label: path.dataset.label, steps: steps,
		format: path.dataset.kind === "bytes" ? formatBytes
			: formatCount,
	};
}

function valueAt(curve, ratio) {
	let low = 0, high = curve.steps.length - 1;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (curve.steps[middle].right < ratio)
			low = middle + 1;
		else
			high = middle;
	}
	return curve.steps.length ? curve.steps[low].value : 0;
}

function make(name, parent, attributes) {
	const element = document.createElementNS(SVG, name);

	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	parent.appendChild(element);
	return element;
}

class Timeline {
	constructor(svg) {
		const plots = svg.querySelectorAll(".mp-plot");
		const first = plots[0], last = plots[plots.length - 1];

		this.svg = svg;
		this.end = Number(svg.dataset.end);
		this.curves = Array.from(svg.querySelectorAll(".mp-curve"),
			readCurve);
		this.top = Number(first.getAttribute("y"));
		this.cursor = make("line", svg, {
			class: "mp-cursor", y1: this.top, stroke: "#57606a",
			y2: Number(last.getAttribute("y")) +
				Number(last.getAttribute("height")),
		});
		this.readout = make("g", svg, { class: "mp-readout" });
		this.panel = make("rect", this.readout, {
			rx: 4, fill: "#f6f8fa", stroke: "#57606a",
		});
		this.lines = [null].concat(this.curves).map((curve, i) =>
			make("text", this.readout,
				{ x: PAD, y: PAD + 9 + i * LINE }));
		this.ratio = 0;
		this.hide();
		svg.setAttribute("tabindex", "0");
		svg.classList.add("mp-live");
		this.addListeners();
	}

	hide() {
		this.cursor.style.display = "none";
		this.readout.style.display = "none";
	}

	show(ratio) {
		const pixels = this.svg.getBoundingClientRect().width;
		let width = 0;

		this.ratio = Math.min(Math.max(ratio, 0), 1);
		this.cursor.style.display = this.readout.style.display = "";
		this.lines[0].textContent = formatSeconds(this.ratio * this.end);
		this.curves.forEach((curve, i) => {
			this.lines[i + 1].textContent = curve.label + ": " +
				curve.format(valueAt(curve, this.ratio));
		});
		for (const line of this.lines)
			width = Math.max(width, line.getComputedTextLength());
		width += 2 * PAD;
		const x = this.ratio * pixels;
		const left = x + 10 + width < pixels ? x + 10
			: Math.max(x - 10 - width, 0);

		this.cursor.setAttribute("x1", this.ratio * 100 + "%");
		this.cursor.setAttribute("x2", this.ratio * 100 + "%");
		this.panel.setAttribute("width", width);
		this.panel.setAttribute("height",
			this.lines.length * LINE + 2 * PAD - 4);
		this.readout.setAttribute("transform",
			"translate(" + left + "," + (this.top + 6) + ")");
	}

	addListeners() {
		const svg = this.svg;
		const point = (event) => {
			const box = svg.getBoundingClientRect();

			this.show((event.clientX - box.left) / (box.width || 1));
		};

		svg.addEventListener("pointermove", point);
		svg.addEventListener("pointerdown", point);
		svg.addEventListener("pointerleave", () => {
			this.hide();
		});
		svg.addEventListener("blur", () => {
			this.hide();
		});
		svg.addEventListener("keydown", (event) => {
			const step = event.shiftKey ? 0.1 : 0.01;

			if (event.key === "ArrowRight")
				this.show(this.ratio + step);
			else if (event.key === "ArrowLeft")
				this.show(this.ratio - step);
			else if (event.key === "Home")
				this.show(0);
			else if (event.key === "End")
				this.show(1);
			else if (event.key === "Escape")
				this.hide();
			else
				return;
			event.preventDefault();
		});
	}
}

function start() {
	for (const svg of document.querySelectorAll("svg.mp-timeline"))
		if (svg.querySelector(".mp-curve") &&
			!svg.classList.contains("mp-live"))
			new Timeline(svg);
}

if (document.readyState === "loading")
	document.addEventListener("DOMContentLoaded", start);
else
	start();
})();
