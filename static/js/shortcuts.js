// On any page j and k move through the rows of its lists and “?” shows the shortcuts; Enter opens a link by itself. Digits
// press the button that announces them. A page that gives these keys a meaning of its own keeps it, and whoever turned
// the shortcuts off has none.

const WRITING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const TITLES = "main :is(.items > .item, .cards > li) > :is(h2, h3, p) > a:first-child, main tbody th[scope=row] > a";

const template = document.getElementById("shortcuts");

function move(by) {
  const links = [...document.querySelectorAll(TITLES)].filter((link) => link.checkVisibility());
  const row = document.activeElement.closest(".item, .cards > li, tr");
  const at = links.findIndex((link) => row?.contains(link));
  const next = links[at < 0 ? (by > 0 ? 0 : -1) : at + by] ?? links.at(at);
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function toggle() {
  const open = document.querySelector("dialog.shortcuts");
  if (open) return open.close();
  const dialog = template.content.querySelector("dialog").cloneNode(true);
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.showModal();
}

// Once for a page: a second press would decide about what the person has not seen.
let hasChosen = false;

function choose(event) {
  const button = /^[1-9]$/.test(event.key) && document.querySelector(`main [aria-keyshortcuts="${event.key}"]`);
  if (!button || hasChosen || event.repeat) return;
  event.preventDefault();
  hasChosen = true;
  button.click();
}

const ACTIONS = { j: () => move(1), k: () => move(-1), "?": toggle };

if (template) {
  document.addEventListener("keydown", (event) => {
    const modified = event.ctrlKey || event.altKey || event.metaKey || event.isComposing;
    const act = ACTIONS[event.key];
    if (modified || event.target.closest?.(WRITING)) return;
    if (!act) return choose(event);
    if (document.querySelector(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`)) return;
    if (document.querySelector("dialog:modal:not(.shortcuts)")) return;
    event.preventDefault();
    act();
  });
  addEventListener("pageshow", () => (hasChosen = false));
}
