// ---- wiring --------------------------------------------------------------------------------

function chooseModel(k) {
  Object.assign(state, { model: k, tree: data.models[k].first, focus: null, trail: [], found: -1 });
  for (const part of document.querySelectorAll("[data-model]")) {
    part.hidden = Number(part.dataset.model) !== k;
  }
  for (const choice of document.querySelectorAll(`.trees[data-model="${k}"] select`)) choice.value = state.tree;
  $("by-tree").textContent = data.models[k].forest ? "Forest" : "Tree";
  drawTree();
  if (data.pairs.length) listPairs();
  drawPlans();
}

function drawPlans() {
  if (data.pairs.length) drawPlan();
  if (data.neighbors) drawNear();
}

function drawLegend() {
  const legend = $("legend");
  groups.forEach((group, k) => {
    const item = document.createElement("span");
    item.textContent = group;
    item.style.setProperty("--swatch", color(k));
    legend.append(item);
  });
  legend.hidden = groups.length === 0 || groups.length > 24;
}

async function copy(button) {
  const text = button.parentElement.querySelector("code").textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(button.parentElement.querySelector("code"));
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

$("tree-view").addEventListener("click", (event) => {
  const target = event.target.closest("[data-target]");
  if (target) zoomIn(targets[target.dataset.target]);
});
$("tree-view").addEventListener("keydown", treeKey);
$("tree").addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.tagName !== "INPUT") zoomOut();
});
$("rows").addEventListener("change", (event) => {
  state.rows = Number(event.target.value);
  drawTree();
});
$("find").addEventListener("keydown", (event) => {
  if (event.key === "Enter") find(event.target.value, true);
});
$("find").addEventListener("input", (event) => {
  if (event.target.value.length > 1) find(event.target.value, false);
});
$("model")?.addEventListener("change", (event) => chooseModel(Number(event.target.value)));
for (const choice of document.querySelectorAll(".tree-choice")) {
  choice.addEventListener("change", (event) => {
    chooseTree(Number(event.target.value));
    drawPlans();
  });
}
$("pair").addEventListener("change", (event) => choosePair(Number(event.target.value)));
$("previous").addEventListener("click", () => choosePair(state.pair - 1));
$("next").addEventListener("click", () => choosePair(state.pair + 1));
$("by-tree").addEventListener("click", () => choosePlan(false));
$("by-exact").addEventListener("click", () => choosePlan(true));
$("plan-view").addEventListener("pointerover", light);
document.addEventListener("click", (event) => {
  const dot = event.target.closest("[data-plan]");
  if (dot) {
    choosePair(Number(dot.dataset.plan));
    $("plan").scrollIntoView({ behavior: "smooth", block: "start" });
  }
  if (event.target.matches(".copy")) copy(event.target);
});
let width = 0;
new ResizeObserver(([entry]) => {
  if (Math.abs(entry.contentRect.width - width) < 2) return;
  width = entry.contentRect.width;
  drawTree();
  drawPlans();
}).observe($("tree-view"));

drawLegend();
if (data.neighbors) beginNeighbors();
state.pair = Math.floor(data.pairs.length / 2);
chooseModel(0);
