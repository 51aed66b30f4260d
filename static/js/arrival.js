// Watches for the first call with a new key, and says so the moment it comes. Without it, “Look again” does the same.

const EVERY_MS = 2000;
const place = document.querySelector("[data-arrival]");

async function look() {
  const answer = document.hidden ? null : await fetch(place.dataset.arrival).catch(() => null);
  // Sent to another page, or refused: the session or the key is gone, and there is nothing to wait for.
  if (answer && (answer.redirected || !answer.ok)) return;
  const arrival = await answer?.json();
  if (arrival?.state === "connected") show(arrival);
  // The tools are listed, and the first of them is called, a moment after the client has come in.
  const isOver = arrival?.called.length || ["revoked", "expired"].includes(arrival?.state);
  if (!isOver) setTimeout(look, EVERY_MS);
}

function show(arrival) {
  const fresh = place.querySelector("template").content.cloneNode(true);
  if (arrival.client) fill(fresh, "client", arrival.client);
  fill(fresh, "tools", arrival.tools);
  fill(fresh, "called", arrival.called.join(", "));
  const status = place.querySelector("[role=status]");
  // What says the same already stays, so that nobody hears it twice or loses their place in it.
  if (status.textContent === fresh.textContent || status.contains(document.activeElement)) return;
  status.replaceChildren(fresh);
}

function fill(fresh, name, value) {
  fresh.querySelector(`[data-slot=${name}]`).textContent = value ?? "";
  const part = fresh.querySelector(`[data-part=${name}]`);
  if (part) part.hidden = !value;
}

if (place) setTimeout(look, EVERY_MS);
