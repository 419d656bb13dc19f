"use strict";
const cases = [...document.querySelectorAll("article")], filters = [...document.querySelectorAll("select")];
const id = name => document.getElementById(name);
let found = cases, place = 0, round = 0;

const told = (one, name) => name === "story" ? one.dataset.story.split("; ") : [one.dataset[name]];
const has = (one, filter) => !filter.value || told(one, filter.name).includes(filter.value);
const rounds = () => [...found[place].querySelectorAll("section")];

function show() {
  for (const one of cases) one.hidden = one !== found[place];
  id("none").hidden = found.length > 0;
  id("which").textContent = found.length ? `case ${place + 1} of ${found.length}` : "";
  const steps = found.length ? rounds() : [];
  steps.forEach((step, i) => { step.hidden = i > round; });
  id("round").textContent = steps.length ? `${Math.min(round + 1, steps.length)} of ${steps.length} rounds` : "";
  const ending = found.length && found[place].querySelector("footer");
  if (ending) ending.hidden = round < steps.length - 1;
}
const go = to => { place = Math.max(0, Math.min(found.length - 1, to)); round = 0; show(); };
const step = to => { round = Math.max(0, Math.min(rounds().length - 1, to)); show(); };

for (const filter of filters) filter.addEventListener("change", () => {
  found = cases.filter(one => filters.every(each => has(one, each)));
  go(0);
});
const does = {before: () => go(place - 1), after: () => go(place + 1), earlier: () => step(round - 1),
              later: () => step(round + 1), all: () => step(Infinity)};
for (const name of Object.keys(does)) id(name).addEventListener("click", () => found.length && does[name]());
id("controls").hidden = false;
go(0);
