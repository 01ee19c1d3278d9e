// The picture of the live set, what is wrong with it, and one resource at a time.

const WORDS = { ready: "ready", degraded: "degraded", failed: "failed", starting: "starting" };

function drawResources(graph, chosen) {
  const by = (status) => graph.nodes.filter((node) => node.status === status);
  at("counts").replaceChildren(...Object.keys(WORDS).filter((status) => by(status).length).map((status) => pill(status, `${by(status).length} ${WORDS[status]}`)));
  at("troubles").replaceChildren(...[...by("failed"), ...by("starting")].map((node) => notice(node.status, `${node.name} ${node.status === "failed" ? "has failed" : "is starting"}`, node.note)));
  if (!graph.nodes.length) { at("graph").replaceChildren(empty("Nothing is up", "The set has no resources that are used.")); return; }
  drawPicture(graph, chosen);
  at("list").replaceChildren(table(["Resource", "Kind", "State", "Says"], graph.nodes.map((node) => [
    make("a", { href: `#/resources/${node.id}` }, node.name), node.kind, pill(node.status), make("span", { className: "note" }, node.status === "ready" && !node.note ? node.summary : node.note)]), "Resources and their states"));
  drawResource(graph, graph.nodes.find((node) => String(node.id) === chosen));
}

function drawPicture(graph, chosen) {
  const held = document.activeElement && at("graph").contains(document.activeElement) ? document.activeElement.getAttribute("href") : "";
  if (at("graph").dataset.drawn !== graph.picture) {
    const read = new DOMParser().parseFromString(graph.picture, "image/svg+xml").documentElement;
    at("graph").replaceChildren(document.importNode(read, true));
    at("graph").dataset.drawn = graph.picture;
    at("legend").textContent = "An arrow leads from a resource to what it needs. Choose one to see more.";
  }
  for (const link of at("graph").querySelectorAll("a")) {
    if (link.getAttribute("href") === `#/resources/${chosen}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    if (held && link.getAttribute("href") === held) link.focus();
  }
}

function drawResource(graph, node) {
  if (!node) { at("resource").replaceChildren(); return; }
  const links = (nodes) => nodes.flatMap((each, place) => [...(place ? [", "] : []), make("a", { href: `#/resources/${each.id}` }, each.name)]);
  const users = graph.nodes.filter((each) => each.needs.includes(node.id)), facts = make("dl", {});
  const fact = (name, ...value) => { if (value.length && value[0] !== "") facts.append(make("dt", {}, name), make("dd", {}, ...value)); };
  fact("Kind", make("code", {}, node.kind));
  fact("Says", node.summary);
  fact(node.status === "ready" ? "Note" : "Reason", node.note);
  fact("Needs", ...links(node.needs.map((id) => graph.nodes[id])));
  fact("Used by", ...links(users));
  fact("Declared in", make("a", { href: `#/manifest/${encodeURIComponent(`${node.file}:${node.line}`)}` }, `${node.file}:${node.line}`));
  const agent = graph.agents.find((each) => each.name === node.name), more = make("div", { className: "row" });
  if (agent) more.append(make("a", { href: `#/chat/${agent.name}` }, "Chat with it"), make("a", { href: `#/tools/${agent.name}` }, `See its ${counted(agent.tools, "tool")}`));
  at("resource").replaceChildren(make("div", { className: "card" }, make("div", { className: "row" }, make("h2", { className: "flat" }, node.name), pill(node.status)), facts, more));
}
