// ---- neighbors of a measure, each with the plan that explains its distance -------------------

const LISTED = 8;

const asked = () => data.neighbors.queries[state.asked];

/** Formats a bound with more digits than distances, so that it is not below them, and never rounded up. */
function below(x) {
  if (!(x > 0)) return length(0);
  const step = 10 ** (Math.floor(Math.log10(x)) - 4);
  const text = (Math.floor(x / step) * step).toLocaleString("en", { maximumSignificantDigits: 5 });
  return text + (data.unit ? " " + data.unit : "");
}

/** Describes how the neighbors of the selected measure were found. */
function nearNote() {
  const { by, measures } = data.neighbors;
  const { name, bound, found } = asked();
  const how = by === null
    ? "by exact transport distance"
    : `by the distances of ${by}, for the page was made without a ground metric`;
  const rest = measures - 1 - found.length;
  const proof = bound === null || rest === 0
    ? "All others are listed."
    : `${by === null ? "Proved: none" : "None"} of the other ${count(rest)} is nearer than ${below(bound)}.`;
  return `The measures nearest to ${name}, ${how}. ${proof}`;
}

function listNear() {
  const { found } = asked();
  $("near-note").textContent = nearNote();
  const farthest = Math.max(...found.map((f) => f.distance), 1e-300);
  $("near-list").replaceChildren(...found.map((f, k) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.near = k;
    const [title, far] = ["span", "span"].map((tag) => document.createElement(tag));
    title.textContent = f.name;
    far.textContent = length(f.distance);
    button.append(title, far);
    button.style.setProperty("--share", `${(100 * f.distance / farthest).toFixed(1)}%`);
    item.append(button);
    return item;
  }));
}

/** Draws the plan from the selected measure to the selected neighbor. */
function drawNear() {
  const found = asked().found[state.near];
  const shown = moves(found.plan);
  for (const button of document.querySelectorAll("[data-near]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.near) === state.near));
  }
  const part = shown.reduce((sum, m) => sum + m.mass * m.ground, 0);
  $("near-plan-note").textContent =
    `${asked().name} → ${found.name}: ${length(found.distance)}. ` +
    (found.stays > 0.0005 ? `${percent(found.stays)} of the mass stays where it is. ` : "") +
    (found.moves > shown.length
      ? `The ${shown.length} most costly of ${count(found.moves)} moves, ${percent(share(part, found))} of the cost, are drawn.`
      : found.moves === 0 ? "Nothing moves." : found.moves === 1 ? "One move." : `${count(found.moves)} moves.`) +
    (data.neighbors.by !== null && data.models[0].forest ? " A forest has no one best plan: this one may cost more than the distance." : "");
  paintPlan($("near-view"), shown, found.cost);
  listMoves(shown.slice(0, LISTED), found);
}

const share = (cost, found) => (found.cost > 0 ? cost / found.cost : 0);

/** Lists the largest moves as text, for screen readers and print. */
function listMoves(list, found) {
  const cell = (row, tag, text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    row.append(element);
    return element;
  };
  $("near-moves").hidden = list.length === 0;
  $("near-moves").tBodies[0].replaceChildren(...list.map((m) => {
    const row = document.createElement("tr");
    const part = share(m.mass * m.ground, found);
    cell(row, "th", `${name(m.from)} → ${name(m.to)}`).scope = "row";
    const bar = cell(row, "td", "");
    bar.className = "wide";
    bar.append(document.createElement("span"));
    bar.firstChild.style.width = `${(100 * part).toFixed(1)}%`;
    for (const text of [percent(part), percent(m.mass), length(m.ground)]) cell(row, "td", text);
    return row;
  }));
}

function chooseAsked(k) {
  const all = data.neighbors.queries.length;
  Object.assign(state, { asked: (k + all) % all, near: 0 });
  $("asked").value = state.asked;
  listNear();
  drawNear();
}

function beginNeighbors() {
  $("asked").replaceChildren(...data.neighbors.queries.map((query, k) => {
    const option = document.createElement("option");
    option.value = k;
    option.textContent = query.name;
    return option;
  }));
  $("asked").addEventListener("change", (event) => chooseAsked(Number(event.target.value)));
  $("asked-before").addEventListener("click", () => chooseAsked(state.asked - 1));
  $("asked-after").addEventListener("click", () => chooseAsked(state.asked + 1));
  $("near-list").addEventListener("click", (event) => {
    const button = event.target.closest("[data-near]");
    if (!button) return;
    state.near = Number(button.dataset.near);
    drawNear();
  });
  $("near-view").addEventListener("pointerover", light);
  listNear();
}
