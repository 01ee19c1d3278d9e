// The manifests as they were last read, each finding under its line.

async function loadManifests(place) {
  const read = await askJson("/manifests"), findings = read.files.flatMap((file) => file.findings);
  const errors = findings.filter((each) => each.severity === "error").length, warnings = findings.length - errors;
  const told = findings.length ? [counted(errors, "error"), counted(warnings, "warning")].join(", ") : "nothing was found in it";
  at("reading").replaceChildren(read.problem
    ? notice("failed", "Not applied: what was up before is up still", read.problem.resource ? `${read.problem.resource}: ${read.problem.message}` : read.problem.message, read.problem.hint)
    : make("p", { className: "row" }, pill(warnings ? "degraded" : "ready", "applied"), make("span", { className: "faint" }, `This is what is up; ${told}.`)));
  const places = [...at("files").querySelectorAll(".code")].map((each) => each.scrollLeft);
  at("files").replaceChildren(...read.files.map(drawFile));
  at("files").querySelectorAll(".code").forEach((each, number) => { each.scrollLeft = places[number] || 0; });
  const line = place && [...at("files").querySelectorAll(".line")].find((each) => each.dataset.place === place);
  if (line) { line.classList.add("shown"); line.scrollIntoView({ block: "center" }); }
}

function drawFile(file) {
  const code = make("div", { className: "code", tabIndex: 0, role: "region", "aria-label": `text of ${file.name}` });
  file.lines.forEach((text, place) => {
    const found = file.findings.filter((each) => each.line === place + 1), worst = found.some((each) => each.severity === "error") ? "error" : found.length ? "warning" : "";
    const line = make("div", { className: `line ${worst}` }, make("span", { "aria-hidden": "true" }, String(place + 1)), make("span", {}, ...colour(text)));
    line.dataset.place = `${file.name}:${place + 1}`;
    code.append(line);
    code.append(...found.map((each) => make("div", { className: `finding ${each.severity}` }, make("b", {}, `${each.severity} ${each.code}`), ` ${each.message}`, each.hint ? make("span", {}, each.hint) : "")));
  });
  const errors = file.findings.filter((each) => each.severity === "error").length, warnings = file.findings.length - errors, state = [];
  if (errors) state.push(pill("failed", counted(errors, "error")));
  if (warnings) state.push(pill("degraded", counted(warnings, "warning")));
  return make("div", { className: "file card" }, make("h2", {}, make("span", { className: "mono" }, file.name), ...state), code);
}

function colour(text) {
  if (/^---/.test(text)) return [make("span", { className: "rule" }, text)];
  const [, indent, key, rest] = /^(\s*(?:- )*)([\w.$-]+(?=:(?:\s|$)))?(.*)$/s.exec(text);
  const pieces = (rest || "").split(/(\s#.*$|^#.*$|![a-z-]+|\$\{\{.*?\}\})/).filter((piece) => piece);
  return [indent, ...(key ? [make("span", { className: "key" }, key)] : []), ...pieces.map((piece) => (/^\s?#/.test(piece) ? make("span", { className: "comment" }, piece) : /^(!|\$\{\{)/.test(piece) ? make("span", { className: "tag" }, piece) : piece))];
}

at("apply").addEventListener("click", async () => {
  at("apply").disabled = true;
  await post("/apply", {}).catch(() => {}); // what was wrong stands in the reading
  at("apply").disabled = false;
  await loadManifests().catch((error) => at("reading").replaceChildren(notice("failed", error.message)));
});
