// The runs, and what happened in one of them.

async function loadRuns() {
  const { runs } = await askJson("/runs");
  if (!runs.length) { at("runs-list").replaceChildren(empty("No run yet", make("div", {}, "What is asked in the ", make("a", { href: "#/chat" }, "chat"), ", or by another program, is listed here."))); return; }
  const rows = runs.map((run) => [make("a", { href: `#/runs/${run.id}`, className: "mono" }, run.id.slice(0, 14)), run.target,
    make("div", { className: "note" }, pill(run.status), run.error ? ` ${run.error.message}` : ""), new Date(run.created * 1000).toLocaleTimeString(), seconds(run.seconds)]);
  at("runs-list").replaceChildren(make("div", { className: "card scroll", tabIndex: 0, role: "region", "aria-label": "List of the runs" }, table(["Run", "Of", "State", "Began", "#Time"], rows, "Runs, the newest first")));
}

let again = 0;

async function loadRun(id) {
  clearTimeout(again);
  const [run, line] = await Promise.all([askJson(`/runs/${id}`), askJson(`/runs/${id}/timeline`)]);
  const steps = (run.result && run.result.steps) || run.steps || [], body = at("run-body");
  at("run-title").textContent = `Run of ${run.target}`;
  const actions = [pill(run.status)];
  if (run.status === "running" || run.status === "queued") {
    const stop = make("button", { type: "button" }, "Stop");
    stop.addEventListener("click", () => ask(`/runs/${id}`, { method: "DELETE" }).catch(() => {}));
    actions.push(stop);
    const here = location.hash;
    again = setTimeout(() => { if (location.hash === here) loadRun(id).catch(() => {}); }, 1000);
  }
  at("run-actions").replaceChildren(...actions);
  const usage = run.result && run.result.usage, facts = [["Time", seconds(run.seconds)], ["Began", new Date(run.created * 1000).toLocaleTimeString()]];
  if (usage && usage.totalTokens) facts.push(["Tokens in", usage.promptTokens.toLocaleString("en")], ["Tokens out", usage.completionTokens.toLocaleString("en")]);
  if (usage && usage.cost !== undefined) facts.push(["Cost", String(usage.cost)]);
  facts.push(["Turns", String(line.spans.filter((span) => span.kind === "model").length)], ["Tool calls", String(line.spans.filter((span) => span.kind === "tool").length)]);
  const box = [make("div", { className: "facts" }, ...facts.map(([name, value]) => make("div", { className: "fact card" }, make("b", {}, value), make("span", {}, name))))];
  if (run.error) box.push(notice("failed", run.error.message, run.error.hint, make("code", {}, run.error.code)));
  if (line.spans.length) box.push(make("h2", {}, "Timeline"), drawTimeline(line));
  if (steps.length) box.push(make("h2", {}, "Turns"), ...steps.map(drawStep));
  else if (run.result !== undefined) box.push(make("h2", {}, "Result"), block(run.result));
  body.replaceChildren(...box);
}

function drawTimeline(line) {
  const whole = Math.max(line.seconds, 0.001), share = (value) => `${((100 * value) / whole).toFixed(3)}%`;
  const bar = (start, end, kind, title) => { const made = make("span", { className: `span ${kind}`, title }); made.style.left = share(start); made.style.width = share(Math.max(0, end - start)); return made; };
  const lanes = line.spans.map((span) => {
    const end = span.end === undefined ? line.seconds : span.end, track = make("div", { className: "track" });
    if (span.kind === "model") track.append(bar(span.start, span.first, "wait", "waits for the model"), bar(span.first, end, "", "the model answers"));
    else if (span.kind === "tool") track.append(bar(span.start, end, span.isError ? "failed" : "tool-span", span.name));
    else track.append(bar(span.start, end, "approval", "waits for approval"));
    const label = span.kind === "model" ? `Turn ${span.turn}` : span.kind === "tool" ? span.name : `approval of ${span.name}`;
    return make("div", { className: "lane", role: "listitem" }, make("span", { className: `label ${span.kind === "model" ? "" : "deep"}`, title: label }, label), track, make("span", { className: "took" }, span.end === undefined ? "runs" : seconds(end - span.start)));
  });
  const axis = make("div", { className: "lane", "aria-hidden": "true" }, make("span", {}), make("div", { className: "axis" }, make("span", {}, "0"), make("span", {}, seconds(whole / 2)), make("span", {}, seconds(whole))), make("span", {}));
  return make("div", { className: "timeline card" }, make("div", { role: "list", "aria-label": "What happened when" }, ...lanes), axis);
}

function drawStep(step, place) {
  const box = make("div", { className: "turn" }, make("h3", {}, `Turn ${place + 1}`));
  if (step.text) box.append(make("div", { className: "said" }, step.text));
  if (step.refused) box.append(notice("degraded", "The answer did not fit", step.refused));
  for (const call of step.toolCalls) {
    const card = makeCall(call), result = step.toolResults.find((each) => each.toolCallId === call.id);
    if (result) card.end(result); else card.lose();
    box.append(card);
  }
  return box;
}
