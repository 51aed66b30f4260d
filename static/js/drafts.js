// Keeps what is being written until it has arrived: a session that ends, a refusal or a lost connection costs no text.
// Drafts stay in this tab, for one person and a day. Fields that are hidden, and forms with passwords, are never kept.

const KEPT = "bigmind-drafts";
const A_DAY_MS = 86_400_000;
const MOST = 500_000;
const FIELDS = "textarea, select, input:not([type=hidden], [type=file], [type=submit], [type=password])";

const [visit] = performance.getEntriesByType("navigation");
const me = document.querySelector("#menu .account a")?.pathname;
const forms = [...document.querySelectorAll("form[method=post]:has(textarea):not(:has([type=password]), [data-secret])")];

function drafts() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
  } catch {
    return {};
  }
}

function keep(all) {
  const text = JSON.stringify(all);
  try {
    if (text.length <= MOST) sessionStorage.setItem(KEPT, text);
  } catch {
    // A browser that keeps nothing keeps no drafts.
  }
}

// Attributes, not properties: a field may be called `action` or `id`, and would stand in their place.
const targetOf = (form) => new URL(form.getAttribute("action") || location.href, location.href).pathname;
const nameOf = (form) => `${location.pathname} ${targetOf(form)} ${form.getAttribute("id") ?? ""}`;
const fieldsOf = (form) => [...form.elements].filter((field) => field.name && field.matches(FIELDS));
const valueOf = (field) => (/checkbox|radio/.test(field.type) ? field.checked : field.value);

function note(form, isSent = false) {
  const fields = fieldsOf(form).map((field) => [field.name, valueOf(field)]);
  const target = targetOf(form);
  keep({ ...drafts(), [nameOf(form)]: { of: me, at: Date.now(), page: location.pathname + location.search, target, fields, isSent } });
}

function forget(name) {
  const { [name]: _, ...others } = drafts();
  keep(others);
}

function say(form, text, button) {
  const line = document.createElement("p");
  line.className = "message";
  line.role = "status";
  line.append(text, " ", ...(button ? [button] : []));
  form.querySelector(":scope > .message[role=status]")?.remove();
  form.prepend(line);
}

function restore(form, { fields }) {
  const now = fieldsOf(form);
  if (now.length !== fields.length || now.every((field, at) => valueOf(field) === fields[at][1])) return;
  now.forEach((field, at) => {
    const value = fields[at][1];
    if (typeof value === "boolean") field.checked = value;
    else field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  for (let fold = form.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "button", textContent: document.body.dataset.discard });
  button.dataset.size = "small";
  button.addEventListener("click", () => {
    forget(nameOf(form));
    form.reset();
    button.parentElement.remove();
  });
  say(form, document.body.dataset.restored, button);
}

// What was sent has arrived when a page came of it: one of this person, that refuses nothing, and to which nobody went back.
const hasArrived = me && !(visit?.responseStatus >= 400) && visit?.type === "navigate";

function lookAfter(name, draft) {
  if (Date.now() - draft.at > A_DAY_MS || (me && draft.of !== me) || (draft.isSent && hasArrived)) return forget(name);
  if (!draft.isSent) return undefined;
  keep({ ...drafts(), [name]: { ...draft, isSent: Boolean(me) && draft.isSent && visit?.responseStatus < 400 } });
  if (me) return undefined;
  // A form may send to an address that has no page of its own: after the sign-in its own page comes back.
  const next = document.querySelector("form > [name=next]");
  if (next?.value === draft.target) next.value = draft.page;
  const back = document.querySelector("[data-way-back]");
  if (back) Object.assign(back, { href: draft.page, hidden: false });
  return undefined;
}

for (const [name, draft] of Object.entries(drafts())) lookAfter(name, draft);
for (const form of forms) {
  const draft = drafts()[nameOf(form)];
  if (draft) restore(form, draft);
  form.addEventListener("input", () => note(form));
  form.addEventListener("submit", (event) => {
    note(form, true);
    if (navigator.onLine) return;
    event.preventDefault();
    note(form);
    say(form, document.body.dataset.offline);
  });
}
document.querySelector("#menu .account form")?.addEventListener("submit", () => sessionStorage.removeItem(KEPT));
