import { ApiError, authorization, unreachable } from './api.js';
import { settings } from './session.js';

/** Saves the response of a REST address, such as a list as CSV. Throws ApiError. */
export async function saveAnswer(address, name) {
  const headers = { accept: 'text/csv', ...authorization() };
  const answer = await fetch(settings.base + address, { headers }).catch(() => {
    throw unreachable();
  });
  if (answer.ok) return save(await answer.blob(), name);
  const { code, detail } = await answer.json().catch(() => ({}));
  throw code ? new ApiError(code, detail, { code }) : unreachable();
}

/** Saves rows as CSV; `columns` has a function per column name that makes the cell of a row. */
export function saveTable(columns, rows, name) {
  const lines = [Object.keys(columns), ...rows.map((row) => Object.values(columns).map((cell) => cell(row)))];
  const text = lines.map((line) => line.map(quoted).join(',')).join('\n');
  save(new Blob([`\ufeff${text}\n`], { type: 'text/csv' }), name);
}

/** Escapes a value: spreadsheets read some first characters as a formula. */
const quoted = (value) =>
  `"${String(value ?? '')
    .replace(/^[=+\-@\t]/, "'$&")
    .replaceAll('"', '""')}"`;

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
