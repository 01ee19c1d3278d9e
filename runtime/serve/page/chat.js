// A conversation with an agent: what it says while it says it, its tool calls, and what waits for an approval.

let messages = [], running = "", answering = false;

function greet(graph) {
  const agent = graph.agents.find((each) => each.name === at("agent").value);
  at("ask").disabled = !agent || answering;
  if (at("said").querySelector(".said")) return;
  at("said").replaceChildren(agent
    ? empty(`Ask ${agent.name}`, make("div", {}, agent.error || agent.description, " ", make("a", { href: `#/tools/${agent.name}` }, counted(agent.tools, "tool"))))
    : empty("There is no agent to talk to", "The set declares none."));
}

function say(element) {
  const first = at("said").querySelector(".empty");
  if (first) first.remove();
  const near = window.innerHeight + window.scrollY > document.body.scrollHeight - 220;
  at("said").append(element);
  if (near) showLatest();
  return element;
}

const showLatest = () => window.scrollTo({ top: at("said").querySelector(".said") ? document.body.scrollHeight : 0 });

const sayText = (text, kind) => say(make("div", { className: `said ${kind}` }, text));
const sayError = (error) => say(notice("failed", error.message, error.hint));

async function answer(prompt) {
  const agent = at("agent").value;
  sayText(prompt, "user");
  messages.push({ role: "user", content: prompt });
  const begun = await post("/runs", { target: agent, inputs: { messages } });
  running = begun.id;
  at("stop").hidden = false;
  const calls = {}, questions = {}, started = performance.now();
  let text = null, usage = null, failed = false;
  const endText = () => { if (text) text.classList.remove("live"); text = null; };
  for await (const event of events(begun.id)) {
    if (event.type === "text-delta") { text = text || sayText("", "agent live"); text.append(event.text); }
    else if (event.type === "tool-call") { endText(); calls[event.id] = say(makeCall(event)); }
    else if (event.type === "tool-result" && calls[event.toolCallId]) calls[event.toolCallId].end(event);
    else if (event.type === "approval") { if (calls[event.id]) calls[event.id].tell("approval", "waits"); questions[event.id] = say(makeQuestion(event, (approved, reason) => post(`/runs/${begun.id}/approvals/${encodeURIComponent(event.id)}`, { approved, reason }))); }
    else if (event.type === "approval-decided" && questions[event.id]) { questions[event.id].decided(event); if (calls[event.id]) calls[event.id].tell("running", "running"); }
    else if (event.type === "output-refused") { endText(); say(notice("degraded", "The answer did not fit, the model is asked once more", event.message)); }
    else if (event.type === "finish") { usage = event.usage; messages.push({ role: "assistant", content: event.text }); if (event.output !== undefined) say(block(event.output)); }
    else if (event.type === "error") { failed = true; sayError(event); }
  }
  endText();
  const run = await askJson(`/runs/${begun.id}`);
  if (run.status === "cancelled") { failed = true; say(notice("degraded", "Stopped")); }
  for (const call of Object.values(calls)) if (call.querySelector(".running")) call.lose();
  if (failed) messages.pop();
  const facts = [seconds((performance.now() - started) / 1000)];
  if (usage && usage.totalTokens) facts.push(counted(usage.totalTokens, "token"));
  if (usage && usage.cost !== undefined) facts.push(`cost ${usage.cost}`);
  say(make("div", { className: "ended" }, ...facts.map((fact) => make("span", {}, fact)), make("a", { href: `#/runs/${begun.id}` }, "Trace")));
}

at("chat-form").addEventListener("submit", async (submitted) => {
  submitted.preventDefault();
  const prompt = at("prompt").value.trim();
  if (!prompt || answering || !at("agent").value) return;
  at("prompt").value = "";
  answering = at("ask").disabled = true;
  try { await answer(prompt); } catch (error) { sayError(error); messages.pop(); }
  answering = at("ask").disabled = false;
  running = "";
  at("stop").hidden = true;
});
at("prompt").addEventListener("keydown", (key) => {
  if (key.key === "Escape" && running) at("stop").click();
  if (key.key === "Enter" && !key.shiftKey && !key.isComposing) { key.preventDefault(); at("chat-form").requestSubmit(); }
});
at("stop").addEventListener("click", () => ask(`/runs/${running}`, { method: "DELETE" }).catch(sayError));
function forget() { if (answering) return; messages = []; at("said").replaceChildren(); greet(live); at("prompt").focus(); }
at("forget").addEventListener("click", forget);
at("agent").addEventListener("change", forget);
