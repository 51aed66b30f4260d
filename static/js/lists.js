// Hides what says the same in every row of a list, or nothing: it tells no row from another. What warns stays. Cells of
// a table are given their heading, for screens on which they stand below the title.

const ENOUGH = 3; // Of two rows any cell may be alike by chance.
const WARNS = "[data-tone=danger], [data-tone=warning], button, input";

function hideAlike(rows, from) {
  const count = rows[0]?.length;
  if (rows.length < ENOUGH || rows.some((row) => row.length !== count)) return [];
  const columns = [...rows[0].keys()].slice(from);
  const isAlike = (column) => rows.every((row) => row[column].textContent.trim() === rows[0][column].textContent.trim());
  const alike = columns.filter((column) => isAlike(column) && !rows.some((row) => row[column].querySelector(WARNS)));
  for (const column of alike) for (const row of rows) row[column].hidden = true;
  return alike;
}

for (const list of document.querySelectorAll(".items, .queue")) {
  const rows = list.querySelectorAll(":scope > .item > footer, :scope > li > div > p");
  hideAlike([...rows].map((row) => [...row.children]), 0);
}
for (const table of document.querySelectorAll("table[data-list]")) {
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells]);
  for (const column of hideAlike(rows, 1)) heads[column].hidden = true;
  for (const row of rows) for (const cell of row.slice(1)) cell.dataset.head = heads[cell.cellIndex].textContent.trim();
}
