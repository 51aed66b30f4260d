// “/” and Ctrl-K find anything from any page: pages and commands at once, knowledge and people as one types. What was opened
// last comes first: it is kept in this browser only, for one person, and forgotten when they sign out or their session ends.

const RECENT = "bigmind-recent";
const MOST = 6;
const PAUSE_MS = 180;
const WRITING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

const template = document.getElementById("palette");
let dialog, said, field, list, status, waiting, asked = 0;

function me() {
  return document.querySelector("#menu .account a")?.pathname;
}

function recent() {
  try {
    const kept = JSON.parse(localStorage.getItem(RECENT));
    return kept?.of === me() ? kept.pages : [];
  } catch {
    return [];
  }
}

function keepRecent() {
  const here = { url: location.pathname, label: document.querySelector("h1")?.textContent.trim() };
  if (!here.label) return;
  const others = recent().filter((one) => one.url !== here.url);
  try {
    localStorage.setItem(RECENT, JSON.stringify({ of: me(), pages: [here, ...others].slice(0, 9) }));
  } catch {
    // A browser that keeps nothing has nothing recent.
  }
}

function build() {
  dialog = template.content.querySelector("dialog").cloneNode(true);
  said = dialog.dataset;
  document.body.append(dialog);
  field = dialog.querySelector("input");
  list = dialog.querySelector("[role=listbox]");
  status = dialog.querySelector("[role=status]");
  field.addEventListener("input", () => {
    show();
    clearTimeout(waiting);
    waiting = setTimeout(find, PAUSE_MS);
  });
  field.addEventListener("keydown", choose);
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("[aria-selected=true]")?.click();
  });
  // A click beside it is on the dialog itself.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

function open() {
  if (!dialog) build();
  if (dialog.open) return;
  field.value = "";
  show();
  dialog.showModal();
  field.focus();
}

function optionOf(link, says = "") {
  const option = document.createElement("a");
  option.href = link.href;
  option.role = "option";
  option.tabIndex = -1;
  const icon = link.querySelector(".icon, .avatar, .kind");
  const label = document.createElement("span");
  const shown = [...link.childNodes].filter((node) => node !== icon && !node.matches?.("small, .kind, .avatar, .icon"));
  label.textContent = shown.map((node) => node.textContent).join("").trim();
  option.append(...(icon ? [icon.cloneNode(true)] : []), label);
  if (says) option.append(Object.assign(document.createElement("small"), { textContent: says }));
  return option;
}

function matches(option, words) {
  const text = option.textContent.toLowerCase();
  return words.every((word) => text.includes(word));
}

function group(title, options) {
  if (!options.length) return;
  const part = document.createElement("div");
  part.role = "group";
  part.ariaLabel = title;
  const heading = Object.assign(document.createElement("p"), { textContent: title });
  heading.ariaHidden = "true";
  part.append(heading, ...options);
  list.append(part);
}

function searchOption() {
  const option = document.createElement("a");
  option.role = "option";
  option.tabIndex = -1;
  option.href = `${dialog.querySelector("form").action}?query=${encodeURIComponent(field.value.trim())}`;
  option.append(dialog.querySelector("form .icon").cloneNode(true), said.everything.replace("{}", field.value.trim()));
  return option;
}

function linkTo({ url, label }) {
  return Object.assign(document.createElement("a"), { href: url, textContent: label });
}

function show(knowledge = [], people = []) {
  const isCommand = field.value.startsWith(">");
  const words = field.value.replace(/^>/u, "").trim().toLowerCase().split(/\s+/u).filter(Boolean);
  const chosen = list.querySelector("[aria-selected=true]")?.href;
  list.replaceChildren();
  const offered = (links, most) => links.map((link) => optionOf(link)).filter((one) => matches(one, words)).slice(0, most);
  const before = recent().filter((one) => one.url !== location.pathname).map(linkTo);
  if (!isCommand) {
    group(said.recent, offered(before, words.length ? 3 : 5));
    group(said.go, offered([...document.querySelectorAll("#menu ul:not(.account) a, .told")], words.length ? MOST : 20));
  }
  group(said.do, offered([...template.content.querySelectorAll("[data-commands] a")], words.length ? MOST : 20));
  // What comes later stands below: nothing moves under the person's hand.
  group(said.knowledge, knowledge);
  group(said.people, people);
  if (words.length && !isCommand) group(said.search, [searchOption()]);
  const options = [...list.querySelectorAll("[role=option]")];
  options.forEach((option, number) => (option.id = `palette-option-${number}`));
  select((knowledge.length || people.length) && options.find((one) => one.href === chosen) || options[0]);
  status.textContent = said.count.replace("{}", options.length);
}

async function pageAt(address) {
  const answer = await fetch(address).catch(() => null);
  return answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
}

async function find() {
  const words = field.value.trim();
  const number = (asked += 1);
  if (words.length < 2 || words.startsWith(">")) return;
  const query = `?query=${encodeURIComponent(words)}`;
  const addresses = [dialog.querySelector("form").action + query, field.dataset.people + query];
  const [found, known] = await Promise.all(addresses.map(pageAt));
  if (number !== asked || !dialog.open) return;
  const hits = [...(found?.querySelectorAll(".hit") ?? [])].filter((hit) => !hit.closest(".fold"));
  const knowledge = hits.slice(0, MOST).map((hit) => {
    const isWeak = hit.querySelector("[data-relevance=weak]");
    const option = optionOf(hit.querySelector("h3 a"), hit.querySelector(".handle").textContent + (isWeak ? ", weak" : ""));
    option.prepend(hit.querySelector(".kind").cloneNode(true));
    return option;
  });
  const people = [...(known?.querySelectorAll(".expert h3 a") ?? [])].slice(0, 3).map((link) => {
    const option = optionOf(link);
    option.prepend(link.closest(".expert").querySelector(".avatar").cloneNode(true));
    return option;
  });
  show(knowledge, people);
}

function select(option) {
  list.querySelector("[aria-selected=true]")?.removeAttribute("aria-selected");
  if (!option) return;
  option.ariaSelected = "true";
  field.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

function choose(event) {
  if (event.key === "Escape") {
    // Else the first one would only empty the field.
    event.preventDefault();
    field.blur();
    return dialog.close();
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  const options = [...list.querySelectorAll("[role=option]")];
  const at = options.findIndex((option) => option.ariaSelected === "true");
  select(options.at((at + (event.key === "ArrowDown" ? 1 : -1)) % options.length));
}

if (template) {
  keepRecent();
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.(WRITING);
    const isSlash = event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey;
    const isCtrlK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
    if (!isSlash && !isCtrlK) return;
    event.preventDefault();
    open();
  });
  for (const link of document.querySelectorAll(".finder, [data-finds]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      open();
    });
  }
  document.querySelector("#menu .account form")?.addEventListener("submit", () => localStorage.removeItem(RECENT));
} else {
  localStorage.removeItem(RECENT);
}
