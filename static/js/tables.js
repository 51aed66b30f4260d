// Lets a person sort a table by a column: its heading becomes a button. Without it the table is in its own order.

const NUMBER = /^[-+]?[\d,.]+/;
// Between thousands stands a comma, or a point where German is read.
const [GROUP] = (1111).toLocaleString(document.documentElement.lang, { useGrouping: "always" }).match(/\D/);

function valueOf(row, column) {
  const cell = row.cells[column];
  const moment = cell?.querySelector("time");
  if (moment) return Date.parse(moment.dateTime);
  const text = cell?.textContent.trim() ?? "";
  return NUMBER.test(text) ? Number.parseFloat(text.replaceAll(GROUP, "").replace(",", ".")) : text.toLowerCase();
}

function compare(one, other) {
  if (typeof one === typeof other) return typeof one === "number" ? one - other : one.localeCompare(other);
  return typeof one === "number" ? -1 : 1;
}

function sort(table, heading) {
  const falls = heading.ariaSort === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.ariaSort = falls ? "descending" : "ascending";
  const { cellIndex } = heading;
  const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, cellIndex), row]);
  rows.sort(([one], [other]) => (falls ? compare(other, one) : compare(one, other)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table[data-sorts]")) {
  for (const heading of table.tHead.rows[0].cells) {
    if (!heading.textContent.trim()) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, heading));
    heading.append(button);
  }
}
