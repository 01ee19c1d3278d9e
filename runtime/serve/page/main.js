// Which view is shown, and following the live set.

const VIEWS = ["resources", "chat", "tools", "runs", "run", "manifest"];
let live = null, shown = "", drawn = "";

function route() {
  const [view, part] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const name = view === "runs" && part ? "run" : VIEWS.includes(view) ? view : "resources";
  return [name, part || ""];
}

async function render() {
  if (!live) return;
  const [view, part] = route();
  for (const name of VIEWS) at(name).hidden = name !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === (view === "run" ? "runs" : view)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${at(`${view}-title`).textContent} · ${live.title || "runtime"}`;
  try {
    if (view === "resources") drawResources(live, part);
    else if (view === "chat") { if (part && shown !== location.hash) at("agent").value = part; greet(live); if (!shown.startsWith("#/chat")) showLatest(); }
    else if (isDrawn(view)) return;
    else if (view === "tools") { if (part) at("tools-agent").value = part; await loadTools(); }
    else if (view === "runs") await loadRuns();
    else if (view === "run") await loadRun(part);
    else await loadManifests(part);
  } catch (error) {
    drawn = "";
    if (view === "run") at("run-body").replaceChildren(empty("This run cannot be shown", error.message));
    else tellLost(error.message);
  }
  shown = location.hash;
}

// Whether a view that people read at length is as it would be drawn again.
function isDrawn(view) {
  const last = drawn;
  drawn = JSON.stringify([location.hash, live.set, live.reading, live.agents]);
  return drawn === last && (view === "tools" || view === "manifest");
}

function tellState(graph) {
  const of = (status) => graph.nodes.filter((node) => node.status === status).length;
  const worst = ["failed", "starting", "degraded"].find((status) => of(status)) || "ready";
  at("state").className = `pill ${worst}`;
  at("state").textContent = worst === "ready" ? "all ready" : `${of(worst)} ${worst}`;
  at("set").textContent = graph.title;
  const { errors, warnings, isApplied } = graph.reading, count = errors || warnings || (isApplied ? 0 : 1);
  at("findings").hidden = !count;
  at("findings").textContent = count ? String(count) : "";
  at("findings").className = errors || !isApplied ? "count" : "count warning";
  at("findings").setAttribute("aria-label", errors ? counted(errors, "error") : counted(warnings, "warning"));
}

function tellLost(message) {
  at("lost").hidden = !message;
  at("lost").replaceChildren(...(message ? [make("strong", {}, "The service cannot be reached"), make("div", {}, `${message}. It is tried again.`)] : []));
  if (message) { at("state").className = "pill failed"; at("state").textContent = "not reached"; }
}

function wantToken(message) {
  for (const name of VIEWS) at(name).hidden = true;
  at("token-form").hidden = false;
  at("token-said").textContent = token ? message : "";
  at("state").className = "pill";
  at("state").textContent = "locked";
}

async function follow() {
  let version = "";
  for (;;) {
    try {
      const graph = await askJson(`/graph?after=${version}`);
      at("token-form").hidden = true;
      tellLost("");
      if (graph.version !== version) {
        const names = graph.agents.map((agent) => agent.name), before = live && at("agent").value;
        version = graph.version;
        live = graph;
        options(at("agent"), names);
        options(at("tools-agent"), names);
        options(at("format"), graph.formats, PROVIDERS);
        if (before && before !== at("agent").value && !answering) { messages = []; say(notice("degraded", `${before} is not in the set any more`, "A new conversation begins.")); }
        tellState(graph);
        await render();
      }
    } catch (error) {
      version = drawn = "";
      if (error instanceof Refused) { wantToken(error.message); await new Promise((done) => { unlock = done; }); }
      else { tellLost(error.message); await new Promise((done) => setTimeout(done, 1500)); }
    }
  }
}

let unlock = () => {};
at("token-form").addEventListener("submit", (submitted) => {
  submitted.preventDefault();
  token = at("token").value.trim();
  sessionStorage.setItem("token", token);
  unlock();
});
window.addEventListener("hashchange", async () => {
  const before = shown.split("/")[1], after = location.hash.split("/")[1];
  if (before !== after) window.scrollTo(0, 0);
  await render();
  if (before !== after) at("view").focus({ preventScroll: true });
});
// A click on a link of the skip kind must not become a view.
document.querySelector(".skip").addEventListener("click", (click) => { click.preventDefault(); at("view").focus(); });
follow();
