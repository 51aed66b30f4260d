// The queue without a new page for each entry: the next one is read ahead and stands there at once, while what was
// decided is on its way. Links and forms stay what they are: without this script the browser follows them itself.

const OPENED = /^\/curation\/\d+\/$/;
const DECIDED = /^\/curation\/\d+\/(decide|skip|undo|comment|claim)\/$/;

const WAITING = "header.masthead a[href='/curation/']";
const KEPT = 4;
const FRESH_MS = 120_000;
const HOVER_MS = 80;

// By address, the one that was asked for first: each has its page once that is there.
const ahead = new Map();
let isBusy = false;
let meant = null;

function addressOf(url) {
  const { pathname, search } = new URL(url, location.href);
  return pathname + search;
}

// The page is made ready as soon as it is there, so that a key has nothing left to do but to show it.
async function read(address) {
  if (isFresh(ahead.get(address))) return;
  const coming = { page: null, since: performance.now() };
  ahead.delete(address);
  ahead.set(address, coming);
  for (const old of [...ahead.keys()].slice(0, -KEPT)) ahead.delete(old);
  const answer = await fetch(address, { headers: { "X-Read-Ahead": "1" } }).catch(() => null);
  const text = answer?.ok && !answer.redirected ? await answer.text().catch(() => "") : "";
  // Something may have been decided meanwhile, and the page asked for once more.
  if (ahead.get(address) !== coming) return;
  if (text) coming.page = parse(text);
  else ahead.delete(address);
}

function isFresh(coming) {
  return coming && performance.now() - coming.since < FRESH_MS;
}

function readAhead() {
  const next = document.querySelector(".opened a[rel=next]");
  if (next) read(addressOf(next.href));
}

function parse(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

function put(fresh, ...selectors) {
  for (const selector of selectors) {
    const [old, now] = [document.querySelector(selector), fresh.querySelector(selector)];
    if (old && now && old.innerHTML !== now.innerHTML) old.innerHTML = now.innerHTML;
  }
}

// Everything below the masthead is another page now; the focus goes where it goes on a page that was just opened.
function show(fresh, url, isNew = true) {
  const main = fresh.querySelector("main");
  if (!main) return location.assign(url);
  put(fresh, WAITING);
  document.title = fresh.title;
  document.querySelector("main").replaceWith(main);
  if (isNew) history.pushState(null, "", url);
  const focused = main.querySelector("[autofocus]:not(dialog *)") ?? document.getElementById("entry") ?? main;
  scrollTo(0, 0);
  focused.focus({ preventScroll: focused.id === "entry" });
  document.dispatchEvent(new Event("swapped"));
}

// The same entry as the server shows it after the decision: who looks at it, what is left, and the way back.
function settle(fresh) {
  put(fresh, WAITING, "nav.tabs", ".waiting", ".opened > header > .row");
  const [article, messages] = [document.querySelector(".opened"), fresh.querySelector(".opened > .messages")];
  article.querySelector(":scope > .messages")?.remove();
  if (messages) article.prepend(messages);
  delete document.querySelector("main").dataset.arriving;
  document.dispatchEvent(new Event("settled"));
  document.dispatchEvent(new Event("swapped"));
}

function takeAhead(address) {
  const coming = ahead.get(address);
  ahead.delete(address);
  if (!isFresh(coming) || !coming.page) return false;
  const { page } = coming;
  page.querySelector("main").dataset.arriving = "";
  // What was done before it was read ahead, and the way back from that, are of the past.
  page.querySelector(".opened > .messages")?.remove();
  show(page, `${address}#entry`);
  return true;
}

// A page that was read ahead is shown at once. It is asked for once more, because only that tells others who looks.
// What a decision changes may be on any page that was read before it: they are read once more.
async function follow(request, expected, isDecision = false) {
  isBusy = true;
  const before = location.href;
  const answered = fetch(...request);
  answered.catch(() => null);
  const isShown = expected && takeAhead(expected);
  if (isDecision) ahead.clear();
  else if (isShown) readAhead();
  try {
    const answer = await answered;
    const { pathname } = new URL(answer.url);
    if (answer.redirected && !pathname.startsWith("/curation/")) return location.assign(answer.url);
    const page = parse(await answer.text());
    if (isShown && answer.ok && addressOf(answer.url) === expected) settle(page);
    else show(page, answer.ok ? `${addressOf(answer.url)}${OPENED.test(pathname) ? "#entry" : ""}` : before);
  } catch {
    location.assign(before);
  } finally {
    isBusy = false;
    readAhead();
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
  const isSkip = pathname.endsWith("/skip/");
  const isGoingOn = isSkip || pathname.endsWith("/decide/");
  const next = document.querySelector(".opened a[rel=next]");
  const body = new URLSearchParams(new FormData(form, event.submitter));
  follow([form.action, { method: "POST", body }], isGoingOn && next ? addressOf(next.href) : "", !isSkip);
});

// Whoever points at an entry, or reaches its link by Tab, is likely to open it.
let pointed = null;
let resting;
for (const reached of ["pointermove", "focusin"]) {
  document.addEventListener(reached, (event) => {
    const link = event.target.closest?.(".queue a[href], .opened a[rel=prev]") ?? null;
    if (link === pointed) return;
    pointed = link;
    clearTimeout(resting);
    if (link && OPENED.test(new URL(link.href).pathname)) resting = setTimeout(read, HOVER_MS, addressOf(link.href));
  });
}

addEventListener("popstate", async () => {
  if (location.pathname.startsWith("/curation/")) {
    const answer = await fetch(location.href).catch(() => null);
    if (answer?.ok) {
      show(parse(await answer.text()), location.href, false);
      return readAhead();
    }
  }
  location.reload();
});

if ("requestIdleCallback" in globalThis) requestIdleCallback(readAhead);
else setTimeout(readAhead, 200);
