"use strict";
// Draws the charts of the page from its data, sorts its tables. Names from files become text
// nodes, never markup.

const NS = "http://www.w3.org/2000/svg";
const hidden = new Set(); // names of lines, in all charts at once
const drawn = [];

function add(parent, tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function shape(parent, tag, attributes, text) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function short(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  return String(+value.toPrecision(4));
}

function steps(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found;
}

function extent(values) {
  const known = values.filter((v) => v !== null && Number.isFinite(v));
  if (!known.length) return [0, 1];
  const low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
  const pad = 0.05 * (high - low) || 0.5 * Math.abs(high) || 0.5;
  return [low - pad, high + pad];
}

class Chart {
  constructor(figure, data) {
    this.figure = figure;
    this.data = data;
    this.box = add(figure, "div", "plot");
    this.tip = add(this.box, "div", "tip");
    this.tip.hidden = true;
    this.legend = add(figure, "div", "legend");
    figure.append(this.legend, figure.querySelector("figcaption"));
    for (const line of data.lines) this.addLegend(line);
    this.draw();
  }

  addLegend(line) {
    const button = add(this.legend, "button", `c${line.colour % 8}`);
    button.type = "button";
    button.dataset.name = line.name;
    add(button, "span", "swatch");
    add(button, "span", "", line.seeds > 0 ? `${line.name} (${line.seeds})` : line.name);
    button.title = "Hide or show this in all charts";
    button.addEventListener("click", () => toggle(line.name));
  }

  shown() {
    return this.data.lines.filter((line) => !hidden.has(line.name));
  }

  // The band of two seeds is many times wider than the curves: it is cut, not zoomed out to.
  domains() {
    const lines = this.shown();
    const flat = (pick) => lines.flatMap(pick);
    const inner = flat((l) => [...l.y, ...l.each.flat()]);
    const whole = this.data.dots || !flat((l) => l.each).length ? flat((l) => [...l.low, ...l.high]) : [];
    const n = this.data.ticks.length;
    const x = n ? [-0.5, n - 0.5] : extent(flat((l) => l.x));
    return [x, extent([...inner, ...whole])];
  }

  draw() {
    const width = Math.max(260, this.box.clientWidth || 480);
    const height = Math.round(Math.min(340, Math.max(210, 0.6 * width)));
    const [left, right, top] = [54, 12, 10];
    const tilted = this.data.ticks.some((name) => 7 * name.length > (width - 66) / this.data.ticks.length);
    const bottom = tilted ? 76 : 42;
    const [[x0, x1], [y0, y1]] = this.domains();
    const px = (v) => left + ((v - x0) / (x1 - x0)) * (width - left - right);
    const py = (v) => height - bottom - ((v - y0) / (y1 - y0)) * (height - top - bottom);
    Object.assign(this, { px, py, x0, x1, width, height, top, bottom });
    this.box.querySelector("svg")?.remove();
    const svg = shape(this.box, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    svg.setAttribute("aria-label", this.data.title);
    const clip = `clip-${this.data.index}`;
    const path = shape(shape(svg, "defs", {}), "clipPath", { id: clip });
    shape(path, "rect", { x: left, y: top, width: width - left - right, height: height - top - bottom });
    this.axes(svg, [y0, y1], left, right, tilted);
    const inside = shape(svg, "g", { "clip-path": `url(#${clip})` });
    for (const line of this.shown()) (this.data.dots ? this.dots : this.line).call(this, inside, line);
    this.guide = shape(svg, "line", { class: "guide", y1: top, y2: height - bottom, x1: -9, x2: -9 });
    svg.addEventListener("pointermove", (event) => this.hover(event, svg));
    svg.addEventListener("pointerleave", () => this.leave());
    this.svg = svg;
  }

  axes(svg, [y0, y1], left, right, tilted) {
    const { width, height, bottom, px, py, data } = this;
    for (const value of steps(y0, y1, 5)) {
      const y = py(value);
      shape(svg, "line", { class: "grid", x1: left, x2: width - right, y1: y, y2: y });
      shape(svg, "text", { class: "tick", x: left - 6, y: y + 4, "text-anchor": "end" }, short(value));
    }
    for (const [value, name] of this.marks()) {
      const at = { class: "tick", x: px(value), y: height - bottom + 16, "text-anchor": "middle" };
      if (tilted) Object.assign(at, { "text-anchor": "end", transform: `rotate(-30 ${at.x} ${at.y})` });
      shape(svg, "text", at, name);
    }
    shape(svg, "line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom });
    shape(svg, "text", { class: "label", x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, data.x_label);
    const turn = { class: "label", transform: `translate(13 ${(height - bottom) / 2}) rotate(-90)` };
    shape(svg, "text", { ...turn, "text-anchor": "middle" }, data.y_label);
  }

  // Where the x axis is marked, and with what.
  marks() {
    if (this.data.ticks.length) return this.data.ticks.map((name, i) => [i, name]);
    const found = steps(Math.max(this.x0, 0 > this.x0 && this.x1 > 0 ? 0 : this.x0), this.x1, this.width < 400 ? 4 : 6);
    if (!this.data.dates.length) return found.map((value) => [value, short(value)]);
    return found.filter((i) => this.data.dates[i]).map((i) => [i, this.data.dates[i].slice(0, 7)]);
  }

  points(line, values) {
    const pairs = line.x.map((x, i) => [x, values[i]]).filter(([, y]) => y !== null && y !== undefined);
    return pairs.map(([x, y]) => `${this.px(x).toFixed(1)},${this.py(y).toFixed(1)}`);
  }

  line(svg, line) {
    const group = shape(svg, "g", { class: `line c${line.colour % 8}` });
    group.dataset.name = line.name;
    if (line.low.length) {
      const around = [...this.points(line, line.high), ...this.points(line, line.low).reverse()];
      shape(group, "polygon", { class: "band", points: around.join(" ") });
    }
    for (const one of line.each) shape(group, "polyline", { class: "thin", points: this.points(line, one).join(" ") });
    shape(group, "polyline", { class: "mean", points: this.points(line, line.y).join(" ") });
    if (line.x.length === 1) this.dots(svg, line);
  }

  dots(svg, line) {
    const group = shape(svg, "g", { class: `line c${line.colour % 8}` });
    group.dataset.name = line.name;
    line.x.forEach((x, i) => {
      const at = { cx: this.px(x) };
      if (line.low.length) {
        const ends = { y1: this.py(line.low[i]), y2: this.py(line.high[i]) };
        shape(group, "line", { class: "mean", x1: at.cx, x2: at.cx, ...ends });
      }
      for (const one of line.each) {
        if (one[i] !== null) shape(group, "circle", { class: "one", ...at, cy: this.py(one[i]), r: 2.2 });
      }
      shape(group, "circle", { class: "dot", ...at, cy: this.py(line.y[i]), r: 4 });
    });
  }

  hover(event, svg) {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * this.width;
    const lines = this.shown();
    const places = lines.flatMap((line) => line.x);
    if (!places.length) return;
    const nearest = places.reduce((a, b) => (Math.abs(this.px(b) - at) < Math.abs(this.px(a) - at) ? b : a));
    const place = this.data.ticks.length ? Math.round(nearest) : nearest;
    const near = (x) => (this.data.ticks.length ? Math.round(x) === place : Math.abs(x - place) < 1e-9);
    this.guide.setAttribute("x1", this.px(place));
    this.guide.setAttribute("x2", this.px(place));
    this.tip.replaceChildren();
    const name = this.data.ticks[place] ?? this.data.dates[place] ?? `${this.data.x_label} ${short(place)}`;
    add(this.tip, "strong", "", name);
    for (const line of lines) {
      const i = line.x.findIndex(near);
      if (i >= 0) this.tell(line, i);
    }
    this.tip.hidden = false;
    const half = this.tip.offsetWidth / 2;
    const middle = Math.min(box.width - half, Math.max(half, (this.px(place) / this.width) * box.width));
    this.tip.style.left = `${middle}px`;
  }

  tell(line, i) {
    const row = add(this.tip, "div", `c${line.colour % 8}`);
    add(row, "span", "swatch");
    const interval = line.low.length ? ` [${short(line.low[i])}, ${short(line.high[i])}]` : "";
    add(row, "span", "", `${line.name}: ${short(line.y[i])}${interval}`);
  }

  leave() {
    this.tip.hidden = true;
    this.guide.setAttribute("x1", -9);
    this.guide.setAttribute("x2", -9);
  }
}

function toggle(name) {
  if (!hidden.delete(name)) hidden.add(name);
  for (const button of document.querySelectorAll(".legend button")) {
    button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.name)));
  }
  for (const chart of drawn) chart.draw();
}

// A number, if the cell says which, else its text; empty cells stay last.
function compare(a, b, down) {
  const [x, y] = [a, b].map((cell) => cell.dataset.value ?? cell.textContent.trim());
  if (x === "" || y === "") return (x === "") - (y === "");
  const gap = Number(x) - Number(y);
  const order = Number.isNaN(gap) ? x.localeCompare(y, "en", { numeric: true }) : gap;
  return down ? -order : order;
}

function sortBy(table, column, header) {
  const down = header.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(a.cells[column], b.cells[column], down));
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((header, i) => {
    header.querySelector("button").addEventListener("click", () => sortBy(table, i, header));
  });
}
JSON.parse(document.getElementById("charts").textContent).forEach((data, index) => {
  drawn.push(new Chart(document.getElementById(`chart-${index}`), { ...data, index }));
});
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return; // phones resize when their bars hide
  width = window.innerWidth;
  for (const chart of drawn) chart.draw();
});
