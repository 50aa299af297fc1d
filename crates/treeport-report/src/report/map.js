// ---- the map -------------------------------------------------------------------------------

const LINES = 400;
const LABELS = 14;

/** Positions of the points in a picture of that width, and its height; one scale for both axes. */
function mapFrame(width) {
  const { x, y } = data.map;
  const [low, high] = [(list) => list.reduce((a, b) => Math.min(a, b), Infinity), (list) => list.reduce((a, b) => Math.max(a, b), -Infinity)];
  const [x0, x1, y0, y1] = [low(x), high(x), low(y), high(y)];
  const [wide, tall, edge] = [x1 - x0 || 1e-9, y1 - y0 || 1e-9, 26];
  const scale = Math.min((width - 2 * edge) / wide, (0.62 * width - 2 * edge) / tall);
  const height = Math.max(160, tall * scale + 2 * edge);
  const left = (width - wide * scale) / 2;
  const top = (height - tall * scale) / 2;
  return { height, place: (k) => [left + (x[k] - x0) * scale, top + (y1 - y[k]) * scale] };
}

/** Draws the moves of the shown plan as lines between dots; colors mark where mass leaves and arrives. */
function drawMap(moving) {
  if (!data.map) return;
  const view = $("map-view");
  const width = Math.max(360, view.clientWidth);
  const { height, place } = mapFrame(width);
  const at = new Map(data.map.points.map((point, k) => [point, place(k)]));
  const shown = [...moving].sort((a, b) => b.mass - a.mass).slice(0, LINES);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height.toFixed(1)}`);
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Map of the moves");
  const heaviest = data.map.weight.reduce((a, b) => Math.max(a, b), 1e-12);
  data.map.points.forEach((point, k) => {
    const [cx, cy] = at.get(point);
    const r = (1.1 + 2.6 * Math.sqrt(data.map.weight[k] / heaviest)).toFixed(2);
    add(svg, "circle", { class: "place", cx: cx.toFixed(1), cy: cy.toFixed(1), r, "data-tip": name(point) ?? `point ${point}` });
  });
  drawLines(svg, shown, at);
  drawEnds(svg, shown, at, width);
  view.replaceChildren(svg);
  const drawn = shown.length < moving.length ? `The ${LINES} heaviest of ${count(moving.length)} moves` : "All moves";
  const points = data.map.points.length < data.map.all ? `${count(data.map.points.length)} of ${count(data.map.all)} points are there. ` : "";
  $("map-note").textContent = `${drawn} of the plan above; a wider line carries more mass. ${points}`;
}

/** Draws a line per move, slightly bent to its left, so that opposite moves do not overlap. */
function drawLines(svg, shown, at) {
  const most = Math.max(...shown.map((m) => m.mass), 1e-12);
  for (const m of shown) {
    const [[x0, y0], [x1, y1]] = [at.get(m.from), at.get(m.to)];
    const [x, y] = [(x0 + x1) / 2 + 0.12 * (y1 - y0), (y0 + y1) / 2 - 0.12 * (x1 - x0)];
    const text = `${name(m.from)} → ${name(m.to)}: ${percent(m.mass)} of the mass over ${length(m.ground)}`;
    add(svg, "path", {
      class: "flow", d: `M${x0.toFixed(1)} ${y0.toFixed(1)}Q${x.toFixed(1)} ${y.toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`,
      tabindex: 0, role: "img", "aria-label": text, "data-tip": text, "data-from": m.from, "data-to": m.to,
      "stroke-width": Math.max(0.8, 7 * m.mass / most).toFixed(1),
    });
  }
}

/** Draws dots where mass leaves and arrives, with the names of the heaviest if there is space. */
function drawEnds(svg, shown, at, width) {
  const sums = new Map();
  for (const m of shown) {
    sums.set(m.from, (sums.get(m.from) || 0) - m.mass);
    sums.set(m.to, (sums.get(m.to) || 0) + m.mass);
  }
  const ends = [...sums].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const largest = Math.max(...ends.map((end) => Math.abs(end[1])), 1e-12);
  const [taken, labels] = [[], []];
  for (const [point, mass] of ends) {
    const [x, y] = at.get(point);
    const r = 2.5 + 5.5 * Math.sqrt(Math.abs(mass) / largest);
    const text = `${name(point)}: ${percent(Math.abs(mass))} of the mass ${mass < 0 ? "leaves" : "arrives"}`;
    add(svg, "circle", { class: mass < 0 ? "leaves" : "arrives", cx: x.toFixed(1), cy: y.toFixed(1), r: r.toFixed(1), "data-tip": text });
    const label = shortened(name(point), 24);
    const long = 6.6 * label.length;
    const left = x + r + 4 + long > width ? x - r - 4 - long : x + r + 4;
    const box = [left, y - 8, left + long, y + 8];
    const free = taken.every((b) => box[2] < b[0] || b[2] < box[0] || box[3] < b[1] || b[3] < box[1]);
    if (taken.length < LABELS && free) {
      taken.push(box);
      labels.push([label, left, y + 4]);
    }
  }
  // After the dots, which would cover them.
  for (const [label, x, y] of labels) add(svg, "text", { class: "halo", x: x.toFixed(1), y: y.toFixed(1) }, label);
}
