// Logs in with the invitation in the address, once, and opens a workbench in the terminal of this page.
"use strict";

const KEY = "sam-tui-key";
const LEAST_COLUMNS = 40;

function say(words) {
  document.querySelector("#notice p").textContent = words;
  document.querySelector("#notice").hidden = false;
}

async function post(path, secret) {
  const answer = await fetch(path, { method: "POST", headers: { Authorization: "Bearer " + secret } });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

async function login() {
  const invitation = location.hash.slice(1);
  if (!invitation) return;
  // Out of the address and the history before anything else.
  history.replaceState(null, "", "/");
  localStorage.setItem(KEY, (await post("/login", invitation)).key);
}

function fontSize() {
  // A cell of the font is 0.6 of its size wide.
  const fits = Math.floor(window.innerWidth / LEAST_COLUMNS / 0.6);
  return Math.max(8, Math.min(16, fits));
}

function sendKeys() {
  for (const button of document.querySelectorAll("#keys button")) {
    // A button that takes the focus would close the keyboard.
    button.addEventListener("pointerdown", (event) => event.preventDefault());
    button.addEventListener("click", () => {
      const { key, code, shift, control } = button.dataset;
      const area = document.querySelector(".xterm-helper-textarea");
      const press = { key, keyCode: Number(code), shiftKey: Boolean(shift), ctrlKey: Boolean(control) };
      // Without its end the terminal takes what an input method writes next for a part of this key.
      for (const kind of ["keydown", "keyup"]) {
        area?.dispatchEvent(new KeyboardEvent(kind, { ...press, bubbles: true, cancelable: true }));
      }
    });
  }
}

async function open() {
  await login();
  const { path } = await post("/ticket", localStorage.getItem(KEY) ?? "");
  const terminal = document.querySelector("#terminal");
  terminal.dataset.sessionWebsocketUrl = location.origin.replace(/^http/, "ws") + path;
  terminal.dataset.fontSize = String(fontSize());
  await Promise.all(["", "bold ", "italic "].map((look) => document.fonts.load(look + "16px 'Roboto Mono'")));
  const script = document.createElement("script");
  script.src = "/client.js";
  script.addEventListener("load", () => {
    // It waits for the page, which is here already.
    window.onload(new Event("load"));
    window.onload = null;
    new ResizeObserver(() => window.onresize()).observe(terminal);
  });
  document.head.append(script);
}

new MutationObserver(() => {
  // It tells its server of the focus, which needs a connection.
  if (document.body.classList.contains("-loaded")) document.querySelector("#terminal textarea").focus();
  if (document.body.classList.contains("-closed")) say("This workbench has ended.");
}).observe(document.body, { attributeFilter: ["class"] });
document.querySelector("#again").addEventListener("click", () => location.reload());
sendKeys();
open().catch((error) => say(error.message));
