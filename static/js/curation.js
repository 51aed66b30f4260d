// Courtesies of the queue: forms open where a button leads to them, ticks are kept from page to page, what was done is
// read out, a page that closes leaves its entry to others, and an edited text says about how many tokens it has.

const TICKED = "bigmind-ticked";

// A link to a form opens it and goes to its first field.
document.addEventListener("click", (event) => {
  const link = event.target.closest(".deciding a[href^='#']");
  const form = link && document.getElementById(link.hash.slice(1));
  if (!form) return;
  event.preventDefault();
  const fold = form.closest("details");
  fold.open = true;
  form.querySelector("input:not([type=hidden]), textarea, select, button").focus({ preventScroll: true });
  fold.scrollIntoView({ block: "nearest" });
});

function ticked() {
  return new Set(JSON.parse(sessionStorage.getItem(TICKED) ?? "[]"));
}

function keep(value, isTicked) {
  const all = ticked();
  all[isTicked ? "add" : "delete"](value);
  sessionStorage.setItem(TICKED, JSON.stringify([...all]));
  count(all.size);
}

function count(number) {
  const label = document.querySelector("#bulk label");
  label.textContent = number ? label.dataset.some.replace("{}", number) : label.dataset.none;
}

// What is ticked on other pages of the list goes along.
function addElsewhere(event) {
  const shown = new Set([...document.querySelectorAll("[form=bulk]")].map((box) => box.value));
  for (const value of ticked()) {
    if (shown.has(value)) continue;
    const input = Object.assign(document.createElement("input"), { type: "hidden", name: "entry", value });
    event.target.append(input);
  }
}

function arm() {
  const bulk = document.getElementById("bulk");
  if (!bulk) return;
  for (const box of document.querySelectorAll("[form=bulk]")) {
    box.checked = ticked().has(box.value);
    box.addEventListener("change", () => keep(box.value, box.checked));
  }
  count(ticked().size);
  bulk.addEventListener("submit", addElsewhere);
}

// What is decided alone is ticked no more.
document.addEventListener("submit", (event) => {
  const decided = event.target.action.match(/\/curation\/(\d+)\/decide\//);
  if (!decided || !document.getElementById("bulk")) return;
  // A tick is of an entry at the revision that was read.
  for (const value of ticked()) if (value.startsWith(`${decided[1]}:`)) keep(value, false);
});
if (document.querySelector("[data-done]")) sessionStorage.removeItem(TICKED);

// A status that is there when the page opens is read by nobody: it is said once more, as a change.
function sayAgain() {
  const said = document.querySelector(".message[role=status]");
  if (!said) return;
  const status = document.createElement("p");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  document.querySelector("main").append(status);
  setTimeout(() => (status.textContent = said.querySelector("p")?.textContent ?? said.textContent), 300);
}

// Whoever goes on in the queue releases what they leave anyway. Only the claim that this page was opened with is meant:
// a page opened since may have made a newer one.
let isStaying = false;
document.addEventListener("submit", () => (isStaying = true));
document.addEventListener("click", (event) => (isStaying = Boolean(event.target.closest("a[href^='/curation/']"))));
addEventListener("pagehide", () => {
  const release = document.querySelector("form[data-release]");
  if (isStaying || !release) return;
  const claim = new FormData(release);
  claim.set("until", release.dataset.release);
  navigator.sendBeacon(release.action, claim);
});

// The exact count is the server's; here the text's length is measured against the one it knows.
function countTokens() {
  for (const note of document.querySelectorAll("[data-tokens]")) {
    const text = document.getElementById(note.dataset.of);
    const each = Number(note.dataset.tokens) / Math.max(1, text.defaultValue.length);
    text.addEventListener("input", () => {
      const about = Math.ceil(text.value.length * (each || 0.3));
      note.textContent = note.dataset.about.replace("{}", about);
      note.toggleAttribute("data-over", about > Number(note.dataset.limit));
    });
  }
}

// Anew for each entry that was put in the place of another one.
function start() {
  isStaying = false;
  arm();
  sayAgain();
  countTokens();
}

document.addEventListener("swapped", start);
start();

// What a decision changes takes a second to replay, so the page does not wait for it. Without this it is a link.
function replayQuestions() {
  const place = document.querySelector("[data-radius] [data-place]");
  setTimeout(async () => {
    if (!place?.isConnected) return;
    const answer = await fetch(place.parentElement.dataset.radius).catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const report = page.querySelector("[data-report]");
    if (report) place.replaceWith(report);
  }, 400);
}

document.addEventListener("swapped", replayQuestions);
replayQuestions();
