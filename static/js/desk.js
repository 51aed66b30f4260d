// The queue without a new page for each entry: the next one is read ahead and stands there at once, while what was
// decided is on its way. Links and forms stay what they are: without this script the browser follows them itself.

const OPENED = /^\/curation\/\d+\/$/;
const DECIDED = /^\/curation\/\d+\/(decide|skip|undo|comment|claim)\/$/;

let ahead = { address: "", page: null };
let isBusy = false;
let meant = null;

function addressOf(url) {
  const { pathname, search } = new URL(url, location.href);
  return pathname + search;
}

function readAhead() {
  const next = document.querySelector(".opened a[rel=next]");
  if (!next || ahead.address === addressOf(next.href)) return;
  const address = addressOf(next.href);
  const page = fetch(address, { headers: { "X-Read-Ahead": "1" } })
    .then((answer) => (answer.ok && !answer.redirected ? answer.text() : null))
    .catch(() => null);
  ahead = { address, page: null };
  page.then((text) => {
    if (ahead.address === address) ahead.page = text;
  });
}

function parse(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

function putNumbers(fresh) {
  for (const selector of ["header.masthead a[href='/curation/']", "nav.tabs", ".waiting", ".opened > header > .row"]) {
    const [old, now] = [document.querySelector(selector), fresh.querySelector(selector)];
    if (old && now && old.innerHTML !== now.innerHTML) old.innerHTML = now.innerHTML;
  }
}

// Everything below the masthead is another page now; the focus goes where it goes on a page that was just opened.
function show(text, url, isNew = true) {
  const fresh = parse(text);
  const main = fresh.querySelector("main");
  if (!main) return location.assign(url);
  putNumbers(fresh);
  document.title = fresh.title;
  document.querySelector("main").replaceWith(main);
  if (isNew) history.pushState(null, "", url);
  const focused = main.querySelector("[autofocus]:not(dialog *)") ?? document.getElementById("entry") ?? main;
  scrollTo(0, 0);
  focused.focus({ preventScroll: focused.id === "entry" });
  document.dispatchEvent(new Event("swapped"));
  readAhead();
}

// The same entry as the server shows it after the decision: who looks at it, what is left, and the way back.
function settle(text) {
  const fresh = parse(text);
  putNumbers(fresh);
  const [article, messages] = [document.querySelector(".opened"), fresh.querySelector(".opened > .messages")];
  article.querySelector(":scope > .messages")?.remove();
  if (messages) article.prepend(messages);
  delete document.querySelector("main").dataset.arriving;
  document.dispatchEvent(new Event("settled"));
  document.dispatchEvent(new Event("swapped"));
  readAhead();
}

function takeAhead(address) {
  if (ahead.address !== address || !ahead.page) return false;
  const { page } = ahead;
  ahead = { address: "", page: null };
  show(page, `${address}#entry`);
  document.querySelector("main").dataset.arriving = "";
  // What was done before it was read ahead, and the way back from that, are of the past.
  document.querySelector(".opened > .messages")?.remove();
  return true;
}

// A page that was read ahead is shown at once. It is asked for once more, because only that tells others who looks.
async function follow(request, expected) {
  isBusy = true;
  const before = location.href;
  const isShown = expected && takeAhead(expected);
  try {
    const answer = await fetch(...request);
    const { pathname } = new URL(answer.url);
    if (answer.redirected && !pathname.startsWith("/curation/")) return location.assign(answer.url);
    const text = await answer.text();
    if (isShown && answer.ok && addressOf(answer.url) === expected) settle(text);
    else show(text, answer.ok ? `${addressOf(answer.url)}${OPENED.test(pathname) ? "#entry" : ""}` : before);
  } catch {
    location.assign(before);
  } finally {
    isBusy = false;
    const [act, control] = meant ?? [];
    meant = null;
    // What was pressed meanwhile counts if the person saw what it is about, and it is still there.
    if (control?.isConnected) act();
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest(".opened a[rel], .queue a[href], .waiting > p > a");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || event.defaultPrevented || !OPENED.test(new URL(link.href).pathname)) return;
  event.preventDefault();
  if (isBusy) meant = [() => link.click(), link];
  else follow([link.href], addressOf(link.href));
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  const { pathname } = new URL(form.action, location.href);
  if (!form.closest(".opened") || !DECIDED.test(pathname)) return;
  event.preventDefault();
  if (isBusy) {
    meant = [() => form.requestSubmit(event.submitter), form];
    return;
  }
  const isGoingOn = /\/(decide|skip)\/$/.test(pathname);
  const next = document.querySelector(".opened a[rel=next]");
  const body = new URLSearchParams(new FormData(form, event.submitter));
  follow([form.action, { method: "POST", body }], isGoingOn && next ? addressOf(next.href) : "");
});

addEventListener("popstate", async () => {
  if (location.pathname.startsWith("/curation/")) {
    const answer = await fetch(location.href).catch(() => null);
    if (answer?.ok) return show(await answer.text(), location.href, false);
  }
  location.reload();
});

if ("requestIdleCallback" in globalThis) requestIdleCallback(readAhead);
else setTimeout(readAhead, 200);
