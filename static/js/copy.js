// Gives every block of code a button that copies it. Without this script the text can still be selected.

const words = { copy: "Copy", copied: "Copied", press: "Press Ctrl+C", ...document.body.dataset };

function addButton(figure) {
  const code = figure.querySelector("code");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button";
  button.dataset.size = "small";
  button.textContent = words.copy;
  button.setAttribute("aria-describedby", nameCaption(figure));
  button.addEventListener("click", async () => {
    button.textContent = (await copied(code)) ? words.copied : words.press;
    announce(button.textContent);
    setTimeout(() => (button.textContent = words.copy), 2500);
  });
  figure.querySelector("figcaption").append(button);
}

let captions = 0;

// Several buttons on a page say “Copy”; the caption tells a screen reader which is which.
function nameCaption(figure) {
  const caption = document.createElement("span");
  const line = figure.querySelector("figcaption");
  caption.id = `code-caption-${++captions}`;
  caption.append(...line.childNodes);
  line.append(caption);
  return caption.id;
}

// The clipboard exists on https and localhost only; elsewhere the text is selected, ready for the keyboard.
async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return false;
  }
}

const status = document.createElement("p");
status.className = "visually-hidden";
status.setAttribute("role", "status");

function announce(text) {
  status.textContent = text;
}

const figures = document.querySelectorAll("figure.code");
if (figures.length) {
  document.querySelector("main").append(status);
  figures.forEach(addButton);
}
