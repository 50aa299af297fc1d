// ---- the tree ------------------------------------------------------------------------------

// In a summary, tables of points are objects with only the named points.
const groups = data.groupNames ?? (data.groups ? [...new Set(data.groups)] : []);
const groupNumber = new Map(groups.map((g, k) => [g, k]));
const groupOf = (point) => (data.groups ? groupNumber.get(data.groups[point]) : -1);
const color = (group) => (group >= 0 ? `var(--g${group % 8})` : "var(--mixed)");

/** Computes the data of every node for the drawing; without recursion, because trees can be deep. */
function prepare(bare) {
  const { parent, length: edge, leaves } = bare;
  const nodes = parent.length;
  const root = nodes - 1;
  const size = new Int32Array(nodes).fill(1, 0, leaves);
  const deepest = new Float64Array(nodes); // farthest leaf below
  const group = new Int32Array(nodes).fill(-2); // -1: several
  const heavy = new Array(nodes); // up to four leaves that represent all
  const children = Array.from({ length: nodes }, () => []);
  const weight = data.weights || [];
  if (bare.at) {
    size.set(bare.size);
    deepest.set(bare.below);
  }
  for (let v = 0; v < nodes; v++) {
    if (v < leaves) {
      heavy[v] = bare.at ? bare.points[v] : [v];
      group[v] = bare.at ? bare.color[v] ?? -1 : groupOf(v);
    } else {
      // Small subtrees first, as in the static picture.
      children[v].sort((a, b) => size[a] - size[b] || a - b);
    }
    if (v === root) break;
    const p = parent[v];
    children[p].push(v);
    size[p] += size[v];
    deepest[p] = Math.max(deepest[p], deepest[v] + edge[v]);
    group[p] = group[p] === -2 || group[p] === group[v] ? group[v] : -1;
    heavy[p] = heavy[p] ? heavy[p].concat(heavy[v]) : heavy[v];
    if (heavy[p].length > 4) {
      heavy[p].sort((a, b) => (weight[b] || 0) - (weight[a] || 0) || a - b).length = 4;
    }
  }
  return { ...bare, root, size, deepest, group, heavy, children };
}

/** The selected model and tree; a tree is prepared when it is first drawn. */
const model = () => data.models[state.model];
const prepared = data.models.map(() => []);
const tree = () => (prepared[state.model][state.tree] ??= prepare(model().trees[state.tree]));

// A focus is a node, or a bundle: a list of subtrees along one path that are too small for separate rows.
// Items of a bundle have a node, its depth and that of its parent: { node, x, from }.

/** Number of rows for subtrees with at least `least` leaves; a path with one such subtree is a single line. */
function countRows(t, top, least, most) {
  const stack = [top];
  let rows = 0, bundles = 0, items = 0;
  while (stack.length && rows <= most) {
    let v = stack.pop(), small = 0;
    for (;;) {
      const big = t.children[v].filter((c) => t.size[c] >= least);
      if (!big.length) { rows += 1; break; }
      small += t.children[v].length - big.length;
      if (big.length > 1) { for (const c of big) stack.push(c); break; }
      v = big[0];
    }
    if (small) { rows += 1; bundles += 1; items += small; }
  }
  return { rows, bundles, items };
}

/** Layout below a node: a row, or a branch with kids. Bundles are split into lists of `each`. */
function build(t, top, x, least, each) {
  let v = top, at = x;
  const small = [];
  let big;
  for (;;) {
    big = t.children[v].filter((c) => t.size[c] >= least);
    if (!big.length) break;
    for (const c of t.children[v]) if (t.size[c] < least) small.push({ node: c, x: at + t.length[c], from: at });
    if (big.length > 1) break;
    v = big[0];
    at += t.length[v];
  }
  const inner = big.length
    ? { node: v, x: at, kids: big.map((c) => build(t, c, at + t.length[c], least, each)) }
    : { node: v, x: at };
  if (!small.length) return inner;
  return { node: top, x: small[0].from, kids: [...bundleRows(small, each), inner] };
}

/** Converts a list of small subtrees to rows; a list of one is that subtree. */
function bundleRows(items, each) {
  const rows = [];
  for (let k = 0; k < items.length; k += each) {
    const piece = items.slice(k, k + each);
    const [{ node, x, from }] = piece;
    rows.push(piece.length === 1 ? { node, x } : { items: piece, x: from });
  }
  return rows;
}

/** Total number of rows of several subtrees. */
function countAll(t, nodes, least, most) {
  let [rows, items] = [0, 0];
  for (const node of nodes) {
    const more = countRows(t, node, least, most - rows);
    rows += more.rows;
    items += more.items;
    if (rows > most) break;
  }
  return { rows, items };
}

