// SPDX-License-Identifier: MIT
// index.html works without this: it only adds sorting, tabs, whole names on a
// click and the choice of a theme.
"use strict";
(() => {
	const make = (name, attributes, text) => {
		const element = document.createElement(name);
		for (const key in attributes)
			element.setAttribute(key, attributes[key]);
		if (text !== undefined)
			element.textContent = text;
		return element;
	};

	// --- tables ---------------------------------------------------------
	const key = (row, column) => {
		const cell = row.cells[column];
		const data = cell.querySelector("data");
		if (data)
			return Number(data.value);
		return cell.textContent.trim().toLowerCase();
	};
	// Empty cells go last in either order.
	const compare = (a, b, sign) => {
		const a_empty = a === "" || a === "\u2013";
		const b_empty = b === "" || b === "\u2013";
		if (a_empty || b_empty)
			return a_empty - b_empty;
		if (typeof a === "number" && typeof b === "number")
			return sign * (a - b);
		return sign * (a < b ? -1 : a > b ? 1 : 0);
	};
	// What a row says at full width stays below it.
	const is_more = row => row.classList.contains("more");
	const with_more = row => {
		const next = row.nextElementSibling;
		return next && is_more(next) ? [row, next] : [row];
	};
	const sort = (table, column) => {
		const heads = [...table.tHead.rows[0].cells];
		const head = heads[column];
		const was = head.getAttribute("aria-sort");
		const numeric = head.classList.contains("num");
		const order = was === "descending" ? "ascending"
			: was === "ascending" ? "descending"
			: numeric ? "descending" : "ascending";
		const sign = order === "ascending" ? 1 : -1;
		const body = table.tBodies[0];
		const rows = [...body.rows].filter(row => !is_more(row))
			.map((row, i) => ({ all: with_more(row), i,
				key: key(row, column) }));
		rows.sort((a, b) => compare(a.key, b.key, sign) || a.i - b.i);
		body.append(...rows.flatMap(entry => entry.all));
		for (const other of heads)
			other.setAttribute("aria-sort",
				other === head ? order : "none");
	};
	for (const table of document.querySelectorAll(".scroll > table")) {
		const heads = [...table.tHead.rows[0].cells];
		heads.forEach((head, column) => {
			const button = make("button", { type: "button" });
			button.append(...head.childNodes);
			head.append(button);
			if (!head.hasAttribute("aria-sort"))
				head.setAttribute("aria-sort", "none");
			button.addEventListener("click",
				() => sort(table, column));
		});
		// A click, not a selection, shows a row's names in full.
		table.tBodies[0].addEventListener("click", event => {
			const row = event.target.closest("tr");
			if (event.target.closest("summary, a") || !row)
				return;
			if (String(getSelection()) === "")
				row.classList.toggle("open");
		});
	}

	// --- tabs -----------------------------------------------------------
	// Each h3 and what follows it becomes a panel.
	const panels_of = box => {
		const panels = [];
		for (const node of [...box.childNodes]) {
			if (node.nodeName === "H3")
				panels.push(make("div", { role: "tabpanel",
					tabindex: "-1" }));
			if (panels.length)
				panels[panels.length - 1].append(node);
		}
		return panels;
	};
	for (const box of document.querySelectorAll(".tabs")) {
		const panels = panels_of(box);
		const list = make("div", { role: "tablist" });
		list.className = "tablist";
		if (panels.length < 2) {
			box.append(...panels);
			continue;
		}
		const show = (chosen, focus) => {
			panels.forEach((panel, i) => {
				const tab = list.children[i];
				const on = i === chosen;
				tab.setAttribute("aria-selected", on);
				tab.tabIndex = on ? 0 : -1;
				if (on)
					panel.removeAttribute("hidden");
				else
					panel.setAttribute("hidden",
						"until-found");
				if (on && focus)
					tab.focus();
			});
		};
		panels.forEach((panel, i) => {
			const heading = panel.querySelector("h3");
			const tab = make("button", { type: "button",
				role: "tab", id: "tab-" + heading.id },
				heading.textContent.trim());
			panel.setAttribute("aria-labelledby", tab.id);
			panel.addEventListener("beforematch", () => show(i));
			tab.addEventListener("click", () => show(i));
			list.append(tab);
		});
		list.addEventListener("keydown", event => {
			const at = [...list.children]
				.indexOf(document.activeElement);
			const to = { ArrowRight: at + 1, ArrowLeft: at - 1,
				Home: 0, End: panels.length - 1 }[event.key];
			if (to === undefined)
				return;
			event.preventDefault();
			show((to + panels.length) % panels.length, true);
		});
		box.classList.add("live");
		box.prepend(list);
		box.append(...panels);
		const follow = () => {
			const id = decodeURIComponent(location.hash.slice(1));
			const i = panels.findIndex(panel =>
				panel.querySelector("h3").id === id);
			show(i < 0 ? 0 : i);
			if (i >= 0)
				list.scrollIntoView();
		};
		addEventListener("hashchange", () => {
			if (panels.some(panel => "#" +
			    panel.querySelector("h3").id === location.hash))
				follow();
		});
		follow();
	}

	// --- definitions: only one open, Escape closes -----------------------
	const popups = [...document.querySelectorAll("details.what")];
	const close_others = kept => popups.forEach(popup => {
		if (popup !== kept)
			popup.open = false;
	});
	popups.forEach(popup => popup.addEventListener("toggle", () => {
		if (popup.open)
			close_others(popup);
	}));
	addEventListener("click", event =>
		close_others(event.target.closest("details.what")));
	addEventListener("keydown", event => {
		if (event.key === "Escape")
			close_others(null);
	});

	// --- theme ----------------------------------------------------------
	const root = document.documentElement;
	const themes = ["auto", "light", "dark"];
	const button = make("button", { type: "button" });
	const set_theme = theme => {
		root.setAttribute("data-theme", theme);
		button.textContent = "Theme: " + theme;
	};
	button.addEventListener("click", () => {
		const at = themes.indexOf(root.getAttribute("data-theme"));
		const theme = themes[(at + 1) % themes.length];
		set_theme(theme);
		try {
			localStorage.setItem("memprof-theme", theme);
		} catch (error) {
			// Storage is off: the choice lasts as long as the page.
		}
	});
	let chosen = null;
	try {
		chosen = localStorage.getItem("memprof-theme");
	} catch (error) {
		chosen = null;
	}
	set_theme(themes.includes(chosen) ? chosen
		: root.getAttribute("data-theme") || "auto");
	document.querySelector("header.bar").append(button);
})();
