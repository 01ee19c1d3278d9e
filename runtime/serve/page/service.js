// Asking the service: with the token, as JSON, as events.

let token = sessionStorage.getItem("token") || "";

class Refused extends Error {}

async function ask(path, fields = {}) {
  const headers = { ...(fields.body ? { "content-type": "application/json" } : {}), ...(token ? { authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(path, { ...fields, headers });
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  const error = body.error || { message: `the service answers ${answer.status}` };
  if (answer.status === 401) throw new Refused(error.message);
  throw Object.assign(new Error(error.message), { hint: error.hint });
}

const askJson = async (path, fields) => (await ask(path, fields)).json();
const post = (path, value) => askJson(path, { method: "POST", body: JSON.stringify(value) });

// The events of a run, from after the number `last` on; taken up again where the connection was lost.
async function* events(id) {
  let last = 0, rest = "";
  for (let tries = 0; tries < 5; tries++) {
    const headers = { "last-event-id": String(last), ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const answer = await fetch(`/runs/${id}/events`, { headers });
    if (!answer.ok) throw new Error(`the run cannot be followed: the service answers ${answer.status}`);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const lines of blocks.map((each) => each.split("\n"))) {
          const field = (name) => (lines.find((line) => line.startsWith(`${name}: `)) || "").slice(name.length + 2);
          if (field("event") === "end") return;
          if (field("id")) last = Number(field("id"));
          if (field("data")) { tries = 0; yield JSON.parse(field("data")); }
        }
      }
    } catch (error) {
      if (tries === 4) throw error;
      await new Promise((done) => setTimeout(done, 500 * (tries + 1)));
    }
    rest = "";
  }
}
