"use strict";
// Making elements: text is always text, and never markup.

const at = (id) => document.getElementById(id);

function make(name, fields, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(fields || {})) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const show = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
const pill = (status, text) => make("span", { className: `pill ${status}` }, text || status);
const empty = (title, text) => make("div", { className: "empty" }, make("strong", {}, title), text);
const block = (value) => make("pre", { tabIndex: 0 }, show(value));
const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function seconds(value) {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(1)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

function notice(status, title, ...text) {
  return make("div", { className: `notice ${status}` }, make("strong", {}, title), ...text.filter(Boolean).map((each) => (typeof each === "string" ? make("div", {}, each) : each)));
}

// Rows of cells; a cell is text or an element, and a name of a column that starts with "#" is one of numbers.
function table(columns, rows, caption) {
  const head = make("tr", {}, ...columns.map((name) => make("th", { scope: "col", className: name[0] === "#" ? "number" : "" }, name.replace("#", ""))));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell, place) => make("td", { className: columns[place][0] === "#" ? "number" : "" }, cell))));
  return make("table", { className: "stack" }, make("caption", { className: "hidden" }, caption), make("thead", {}, head), make("tbody", {}, ...body));
}

function options(select, names, labels) {
  const chosen = select.value;
  select.replaceChildren(...names.map((name) => make("option", { value: name }, (labels && labels[name]) || name)));
  if (names.includes(chosen)) select.value = chosen;
}
