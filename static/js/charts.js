// Reads a chart out step by step, as tooltips do for the pointer: for the arrow keys and a finger.

const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

for (const plot of document.querySelectorAll(".chart .plot")) {
  const steps = [...plot.querySelectorAll("g")];
  const told = plot.closest(".chart").querySelector(".readout");
  let at = -1;

  const tell = (step) => {
    steps[at]?.removeAttribute("data-current");
    at = Math.max(0, Math.min(steps.length - 1, step));
    steps[at].dataset.current = "";
    told.textContent = steps[at].querySelector("title").textContent;
  };

  plot.addEventListener("keydown", (event) => {
    if (!(event.key in MOVES) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    // The first arrow to the left begins with the newest step.
    tell(at < 0 && MOVES[event.key] < 0 ? steps.length - 1 : at + MOVES[event.key]);
  });
  plot.addEventListener("click", (event) => {
    const step = steps.indexOf(event.target.closest("g"));
    if (step >= 0) tell(step);
  });
}
