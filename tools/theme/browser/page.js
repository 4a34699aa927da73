// The gates of the package, in the reader's own browser. Everything is loaded from this folder; nothing is sent.
import { loadPyodide } from "./pyodide.mjs";

const here = new URL(".", import.meta.url).href;
const examples = [
  ["Read a note", "what was decided about the roof?", "read-file", ':PATH "projects/roof.org"', "You asked for what was decided about the roof."],
  ["Leave the folder", "tidy up", "read-file", ':PATH "../../.ssh/id_ed25519"', "You asked me to look for old keys."],
  ["No reason", "tidy up", "org-archive", ':PATH "projects/roof.org" :HEADING "Get three offers" :ARCHIVE "projects/old.org"', "please"],
  ["An address from a note", "summarise my clippings", "web-fetch", ':URL "https://pixelwolke.example/agree?from=you"', "The note says that the terms must be confirmed."],
  ["Into this machine", "check the printer", "web-fetch", ':URL "http://2130706433/"', "The printer's status page says whether it has paper."],
  ["Evaluate", "add two and two", null, "(:TARGET :SYSTEM :PAYLOAD (:ACTION :EVAL :CODE \"(+ 2 2)\"))"],
  ["Do not close a list", "hello", null, "(:TARGET :TOOL :PAYLOAD (:ACTION"],
];
const proposal = ([, , tool, args, why]) => tool ? `(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "${tool}"\n  :ARGS (${args})\n  :EXPLANATION "${why}"))` : args;

const box = document.getElementById("gates");
const make = (tag, more = {}, ...inside) => { const e = Object.assign(document.createElement(tag), more); e.append(...inside); return e; };

const said = make("input", { id: "said", type: "text", spellcheck: false, value: examples[0][1] });
const text = make("textarea", { id: "proposal", rows: 6, spellcheck: false, value: proposal(examples[0]) });
const read = make("input", { id: "read", type: "checkbox" });
const state = make("p", { id: "state", textContent: "Starting Python …" });
state.setAttribute("role", "status");
const answer = make("ol", { id: "verdicts" });
const picks = make("p", { className: "picks" }, ...examples.map(e => make("button", { type: "button", textContent: e[0], onclick: () => { said.value = e[1]; text.value = proposal(e); ask(); } })));
box.replaceChildren(picks, make("label", {}, "The person says", said), make("label", {}, "The model proposes", text),
  make("label", { className: "check" }, read, " something from the network was read before"), state, answer);

let hear = null;
function ask() {
  if (!hear) return;
  let heard;
  try { heard = JSON.parse(hear(text.value, said.value, read.checked)); }
  catch (error) { state.textContent = String(error).trim().split("\n").pop(); return; }
  state.className = heard.verdict;
  state.textContent = { allowed: "Allowed. On your machine it would be done now.", asks: "Asks. On your machine you would be shown this and asked.", rejected: "Rejected. The model would be told why." }[heard.verdict];
  box.dataset.heard = JSON.stringify([text.value, said.value, read.checked]);
  answer.replaceChildren(...heard.gates.map(g => make("li", { className: g.verdict }, make("b", { textContent: g.gate }), make("span", { textContent: g.verdict }), make("p", { textContent: g.text }))));
}
let soon;
for (const e of [said, text, read]) e.addEventListener("input", () => { clearTimeout(soon); soon = setTimeout(ask, 150); });

async function start() {
  const bytes = async name => { const r = await fetch(here + name); if (!r.ok) throw new Error(`${name}: ${r.status}`); return r.arrayBuffer(); };
  const python = await loadPyodide({ indexURL: here });
  state.textContent = "Loading the gates …";
  for (const wheel of JSON.parse(new TextDecoder().decode(await bytes("wheels.json")))) python.unpackArchive(await bytes(wheel), "wheel");
  python.unpackArchive(await bytes("passepartout.zip"), "zip", { extractDir: "/home/pyodide" });
  hear = python.runPython(`
import json
from passepartout.browser import hear, stand_in
host = stand_in("/home/pyodide/memex", {"read-file": "allow", "org-find": "allow"})
lambda proposal, said, read: json.dumps(hear(host, proposal, said, read))`);
  ask();
  box.dataset.ready = "yes";
}
start().catch(error => { state.textContent = "Python did not start: " + String(error).trim().split("\n").pop(); box.dataset.ready = "no"; });
