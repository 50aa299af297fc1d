// ---- transport plans -----------------------------------------------------------------------

const FLOWS = 40;

function moves(flat) {
  const list = [];
  for (let k = 0; k < flat.length; k += 4) {
    list.push({ from: flat[k], to: flat[k + 1], mass: flat[k + 2], ground: flat[k + 3] });
  }
  return list;
}

/** Path length between two leaves; the smaller number is never an ancestor, so it is the one to climb. */
function treeDistance(t, i, j) {
  let total = 0;
  while (i !== j) {
    if (i < j) { total += t.length[i]; i = t.parent[i]; } else { total += t.length[j]; j = t.parent[j]; }
  }
  return total;
}

/** Distance of two points by the model; null if the page has only some of its trees. */
function modelDistance(i, j) {
  if (!model().whole || tree().at) return null;
  return model().trees.reduce((sum, t) => sum + t.weight * treeDistance(t, i, j), 0);
}

/** Name of the model in a sentence. */
const what = () => (model().forest ? "the forest" : "the tree");

function drawPlan() {
  const pair = data.pairs[state.pair];
  const all = moves(state.exact ? pair.best : pair.plans[state.model]);
  const stays = all.filter((m) => m.from === m.to).reduce((sum, m) => sum + m.mass, 0);
  const moving = all.filter((m) => m.from !== m.to);
  const cost = (m) => m.mass * m.ground;
  const total = moving.reduce((sum, m) => sum + cost(m), 0);
  moving.sort((a, b) => cost(b) - cost(a) || b.mass - a.mass);
  const shown = moving.slice(0, FLOWS);
  const rest = moving.slice(FLOWS).reduce((sum, m) => sum + cost(m), 0);
  const said = pair.predicted[state.model];
  $("plan-note").textContent =
    `${pair.left} → ${pair.right}: exact ${length(pair.exact)}, ${what()} says ${length(said)} (${signed(said / pair.exact - 1)}). ` +
    (stays > 0.0005 ? `${percent(stays)} of the mass stays where it is. ` : "") +
    (rest > 0 ? `The ${FLOWS} most costly of ${count(moving.length)} moves, ${percent(1 - rest / total)} of the cost, are drawn.` : `${count(moving.length)} moves.`);
  paintPlan($("plan-view"), shown, total);
  drawMap(moving);
  for (const dot of document.querySelectorAll("[data-plan]")) {
    dot.classList.toggle("chosen", Number(dot.dataset.plan) === state.pair);
  }
}

/** Vertical order of the leaves: neighbors in the tree are neighbors in the plan. */
function rank(t, leaf) {
  if (!t.places) {
    t.places = new Int32Array(t.leaves);
    let next = 0;
    const stack = [t.root];
    while (stack.length) {
      const v = stack.pop();
      if (v < t.leaves) t.places[v] = next++;
      for (let k = t.children[v].length - 1; k >= 0; k--) stack.push(t.children[v][k]);
    }
  }
  return t.places[spot(t, leaf)];
}

/** Draws moves of mass as flows between two columns of points; `total` is the cost of all moves. */
function paintPlan(view, flows, total) {
  const t = tree();
  const ends = (side) => {
    const sums = new Map();
    for (const m of flows) sums.set(m[side], (sums.get(m[side]) || 0) + m.mass);
    return [...sums].map(([point, mass]) => ({ point, mass })).sort((a, b) => rank(t, a.point) - rank(t, b.point));
  };
  const [left, right] = [ends("from"), ends("to")];
  const width = Math.max(360, view.clientWidth);
  const side = Math.min(260, width * 0.3);
  const step = 21;
  const height = Math.max(left.length, right.length, 2) * step + 12;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Flows of mass");
  const heaviest = Math.max(...flows.map((m) => m.mass), 1e-12);
  const largest = Math.max(...left.concat(right).map((e) => e.mass), 1e-12);
  const y = (list) => new Map(list.map((e, k) => [e.point, 6 + (k + 0.5) * ((height - 12) / list.length)]));
  const [from, to] = [y(left), y(right)];
  const [x0, x1] = [side, width - side];
  for (const m of flows) {
    const [a, b, bend] = [from.get(m.from), to.get(m.to), (x1 - x0) * 0.4];
    const far = modelDistance(m.from, m.to);
    const text =
      `${name(m.from)} → ${name(m.to)}: ${percent(m.mass)} of the mass over ${length(m.ground)}` +
      `${far === null ? "" : ` (in ${what()} ${length(far)})`}; ${percent(total > 0 ? (m.mass * m.ground) / total : 0)} of the cost`;
    add(svg, "path", {
      class: "flow", d: `M${x0} ${a}C${x0 + bend} ${a} ${x1 - bend} ${b} ${x1} ${b}`, tabindex: 0, role: "img",
      "aria-label": text, "data-tip": text, "data-from": m.from, "data-to": m.to,
      "stroke-width": Math.max(1.2, 16 * m.mass / heaviest).toFixed(1),
    });
  }
  const most = Math.floor((side - 60) / 6.7);
  const drawEnd = (e, at, isLeft) => {
    const text = `${name(e.point)}: ${percent(e.mass)} of the mass ${isLeft ? "leaves" : "arrives"}`;
    const group = add(svg, "g", { class: "end", "data-tip": text, [isLeft ? "data-end-from" : "data-end-to"]: e.point });
    const bar = Math.max(1.5, 40 * e.mass / largest);
    const x = isLeft ? x0 - 4 - bar : x1 + 4;
    add(group, "rect", { x, y: at - 4, width: bar, height: 8, rx: 2, style: `fill:${color(groupOf(e.point))}` });
    const labelX = isLeft ? x - 6 : x + bar + 6;
    add(group, "text", { x: labelX, y: at + 4.2, "text-anchor": isLeft ? "end" : "start" }, shortened(name(e.point), most));
  };
  left.forEach((e) => drawEnd(e, from.get(e.point), true));
  right.forEach((e) => drawEnd(e, to.get(e.point), false));
  view.replaceChildren(svg);
}

/** Highlights the flows of the point under the pointer. */
function light(event) {
  const end = event.target.closest?.(".end");
  const svg = event.currentTarget.firstElementChild;
  if (!svg) return;
  svg.classList.toggle("dim", Boolean(end));
  for (const flow of svg.querySelectorAll(".flow")) {
    const from = end && end.dataset.endFrom === flow.dataset.from;
    const to = end && end.dataset.endTo === flow.dataset.to;
    flow.classList.toggle("lit", Boolean(from || to));
  }
}

function choosePair(k) {
  state.pair = (k + data.pairs.length) % data.pairs.length;
  $("pair").value = state.pair;
  drawPlan();
}

function choosePlan(exact) {
  state.exact = exact;
  $("by-tree").setAttribute("aria-pressed", String(!exact));
  $("by-exact").setAttribute("aria-pressed", String(exact));
  drawPlan();
}

function listPairs() {
  $("pair").replaceChildren(...data.pairs.map((pair, k) => {
    const option = document.createElement("option");
    option.value = k;
    const error = pair.predicted[state.model] / pair.exact - 1;
    option.textContent = `${signed(error)}  ${pair.left} → ${pair.right}`;
    return option;
  }));
  $("pair").value = state.pair;
}
