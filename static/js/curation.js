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
  label.textContent = number ? `${number} selected` : "Selected";
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

const bulk = document.getElementById("bulk");
if (bulk) {
  for (const box of document.querySelectorAll("[form=bulk]")) {
    box.checked = ticked().has(box.value);
    box.addEventListener("change", () => keep(box.value, box.checked));
  }
  count(ticked().size);
  bulk.addEventListener("submit", addElsewhere);
  // What is decided alone is ticked no more.
  document.addEventListener("submit", (event) => {
    const decided = event.target.action.match(/\/curation\/(\d+)\/decide\//);
    if (decided) keep(decided[1], false);
  });
}
if (document.querySelector("[data-done]")) sessionStorage.removeItem(TICKED);

// A status that is there when the page opens is read by nobody: it is said once more, as a change.
const said = document.querySelector(".message[role=status]");
if (said) {
  const status = document.createElement("p");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  document.querySelector("main").append(status);
  setTimeout(() => (status.textContent = said.querySelector("p")?.textContent ?? said.textContent), 300);
}

// Whoever goes on in the queue releases what they leave anyway. Only the claim that this page was opened with is meant:
// a page opened since may have made a newer one.
const release = document.querySelector("form[data-release]");
if (release) {
  let isStaying = false;
  document.addEventListener("submit", () => (isStaying = true));
  document.addEventListener("click", (event) => (isStaying = Boolean(event.target.closest("a[href^='/curation/']"))));
  addEventListener("pagehide", () => {
    if (isStaying) return;
    const claim = new FormData(release);
    claim.set("until", release.dataset.release);
    navigator.sendBeacon(release.action, claim);
  });
}

// The exact count is the server's; here the text's length is measured against the one it knows.
for (const note of document.querySelectorAll("[data-tokens]")) {
  const text = document.getElementById(note.dataset.of);
  const each = Number(note.dataset.tokens) / Math.max(1, text.defaultValue.length);
  text.addEventListener("input", () => {
    const about = Math.ceil(text.value.length * (each || 0.3));
    note.textContent = `About ${about} of ${note.dataset.limit} tokens.`;
    note.toggleAttribute("data-over", about > Number(note.dataset.limit));
  });
}
