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

let hasDecided = false;

document.addEventListener("keydown", (event) => {
  if (!isMeantForUs(event) || hasDecided) return;
  const control = document.querySelector(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`);
  if (!control) return;
  event.preventDefault();
  press(control);
});

// Until the next page is there, a second key would decide about what the person has not seen.
document.addEventListener("submit", () => (hasDecided = true));
addEventListener("pageshow", () => (hasDecided = false));