/** Layout of a focus in at most that many rows, with the smallest subtrees that fit. */
function view(t, focus, most) {
  if (focus.items) return listView(t, focus.items, most);
  const [drawn] = fitted(t, [{ node: focus.node, x: 0 }], most);
  // A node with very many children has no larger parts: it becomes a list.
  if (drawn.kids || !t.children[focus.node].length) return drawn;
  return listView(t, t.children[focus.node].map((node) => ({ node, x: t.length[node], from: 0 })), most);
}

/** Opens the given subtrees as far as the number of rows allows. */
function fitted(t, places, most) {
  const nodes = places.map((p) => p.node);
  let [low, high] = [1, Math.max(...nodes.map((v) => t.size[v]))];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (countAll(t, nodes, middle, most).rows <= most) high = middle;
    else low = middle + 1;
  }
  const { rows, items } = countAll(t, nodes, low, most);
  const each = Math.max(1, Math.ceil(items / Math.max(1, most - rows)));
  return places.map((p) => build(t, p.node, p.x, low, each));
}

/** Layout of many sibling subtrees, as lists if there are more of them than rows. */
function listView(t, items, most) {
  const first = items.reduce((least, i) => Math.min(least, i.from), Infinity);
  const moved = items.map((i) => ({ node: i.node, x: i.x - first, from: i.from - first }));
  if (items.length > most) return { x: 0, kids: bundleRows(moved, Math.ceil(items.length / most)) };
  return { x: 0, kids: fitted(t, moved, most) };
}

/** Returns rows from top to bottom; every branch is centered between its first and last kid. */
function place(drawn, rows) {
  if (!drawn.kids) {
    drawn.y = rows.length;
    rows.push(drawn);
    return rows;
  }
  for (const kid of drawn.kids) place(kid, rows);
  drawn.y = (drawn.kids[0].y + drawn.kids[drawn.kids.length - 1].y) / 2;
  return rows;
}

// ---- labels of rows --------------------------------------------------------------------------

const points = (t, row) => (row.items ? row.items.reduce((sum, i) => sum + t.size[i.node], 0) : t.size[row.node]);
const isLeaf = (t, row) => !row.items && row.node < t.leaves;
// A leaf of a summary may represent many points; it cannot be opened.
const isPoint = (t, row) => isLeaf(t, row) && t.size[row.node] === 1;

/** The leaf of a point, in a summary that of its group; -1 if unknown. */
const spot = (t, point) => (t.at ? (t.at[point] ?? -1) : point);

/** Up to four of the heaviest points of a row. */
function heaviest(t, row) {
  if (!row.items) return t.heavy[row.node];
  const weight = data.weights || [];
  const all = row.items.flatMap((i) => t.heavy[i.node]);
  return all.sort((a, b) => (weight[b] || 0) - (weight[a] || 0) || a - b).slice(0, 4);
}

/** Depth of the lowest point of a row. */
function reach(t, row) {
  if (!row.items) return row.x + t.deepest[row.node];
  return row.items.reduce((far, i) => Math.max(far, i.x + t.deepest[i.node]), row.x);
}

function rowGroup(t, row) {
  if (!row.items) return t.group[row.node];
  const first = t.group[row.items[0].node];
  return row.items.every((i) => t.group[i.node] === first) ? first : -1;
}

/** Names of a row's heaviest points, as many as fit, and the number of its points. */
function caption(t, row, most) {
  if (isPoint(t, row)) return shortened(name(t.heavy[row.node][0]), most);
  const size = points(t, row);
  const heavy = heaviest(t, row);
  const tail = ` · ${count(size)}`;
  let text = "";
  let used = 0;
  for (const leaf of heavy) {
    const next = text ? `${text}, ${name(leaf)}` : name(leaf);
    if (text && next.length + tail.length + 2 > most) break;
    text = next;
    used += 1;
  }
  return shortened(text, most - tail.length - 2) + (size > used ? " …" : "") + tail;
}

function describe(t, row) {
  if (isPoint(t, row)) {
    const [point] = t.heavy[row.node];
    const group = data.groups ? `, ${data.groups[point]}` : "";
    return `${name(point)}${group}; ${length(t.length[row.node])} below its node`;
  }
  const size = points(t, row);
  const heavy = heaviest(t, row);
  const names = heavy.map(name).join(", ") + (size > heavy.length ? ", …" : "");
  const branches = row.items ? row.items.length : isLeaf(t, row) ? t.branches[row.node] : 1;
  if (branches > 1) return `${count(size)} points in ${count(branches)} small branches: ${names}`;
  const deepest = t.deepest[row.node];
  const spread = t.ultrametric ? `at most ${length(2 * deepest)} apart` : `at most ${length(deepest)} below this node`;
  return `${count(size)} points, ${spread}: ${names}`;
}

