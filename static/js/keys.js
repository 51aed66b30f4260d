// Single keys for whoever decides much: each presses the control that announces it with aria-keyshortcuts. None while
// somebody types or holds a modifier; a key that is held down counts once, so that it cannot run through the queue.

const WRITING = "input:not([type=checkbox]), textarea, select, [contenteditable]";

function isMeantForUs(event) {
  const modified = event.ctrlKey || event.altKey || event.metaKey || event.isComposing;
  const overlay = document.querySelector("dialog:popover-open");
  return !modified && !event.repeat && !event.target.closest(WRITING) && (!overlay || event.key === "?");
}

// Where a warning stands beside the button, its key only brings the focus there: Enter decides.
function press(control) {
  if ("armed" in control.dataset) control.focus();
  else control.click();
}

// Escape leaves a form: what was typed stays in it, and the keys are there again.
document.addEventListener("keydown", (event) => {
  const isInForm = event.target.closest(".opened :is(input, textarea, select)");
  if (event.key === "Escape" && isInForm) document.getElementById("entry").focus();
});

function controlOf(key) {
  return key && document.querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
}

let hasDecided = false;
let early = "";

document.addEventListener("keydown", (event) => {
  if (!isMeantForUs(event) || hasDecided) return;
  const control = controlOf(event.key);
  // The entry is there, and what comes with the answer, such as the way back, is not yet.
  if (!control && document.querySelector("main[data-arriving]")) early = event.key;
  if (!control) return;
  event.preventDefault();
  press(control);
});

document.addEventListener("settled", () => {
  const control = controlOf(early);
  if (control) press(control);
});

// Until the next page is there, a second key would decide about what the person has not seen.
// First of all that listen: whoever puts the next page there says so afterwards.
document.addEventListener("submit", () => (hasDecided = true), { capture: true });
addEventListener("pageshow", () => (hasDecided = false));
document.addEventListener("swapped", () => {
  hasDecided = false;
  early = "";
});
