// Keeps what the navigation counts up to date while somebody looks at the page. It asks, because a connection that stays
// open for each page would take a place of the server from somebody who waits.

const EVERY_MS = 20_000;
let due;

async function look() {
  clearTimeout(due);
  if (document.hidden) return;
  const answer = await fetch("/counts/").catch(() => null);
  if (answer?.redirected) return; // Signed out: the next click says so.
  if (answer?.ok) show((await answer.json()).counts);
  due = setTimeout(look, EVERY_MS);
}

function show(counts) {
  for (const link of document.querySelectorAll(".navigation a, a.told")) {
    const note = counts[link.pathname] ?? "";
    const small = link.querySelector("small") ?? (note && add(link));
    // The account names the role in the same place, and counts nothing.
    if (!small || link.closest(".account")) continue;
    const place = small.querySelector("span") ?? small;
    if (place.textContent !== note) place.textContent = note;
    small.hidden = !note;
  }
}

function add(link) {
  const small = document.createElement("small");
  link.append(" ", small);
  return small;
}

document.addEventListener("visibilitychange", look);
due = setTimeout(look, EVERY_MS);