// ---- drawing ---------------------------------------------------------------------------------

const ROW = 19;
let targets = []; // what each row or node opens on click

function drawTree() {
  const t = tree();
  state.focus ??= { node: t.root };
  const box = $("tree-view");
  const width = Math.max(360, box.clientWidth);
  const drawn = view(t, state.focus, state.rows);
  const rows = place(drawn, []);
  const far = rows.reduce((most, row) => Math.max(most, reach(t, row)), 0);
  const scale = far > 0 ? (width - Math.min(340, width * 0.42) - 24) / far : 0;
  const px = (d) => 10 + d * scale;
  const py = (row) => 34 + (row + 0.5) * ROW;
  const height = 34 + rows.length * ROW + 8;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "tree");
  svg.setAttribute("aria-label", "The tree");
  targets = [];
  drawAxis(svg, t, far, px, height);
  const edges = add(svg, "g", {});
  const nodes = [];
  const stack = [drawn];
  while (stack.length) {
    const branch = stack.pop();
    if (!branch.kids) continue;
    if (branch !== drawn && branch.node !== undefined) nodes.push(branch);
    for (const kid of branch.kids) {
      const d = `M${px(branch.x)} ${py(branch.y)}V${py(kid.y)}H${px(kid.x)}`;
      const paint = kid.kids ? t.group[kid.node] : rowGroup(t, kid);
      add(edges, "path", { class: "edge", d, style: `stroke:${color(paint)}` });
      stack.push(kid);
    }
  }
  for (const row of rows) drawRow(svg, t, row, px, py(row.y), width);
  for (const node of nodes) drawNode(svg, t, node, px(node.x), py(node.y));
  box.replaceChildren(svg);
  drawPath(t);
  sayRows(t, rows);
}

function sayRows(t, rows) {
  const size = points(t, state.focus);
  const back = state.trail.length ? " Escape goes back." : "";
  const whole = t.at ? `A summary: ${count(t.size[t.root])} leaves, shown as ${count(t.leaves)} groups. ` : "";
  $("tree-note").textContent = whole + (rows.every((row) => isPoint(t, row))
    ? `${count(size)} points.${back}`
    : rows.every((row) => isLeaf(t, row))
    ? `${count(size)} points in ${rows.length} groups, which the summary does not open.${back}`
    : `${count(size)} points in ${rows.length} rows. A wedge is a closed subtree, a dashed one several small branches of the same path; both name their heaviest points. Click or press Enter to open one.${back}`);
}

function drawAxis(svg, t, far, px, height) {
  const factor = t.ultrametric ? 2 : 1;
  const unit = data.unit ? ` (${data.unit})` : "";
  const where = state.trail.length ? "this node" : "the root";
  const meaning = t.ultrametric ? "distance between points that meet here" : `distance from ${where}`;
  add(svg, "text", { class: "faint", x: 10, y: 11, "font-size": 11 }, meaning + unit);
  for (const tick of ticks(far * factor, 6)) {
    const at = px(t.ultrametric ? far - tick / factor : tick);
    add(svg, "path", { class: "rule", d: `M${at} 32V${height - 4}` });
    const anchor = at < 24 ? "start" : "middle";
    add(svg, "text", { class: "faint", x: at, y: 26, "font-size": 11, "text-anchor": anchor }, figure(tick));
  }
}

function drawRow(svg, t, row, px, y, width) {
  const [leaf, point] = [isLeaf(t, row), isPoint(t, row)];
  const text = describe(t, row);
  const found = leaf && row.node === spot(t, state.found);
  const group = add(svg, "g", {
    class: `row${leaf ? "" : " more"}${found ? " found" : ""}`,
    tabindex: 0, role: "treeitem", "aria-label": text, "data-tip": text, "data-target": targets.length,
  });
  targets.push(row);
  const [start, end] = [px(row.x), px(reach(t, row))];
  add(group, "rect", { class: "hit", x: start, y: y - ROW / 2, width: width - start - 1, height: ROW, rx: 4 });
  const paint = color(rowGroup(t, row));
  if (!leaf) group.setAttribute("aria-expanded", "false");
  if (!point) {
    const several = row.items || leaf && t.branches[row.node] > 1;
    const tall = 3 + Math.min(5.5, Math.log2(points(t, row)) / 2);
    add(group, "path", {
      class: `wedge${several ? " bundle" : ""}`,
      d: `M${start} ${y}L${Math.max(end, start + 4)} ${y - tall}V${y + tall}Z`,
      style: `fill:${paint};stroke:${paint}`,
    });
  }
  const left = Math.max(end, start + (point ? 0 : 4)) + 7;
  const room = Math.max(12, Math.floor((width - left) / 6.7));
  const style = point && t.group[row.node] >= 0 && !found ? `fill:${paint}` : "";
  add(group, "text", { x: left, y: y + 4.2, style }, caption(t, row, room));
}

