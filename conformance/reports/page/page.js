"use strict";
const all = (selector) => [...document.querySelectorAll(selector)];
const one = (id) => document.getElementById(id);

// The filter: text, suite and verdict, all at once. Without this script every clause is shown.
const rows = all("#clauses > tr").map((row) => ({
  row,
  text: row.textContent.toLowerCase(),
  suites: row.dataset.suites.split(" "),
  verdicts: row.dataset.verdicts.split(" "),
}));
const buttons = all("[data-verdict]");
let verdict = "";

const fits = (each, words, suite) =>
  words.every((word) => each.text.includes(word)) &&
  (!suite || each.suites.includes(suite)) &&
  (!verdict || (verdict === "passed" ? each.verdicts.join() === verdict : each.verdicts.includes(verdict)));

const filter = () => {
  const words = one("text").value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const each of rows) {
    const here = fits(each, words, one("suite").value);
    each.row.hidden = !here;
    shown += here;
  }
  one("count").textContent = `${shown} of ${rows.length} clauses`;
  one("none").hidden = shown > 0;
};

one("filters").hidden = rows.length === 0;
one("filters").addEventListener("submit", (event) => event.preventDefault());
one("text").addEventListener("input", filter);
one("suite").addEventListener("change", filter);
for (const button of buttons)
  button.addEventListener("click", () => {
    verdict = button.dataset.verdict;
    for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
    filter();
  });
filter();

// A link to a failure opens it.
const follow = () => {
  const target = one(decodeURIComponent(location.hash.slice(1)));
  if (!target || !target.matches("details.failure")) return;
  target.open = true;
  target.scrollIntoView();
  target.querySelector("summary").focus();
};
addEventListener("hashchange", follow);
follow();

for (const line of all(".all")) line.hidden = false;
for (const button of all("[data-open]"))
  button.addEventListener("click", () => {
    for (const each of all("details.failure")) each.open = Boolean(button.dataset.open);
  });

// Paper has nothing to open.
addEventListener("beforeprint", () => {
  for (const each of all("details")) each.open = true;
});
