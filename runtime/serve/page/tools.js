// The tools of an agent, and what the format of a model provider makes of them.

const PROVIDERS = { "openai": "OpenAI, chat completions", "openai-responses": "OpenAI, responses", "anthropic": "Anthropic", "gemini": "Gemini", "gemini-parameters": "Gemini, parameters" };
let listed = [];

async function loadTools() {
  const agent = at("tools-agent").value;
  if (!agent) { at("tools-count").textContent = ""; at("tools-list").replaceChildren(empty("There is no agent", "Tools are offered to agents, and the set declares none.")); return; }
  try {
    const found = await askJson(`/agents/${encodeURIComponent(agent)}/tools?format=${at("format").value}`);
    if (agent === at("tools-agent").value && found.format === at("format").value) { listed = found.tools; drawTools(); }
  } catch (error) { at("tools-count").textContent = ""; at("tools-list").replaceChildren(notice("failed", "The tools cannot be listed", error.message, error.hint)); }
}

function drawTools() {
  const wanted = at("search").value.trim().toLowerCase(), opened = new Set([...at("tools-list").querySelectorAll("details.tool[open]")].map((each) => each.dataset.name));
  const found = listed.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(wanted));
  const changed = listed.filter((tool) => effects(tool).length).length, aside = listed.filter((tool) => tool.setAside).length;
  const parts = [wanted ? `${found.length} of ${counted(listed.length, "tool")}` : counted(listed.length, "tool"), `${changed} changed for this provider`, ...(aside ? [`${aside} set aside`] : [])];
  at("tools-count").textContent = parts.join(", ");
  at("tools-list").replaceChildren(...(found.length ? found.map((tool) => drawTool(tool, opened.has(tool.name))) : [wanted ? empty("Nothing fits", `No tool has “${wanted}” in its name or description.`) : empty("It has no tools", "The agent answers with its model alone.")]));
}

const effects = (tool) => [...(tool.entries || []), ...(tool.renames || []).map((one) => ({ effect: "renamed", pointer: one.path, message: `the key ${one.from} is offered as ${one.to}` }))];

function drawTool(tool, isOpen) {
  const found = effects(tool), lost = found.filter((each) => /weaken|drop|lost/.test(each.effect)).length;
  const state = tool.setAside ? pill("failed", "set aside") : found.length ? pill(lost ? "degraded" : "running", counted(found.length, "change")) : pill("ready", "unchanged");
  const summary = make("summary", {}, make("span", { className: "mono" }, tool.name), make("span", { className: "about" }, tool.description.split("\n")[0]), ...(tool.needsApproval ? [pill("degraded", "needs approval")] : []), state);
  const card = make("details", { className: "tool card", open: isOpen }, summary);
  card.dataset.name = tool.name;
  const fill = () => { if (card.open && card.children.length === 1) card.append(drawInside(tool, found)); };
  card.addEventListener("toggle", fill);
  fill();
  return card;
}

function drawInside(tool, found) {
  const inside = make("div", { className: "inside" }, make("div", { className: "said" }, tool.description || "It has no description."), make("p", { className: "faint" }, "From ", make("code", {}, tool.provider), ...(tool.tool === tool.name ? [] : [", where it is ", make("code", {}, tool.tool)])));
  const rows = Object.entries((tool.parameters && tool.parameters.properties) || {});
  if (rows.length) {
    const required = tool.parameters.required || [];
    inside.append(make("h3", {}, "Parameters"), make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `parameters of ${tool.name}` }, table(["Name", "Type", "Required", "Description"], rows.map(([name, schema]) => [make("code", {}, name), typeOf(schema), required.includes(name) ? "yes" : "", (schema && schema.description) || ""]), `Parameters of ${tool.name}`)));
  } else inside.append(make("p", { className: "faint" }, "It takes no parameters."));
  inside.append(make("h3", {}, "What the conversion did"));
  if (tool.setAside) inside.append(notice("failed", "It is not offered", tool.setAside));
  else if (!found.length) inside.append(make("p", {}, "Nothing: the schema is sent as the server gave it."));
  else inside.append(make("ul", { className: "effects" }, ...found.map((each) => make("li", {}, make("b", {}, each.effect), make("span", {}, make("code", {}, each.pointer || "/"), " ", each.message)))));
  const raw = (title, value) => make("details", {}, make("summary", { className: "faint" }, title), block(value));
  inside.append(raw("Schema as the server gave it", tool.parameters));
  if (tool.sent) inside.append(raw("As it is sent", tool.sent));
  return inside;
}

function typeOf(schema) {
  if (!schema || typeof schema !== "object") return "any";
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  if (Array.isArray(schema.type)) return schema.type.join(" | ");
  const either = schema.anyOf || schema.oneOf;
  return schema.type || (either ? either.map(typeOf).join(" | ") : schema.$ref ? schema.$ref.split("/").pop() : "any");
}

at("tools-agent").addEventListener("change", () => { location.hash = `#/tools/${at("tools-agent").value}`; });
at("format").addEventListener("change", loadTools);
at("search").addEventListener("input", drawTools);
