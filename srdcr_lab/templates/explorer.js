"use strict";
const cases = [...document.querySelectorAll("article")], filters = [...document.querySelectorAll("select")];
const id = name => document.getElementById(name);
let matching = cases, place = 0, round = 0;

const values = (article, name) => name === "story" ? article.dataset.story.split("; ") : [article.dataset[name]];
const passes = (article, filter) => !filter.value || values(article, filter.name).includes(filter.value);
const rounds = () => [...matching[place].querySelectorAll("section")];

function show() {
  for (const article of cases) article.hidden = article !== matching[place];
  id("none").hidden = matching.length > 0;
  id("which").textContent = matching.length ? `case ${place + 1} of ${matching.length}` : "";
  const steps = matching.length ? rounds() : [];
  steps.forEach((step, i) => { step.hidden = i > round; });
  id("round").textContent = steps.length ? `${Math.min(round + 1, steps.length)} of ${steps.length} rounds` : "";
  const ending = matching.length && matching[place].querySelector("footer");
  if (ending) ending.hidden = round < steps.length - 1;
}
const goTo = to => { place = Math.max(0, Math.min(matching.length - 1, to)); round = 0; show(); };
const stepTo = to => { round = Math.max(0, Math.min(rounds().length - 1, to)); show(); };

for (const filter of filters) filter.addEventListener("change", () => {
  matching = cases.filter(article => filters.every(other => passes(article, other)));
  goTo(0);
});
const actions = {before: () => goTo(place - 1), after: () => goTo(place + 1), earlier: () => stepTo(round - 1),
                 later: () => stepTo(round + 1), all: () => stepTo(Infinity)};
for (const [name, act] of Object.entries(actions)) id(name).addEventListener("click", () => matching.length && act());
id("controls").hidden = false;
goTo(0);
