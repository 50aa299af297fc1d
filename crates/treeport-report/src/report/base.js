// Shared by tree.js, plan.js, map.js, neighbors.js and page.js. The six form one script, inside one function.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const state = { model: 0, tree: 0, focus: null, trail: [], rows: 40, found: -1, pair: 0, exact: false, asked: 0, near: 0 };

// ---- small helpers -------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

/** Appends a new SVG element to a parent; text is never parsed as markup. */
function add(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

const count = (n) => n.toLocaleString("en");

/** Formats a number with three digits. */
function figure(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-4 || size >= 1e7) return x.toExponential(2);
  return Number(x.toPrecision(size >= 1000 ? 4 : 3)).toLocaleString("en", { maximumSignificantDigits: 4 });
}

const length = (x) => figure(x) + (data.unit ? " " + data.unit : "");
const percent = (x) => (100 * x).toFixed(Math.abs(x) < 0.0995 ? 1 : 0) + " %";
const signed = (x) => (x < 0 ? "−" : "+") + percent(Math.abs(x));
const name = (leaf) => data.names[leaf];
const shortened = (text, most) => (text.length > most ? text.slice(0, Math.max(1, most - 1)) + "…" : text);

function ticks(high, most) {
  if (!(high > 0)) return [0];
  const decade = 10 ** Math.floor(Math.log10(high / most));
  const step = [1, 2, 5, 10].map((m) => m * decade).find((s) => s >= (high / most) * 0.999);
  return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, k) => k * step);
}

// ---- tooltips: elements with data-tip show it on hover and focus ----------------------------

const tip = $("tip");

function showTip(element, x, y) {
  tip.textContent = element.dataset.tip;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, innerWidth - box.width - 8);
  const top = y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18;
  tip.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
}

const tipped = (event) => (event.target instanceof Element ? event.target.closest("[data-tip]") : null);

document.addEventListener("pointermove", (event) => {
  const element = tipped(event);
  if (element) showTip(element, event.clientX, event.clientY);
  else tip.hidden = true;
});
document.addEventListener("focusin", (event) => {
  const element = tipped(event);
  if (!element || !element.matches(":focus-visible")) return;
  const box = element.getBoundingClientRect();
  showTip(element, box.left + Math.min(60, box.width / 2), box.bottom - 8);
});
document.addEventListener("focusout", () => (tip.hidden = true));
document.addEventListener("pointerleave", () => (tip.hidden = true));
addEventListener("scroll", () => (tip.hidden = true), { passive: true });
