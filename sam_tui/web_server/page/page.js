// Logs in with the invitation in the address, once, and opens a workbench in the terminal of this page.
"use strict";

const KEY = "sam-tui-key";
const LEAST_COLUMNS = 40;
// Twenty million UTF-16 units are at most 120 MB as JSON, which the server takes as one message.
const MOST_PASTED = 20e6;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

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

function paste(target, text) {
  const data = new DataTransfer();
  // The terminal passes an escape in a paste on, and one with "[201~" would end the paste: the rest would be keys.
  const visible = (c) => (c < " " ? String.fromCodePoint(0x2400 + c.codePointAt(0)) : "\ufffd");
  data.setData("text/plain", text.replace(CONTROLS, visible));
  target.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}

function takePastes() {
  const take = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length > MOST_PASTED) {
      take(event);
      alert("This paste is longer than 20 million characters. Save it as a file and attach that with @.");
    } else if (text.search(CONTROLS) >= 0) {
      take(event);
      paste(event.target, text);
    }
  }, true);
  // Keyboards of telephones insert what was copied as typed text, and a line end in it would be Enter.
  document.addEventListener("beforeinput", (event) => {
    if (!/[\x00-\x1f\x7f-\x9f]/.test(event.data ?? "")) return;
    take(event);
    paste(event.target, event.data);
  }, true);
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
// Its end would end the workbench. A browser asks only where something was typed or clicked, in its own words.
window.addEventListener("beforeunload", (event) => {
  const { classList } = document.body;
  if (classList.contains("-loaded") && !classList.contains("-closed")) event.preventDefault();
});
document.querySelector("#again").addEventListener("click", () => location.reload());
sendKeys();
takePastes();
open().catch((error) => say(error.message));
