// What axe finds in a window, in the width that it has: folded and opened, in the light and in the dark.
//
// axe takes a fifth of a second for a page in one state, and pages are much alike. So it is asked about what is new:
// the colours of each sort of text until it has passed, what stands on several pages alike until it has passed, and in
// a state after the first what is shown and was not, or the other way. This is code of the window that opened the
// others: they share what it compiled and what it has seen.

const OF_COLOURS = ["color-contrast", "link-in-text-block"];
const OTHERS = { rules: Object.fromEntries(OF_COLOURS.map((rule) => [rule, { enabled: false }])) };
// No page has a frame, a sound or a film: axe need not ask frames, nor load styles and media a second time.
const ALWAYS = { resultTypes: ["violations"], preload: false, iframes: false };

const HEAD = "body > .masthead";
const FIELDS = "select, textarea, input:not([type=checkbox], [type=radio], [type=hidden], [type=range])";
// What a part of a page is looked at with: it may take its name from the part, or be a list or table of such.
const AROUND = "a, button, summary, label, details, li, td, th, dl, figure, form, section, main";
// In which parts differ that are one to axe: where they lead, what they send unseen, and numbers in their text.
const UNLIKE = /\b(?:href|action)="[^"]+"|type="hidden"[^>]*|\d+(?=[^<>]*<)/g;
const NO_GROUND = "rgba(0, 0, 0, 0),none,1,none,normal";

const passed = new Set();

const all = (root, selector = "*") => [...root.querySelectorAll(selector)];
const isShown = (element) => element.checkVisibility({ visibilityProperty: true });

/** Whether someone sees this as text: one letter fails no rule, and what screen readers alone read has no size. */
function isText(element) {
  if (!element.matches(FIELDS)) {
    const text = [...element.childNodes].map((node) => (node.nodeType === Node.TEXT_NODE ? node.data.trim() : ""));
    if (text.join("").length < 2 || element.closest("meter, progress")) return false;
  }
  const { width, height, right, bottom } = element.getBoundingClientRect();
  const { scrollX, scrollY } = element.ownerDocument.defaultView;
  return width > 1 && height > 1 && right + scrollX > 0 && bottom + scrollY > 0;
}

/** Return what lies behind an element, from the nearest to the page. */
function groundOf(element, known) {
  if (!element) return "";
  if (!known.has(element)) {
    const behind = groundOf(element.parentElement, known);
    const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position } = getComputedStyle(element);
    const plain = [backgroundColor, backgroundImage, opacity, filter, mixBlendMode].join();
    const stands = /static|relative/.test(position) ? "" : `${position} ${element.className} `;
    known.set(element, plain === NO_GROUND && !stands ? behind : `${stands}${plain} on ${behind}`);
  }
  return known.get(element);
}

/** Return the sort of a text: those of one sort stand on the same, and look the same. */
function sortOf(text, known) {
  const { color, fontSize, fontWeight, textShadow, textDecorationLine, borderBottomStyle } = getComputedStyle(text);
  const looks = [color, fontSize, fontWeight, textShadow, textDecorationLine, borderBottomStyle];
  const around = text.parentElement;
  const stands = [around.localName, around.className, getComputedStyle(around).color, isText(around)];
  const states = [text.disabled, text.ariaDisabled, text.closest(":disabled") !== null];
  return [text.localName, text.className, ...states, ...looks, ...stands, groundOf(text, known)].join();
}

/** Return what is wrong with the colours of texts of a sort that has not passed. */
async function lookAtColours(texts, { axe }) {
  const known = new Map();
  const sorts = new Map(texts.map((text) => [text, sortOf(text, known)]));
  const fresh = texts.filter((text) => !passed.has(sorts.get(text)));
  if (!fresh.length) return [];
  const asked = { ...ALWAYS, resultTypes: ["violations", "passes"], elementRef: true, runOnly: OF_COLOURS };
  const { violations, passes } = await axe.run({ include: fresh }, asked);
  const wrong = violations.flatMap((one) => one.nodes.map((node) => node.element));
  for (const { element } of passes.find(({ id }) => id === OF_COLOURS[0])?.nodes ?? []) {
    if (!wrong.includes(element)) passed.add(sorts.get(element));
  }
  const plain = (nodes) => nodes.map(({ target, html }) => ({ target, html }));
  return violations.map(({ id, help, nodes }) => ({ id, help, nodes: plain(nodes) }));
}

