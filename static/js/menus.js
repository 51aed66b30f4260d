// Closes an open row menu on Escape, and when the person turns to something else. Without it, its word closes it.

const OPEN = "details.actions[open]";

document.addEventListener("keydown", (event) => {
  const menu = document.querySelector(OPEN);
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

for (const turned of ["click", "focusin"]) {
  document.addEventListener(turned, (event) => {
    for (const menu of document.querySelectorAll(OPEN)) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
}
