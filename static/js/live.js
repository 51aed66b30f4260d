// Brings a part of the page up to date while work goes on: the element says every how many seconds. Nothing moves
// while somebody is in it or the page is out of sight, and without this script the Refresh link does the same.

const part = document.querySelector("[data-live]");

function isBusy() {
  return document.hidden || part.contains(document.activeElement) || !getSelection().isCollapsed;
}

async function refresh() {
  const answer = isBusy() ? null : await fetch(location.href).catch(() => null);
  if (answer?.ok && !answer.redirected) {
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
    if (fresh && !isBusy()) {
      part.replaceChildren(...fresh.childNodes);
      part.dataset.live = fresh.dataset.live;
    }
  }
  wait();
}

function wait() {
  const seconds = Number(part.dataset.live);
  if (seconds) setTimeout(refresh, seconds * 1000);
}

if (part) wait();
