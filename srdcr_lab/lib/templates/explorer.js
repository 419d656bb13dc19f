"use strict";
const id = name => document.getElementById(name);
const cases = [...document.querySelectorAll("article")], lines = [...id("list").options];
const filters = [...document.querySelectorAll("nav select[name]")], search = id("search");
const sent = JSON.parse(id("sent").textContent);
const rulings = new Map();  // the reader's verdicts by place, each with whether judge and truth were hidden
let order = cases.map((_, place) => place), matching = order, at = 0, round = 0, shown = null;

const values = (article, name) => name === "story" ? article.dataset.story.split("; ") : [article.dataset[name]];
const passes = (article, filter) => !filter.value || values(article, filter.name).includes(filter.value);
const words = cases.map(article =>  // what was asked, shown and said
  [...article.querySelectorAll("p:first-child, blockquote, ol, ul, .srdcr-said")].map(one => one.textContent)
    .join("\n").toLowerCase());
const rounds = () => [...shown.querySelectorAll("section")];

function show() {
  if (shown) shown.hidden = true;
  shown = matching.length ? cases[matching[at]] : null;
  id("none").hidden = shown !== null;
  id("list").selectedIndex = shown ? at : -1;
  id("which").textContent = shown ? `case ${at + 1} of ${matching.length}` : "no case";
  id("round").textContent = "";
  id("ruling").disabled = !shown;
  if (!shown) return;
  shown.hidden = false;
  id("ruling").value = rulings.get(matching[at])?.[0] ?? "";
  const steps = rounds(), ending = shown.querySelector("footer");
  steps.forEach((step, i) => { step.hidden = i > round; });
  if (steps.length) id("round").textContent = `${round ? "rounds 0 to" : "round"} ${round} of ${steps.length - 1}`;
  if (ending) ending.hidden = round < steps.length - 1;
}
const goTo = to => { at = Math.max(0, Math.min(matching.length - 1, to)); round = 0; show(); };
const stepTo = to => {
  round = Math.max(0, Math.min(rounds().length - 1, to));
  show();
  rounds()[round]?.scrollIntoView({block: "nearest"});
};

function filter() {
  const wanted = search.value.trim().toLowerCase();
  matching = order.filter(place =>
    filters.every(one => passes(cases[place], one)) && (!wanted || words[place].includes(wanted)));
  id("list").replaceChildren(...matching.map(place => lines[place]));
  goTo(0);
}
for (const one of filters) one.addEventListener("change", filter);
search.addEventListener("input", filter);
id("list").addEventListener("change", () => goTo(id("list").selectedIndex));

function rule() {
  if (!shown) return;
  const verdict = id("ruling").value;
  if (verdict) rulings.set(matching[at], [verdict, id("blind").checked ? "True" : "False"]);
  else rulings.delete(matching[at]);
  const quoted = text => `"${text.replaceAll('"', '""')}"`;
  const rows = [...rulings].map(([place, ruling]) => [...JSON.parse(cases[place].dataset.key), ...ruling].map(quoted));
  const table = [["item_id", "method", "design", "verdict", "blind"], ...rows].map(row => row.join(",") + "\n").join("");
  id("verdicts").href = "data:text/csv;charset=utf-8," + encodeURIComponent(table);
  id("verdicts").hidden = rulings.size === 0;
  id("verdicts").textContent = `save my ${rulings.size} verdict${rulings.size === 1 ? "" : "s"}`;
}
function blind() {  // the list too would tell, and its order, in which true passages come first
  const hide = id("blind").checked, key = place => [...cases[place].dataset.key].reduce((sum, one) =>
    Math.imul(sum ^ one.codePointAt(0), 16777619), 7);
  document.body.classList.toggle("blind", hide);
  for (const line of lines) [line.textContent, line.dataset.blind] = [line.dataset.blind, line.textContent];
  order = cases.map((_, place) => place).sort((a, b) => hide ? key(a) - key(b) || a - b : a - b);
  filter();
}
id("ruling").addEventListener("change", rule);
id("blind").addEventListener("change", blind);

function fold() {  // open what each speaker of this case was sent, or close it
  const folded = [...shown.querySelectorAll("details.srdcr-sent")], open = folded.some(one => !one.open);
  for (const one of folded) one.open = open;
}
document.addEventListener("toggle", ({target}) => {  // filled in when it is first opened, as text
  if (!target.dataset.sent) return;
  for (const [heading, numbers] of sent.turns[target.dataset.sent]) {
    const head = document.createElement("b"), text = document.createElement("div");
    head.textContent = heading;
    text.textContent = numbers.map(number => sent.lines[number]).join("\n");
    text.style.whiteSpace = "pre-wrap";
    target.append(head, text);
  }
  delete target.dataset.sent;
}, true);

const actions = {before: () => goTo(at - 1), after: () => goTo(at + 1), earlier: () => stepTo(round - 1),
                 later: () => stepTo(round + 1), all: () => stepTo(Infinity)};
for (const [name, act] of Object.entries(actions)) id(name).addEventListener("click", () => shown && act());
const keys = {j: actions.after, k: actions.before, ArrowLeft: actions.earlier, ArrowRight: actions.later,
              a: actions.all, m: fold};
document.addEventListener("keydown", event => {
  const {target, key} = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Escape") target.blur();
  if (!id("keys").checked || target.matches("#search, select[name]")) return;
  if (target.matches("#ruling") && key.startsWith("Arrow")) return;
  if (key === "/") { event.preventDefault(); search.focus(); }
  else if (shown && Object.hasOwn(keys, key)) { event.preventDefault(); keys[key](); }
});
id("controls").hidden = id("steps").hidden = false;
for (const article of cases) article.hidden = true;
goTo(Number(id("controls").dataset.start));