function drawNode(svg, t, node, x, y) {
  const text = describe(t, { node: node.node });
  add(svg, "circle", { class: "node", cx: x, cy: y, r: 3.2, "data-tip": text, "data-target": targets.length });
  targets.push({ node: node.node });
}

function drawPath(t) {
  const path = $("path");
  path.replaceChildren();
  const steps = [...state.trail, state.focus];
  steps.forEach((focus, k) => {
    const last = k === steps.length - 1;
    if (steps.length > 5 && k > 0 && k < steps.length - 4) {
      if (k === 1) path.append("… ›");
      return;
    }
    const piece = document.createElement(last ? "span" : "button");
    piece.textContent = focus.node === t.root ? `all ${count(t.size[t.root])}` : caption(t, focus, 26);
    path.append(piece);
    if (last) return;
    piece.type = "button";
    piece.addEventListener("click", () => goTo(focus, state.trail.slice(0, k)));
    path.append("›");
  });
}

// ---- navigation ------------------------------------------------------------------------------

function goTo(focus, trail) {
  const hadFocus = $("tree-view").contains(document.activeElement);
  Object.assign(state, { focus, trail });
  tip.hidden = true;
  drawTree();
  if (hadFocus) $("tree-view").querySelector(".row").focus({ preventScroll: true });
}

function zoomIn(row) {
  const t = tree();
  if (isLeaf(t, row) || row.node === state.focus.node && row.items === state.focus.items) return;
  goTo(row.items ? { items: row.items } : { node: row.node }, [...state.trail, state.focus]);
}

function zoomOut() {
  if (state.trail.length) goTo(state.trail[state.trail.length - 1], state.trail.slice(0, -1));
}

function treeKey(event) {
  const row = event.target.closest(".row");
  if (!row) return;
  const rows = [...$("tree-view").querySelectorAll(".row")];
  const at = rows.indexOf(row);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (to !== undefined) rows[Math.max(0, Math.min(rows.length - 1, to))].focus();
  else if (["Enter", " ", "ArrowRight"].includes(event.key)) zoomIn(targets[row.dataset.target]);
  else if (["ArrowLeft", "Backspace"].includes(event.key)) zoomOut();
  else return;
  event.preventDefault();
}

function under(t, leaf, node) {
  let v = leaf;
  while (v < node) v = t.parent[v];
  return v === node;
}

/** Draws another tree of the forest, and finds the searched point in it. */
function chooseTree(k) {
  Object.assign(state, { tree: k, focus: null, trail: [] });
  if (state.found >= 0) showPoint(state.found);
  else drawTree();
}

/** Opens rows from the root until the point has its own row. */
function showPoint(point) {
  const t = tree();
  const leaf = spot(t, point);
  const trail = [];
  let focus = { node: t.root };
  for (;;) {
    const rows = place(view(t, focus, state.rows), []);
    const next = rows.find((r) => (r.items || [r]).some((i) => under(t, leaf, i.node)));
    if (!next || isLeaf(t, next)) break;
    trail.push(focus);
    focus = next.items ? { items: next.items } : { node: next.node };
  }
  // Show the point with its neighbors: move up as long as all of them have rows.
  while (focus.node < t.root && t.size[t.parent[focus.node]] <= state.rows) focus = { node: t.parent[focus.node] };
  state.found = point;
  goTo(focus, trail);
}

/** Finds the first matching point, or the one after the last found; exact names and prefixes first. */
function find(text, next) {
  const wanted = text.trim().toLowerCase();
  if (!next) state.found = -1;
  if (!wanted) return;
  const rank = (n) => (n === wanted ? 0 : n.startsWith(wanted) ? 1 : n.includes(wanted) ? 2 : 3);
  const t = tree();
  const ranked = Object.entries(data.names).map(([k, n]) => [rank(n.toLowerCase()), Number(k)]);
  const matches = ranked.filter((m) => m[0] < 3 && spot(t, m[1]) >= 0);
  matches.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (!matches.length) {
    const which = t.at ? " that is named in this summary" : "";
    $("tree-note").textContent = `No point${which} has “${text.trim()}” in its name.`;
    return;
  }
  const at = matches.findIndex((m) => m[1] === state.found);
  showPoint(matches[(at + 1) % matches.length][1]);
  if (matches.length > 1) $("tree-note").textContent = `${count(matches.length)} points match; Enter shows the next.`;
}