/** Return the parts of a page in which other things are shown than before, each with what takes its name from them. */
function partsWith(elements) {
  const parts = elements.map((one) => one.parentElement?.closest(AROUND) ?? one).filter(isShown);
  return [...new Set(parts)].filter((one, _, others) => !others.some((other) => other !== one && other.contains(one)));
}

/** Return what stands in a part of a page, and what of it is shown. */
function contentOf(part) {
  return part.outerHTML.replaceAll(UNLIKE, "") + all(part).map((one) => Number(isShown(one))).join("");
}

/** Return what is wrong with parts of a page but for their colours. What stands on several pages alike passes once. */
async function lookAt(parts, { axe, document }) {
  const root = document.documentElement;
  const heads = all(document, HEAD);
  const contents = new Map([...parts, ...heads].filter((part) => part !== root).map((part) => [part, contentOf(part)]));
  const isKnown = (part) => passed.has(contents.get(part));
  // The regions of the head stay: those of the page must differ from them.
  const exclude = heads.filter(isKnown).flatMap((head) => all(head, ":scope > :not(nav), :scope > nav > *"));
  const include = parts.filter((part) => !isKnown(part) && !exclude.some((one) => one.contains(part)));
  if (!include.length) return [];
  const { violations } = await axe.run({ include, exclude }, { ...ALWAYS, ...OTHERS });
  if (!violations.length) contents.forEach((content) => passed.add(content));
  return violations;
}

// Those that open each other's place stand open together: a name would leave one of them.
function unfold(document) {
  const folds = all(document, "details:not([open])");
  const names = folds.map((fold) => fold.getAttribute("name"));
  for (const fold of folds) {
    fold.removeAttribute("name");
    fold.open = true;
  }
  return () =>
    folds.forEach((fold, at) => {
      fold.open = false;
      if (names[at] !== null) fold.setAttribute("name", names[at]);
    });
}

/** Look at a page as it stands, and then at all that opens; `seen` is what this returned for another width. */
async function look(window, seen) {
  const { document } = window;
  const root = document.documentElement;
  const everything = all(document);
  const found = [];
  const note = (scheme, state, wrong) => found.push(...wrong.map((one) => ({ scheme, state, ...one })));
  const shown = () => new Set(everything.filter(isShown));
  const measure = (state) => {
    const beyond = root.scrollWidth - root.clientWidth;
    if (beyond) note("light", state, [{ id: "overflow", help: `It scrolls sideways by ${beyond} px`, nodes: [] }]);
  };

  const folded = shown();
  const differs = (one) => seen.folded.has(one) !== folded.has(one);
  const texts = [...folded].filter(isText);
  note("light", "", await lookAt(seen ? partsWith(everything.filter(differs)) : [root], window));
  note("light", "", await lookAtColours(texts, window));
  measure("");

  // Each change of the scheme is a new style for all of the page: there and back, once.
  const chosen = root.style.colorScheme;
  root.style.colorScheme = "dark";
  note("dark", "", await lookAtColours(texts, window));
  const fold = unfold(document);
  const opened = shown();
  const unfolded = [...opened].filter((one) => !folded.has(one));
  const more = unfolded.filter(isText);
  note("dark", "opened", await lookAtColours(more, window));
  root.style.colorScheme = chosen;
  note("light", "opened", await lookAtColours(more, window));
  const differsOpened = (one) => seen.opened.has(one) !== opened.has(one) && !differs(one);
  const appeared = seen ? everything.filter(differsOpened) : unfolded;
  note("light", "opened", await lookAt(partsWith(appeared), window));
  measure("opened");
  fold();
  return { found, folded, opened };
}
