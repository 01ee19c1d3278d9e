// Tool calls, for the chat and for the trace of a run.

const IMAGES = /^image\/(png|jpeg|gif|webp)$/;
const pictures = (content) => (Array.isArray(content) ? content : []).filter((part) => part && part.type === "image" && IMAGES.test(part.mediaType));
const picture = (part, name) => make("img", { alt: `image from ${name}`, src: `data:${part.mediaType};base64,${part.data}` });

// A card that says how a call fares; `end` fills in what came of it.
function makeCall(call) {
  const state = pill("running"), inside = make("div", { className: "inside" }, make("h3", {}, "Arguments"), block(call.arguments));
  const summary = make("summary", {}, make("span", { className: "mono" }, call.name), make("span", { className: "preview" }, JSON.stringify(call.arguments)), state);
  const card = make("details", { className: "call card" }, summary, inside), box = make("div", { className: "turn" }, card);
  box.end = (result) => {
    const time = result.durationMs === undefined ? "" : ` in ${seconds(result.durationMs / 1000)}`;
    state.className = `pill ${result.isError ? "failed" : "finished"}`;
    state.textContent = `${result.isError ? "failed" : "done"}${time}`;
    inside.append(make("h3", {}, result.isError ? "Error" : "Result"));
    for (const part of Array.isArray(result.content) ? result.content : [result.content]) {
      if (!pictures([part]).length) inside.append(block(part && part.type === "text" ? part.text : part));
    }
    if (result.rest && result.rest.length) inside.append(make("h3", {}, "Not shown to the model"), block(result.rest));
    box.append(...pictures(result.content).map((part) => picture(part, call.name)));
    if (result.isError) card.open = true;
  };
  box.tell = (status, text) => { state.className = `pill ${status}`; state.textContent = text; };
  box.lose = () => { state.className = "pill"; state.textContent = "no result"; };
  return box;
}

// A call that waits for somebody; `decide` is asked with what was chosen.
function makeQuestion(asked, decide) {
  const reason = make("input", { type: "text", "aria-label": "Reason, which the model reads if you refuse", placeholder: "reason (if you refuse)" });
  const yes = make("button", { type: "button", className: "main" }, "Approve"), no = make("button", { type: "button", className: "refuse" }, "Refuse");
  const said = make("p", { className: "bad", role: "alert" }), actions = make("div", { className: "row" }, yes, no, reason);
  const title = make("h3", {}, `${asked.agent} wants to call ${asked.name}`), state = pill("approval", "waits for you");
  const card = make("div", { className: "asked card", role: "group", "aria-label": `approval of ${asked.name}` }, make("div", { className: "row" }, title, state), block(asked.arguments), actions, said);
  const choose = async (approved) => {
    yes.disabled = no.disabled = true;
    try { await decide(approved, reason.value); } catch (error) { said.textContent = error.message; yes.disabled = no.disabled = false; }
  };
  yes.addEventListener("click", () => choose(true));
  no.addEventListener("click", () => choose(false));
  card.decided = (decision) => {
    actions.remove();
    state.className = `pill ${decision.approved ? "finished" : "failed"}`;
    state.textContent = (decision.approved ? "approved" : "refused") + (decision.reason ? `: ${decision.reason}` : "");
  };
  return card;
}
