import { useEffect, useState } from 'preact/hooks';
import { count, html } from './html.js';

/** Rows that the user has chosen; they stay chosen on other pages of the list. */
export function useSelection() {
  const [chosen, setChosen] = useState(new Map());
  const set = (rows, on) => {
    const next = new Map(chosen);
    for (const row of rows) {
      if (on) next.set(row.id, row);
      else next.delete(row.id);
    }
    setChosen(next);
  };
  return { rows: [...chosen.values()], has: ({ id }) => chosen.has(id), set, clear: () => setChosen(new Map()) };
}

/** A bar of actions on the chosen rows. `verbs` have a `name` and a `run`, which gets the rows and a function that clears the selection. */
export function SelectionBar({ selection: { rows, clear }, verbs }) {
  // The pressed button is no longer there; focus goes to the list.
  useEffect(() => {
    if (rows.length === 0 && document.activeElement === document.body) {
      /** @type {any} */ (document.querySelector('.listing'))?.focus({ preventScroll: true });
    }
  }, [rows.length === 0]);
  if (rows.length === 0) return null;
  return html`<section class="selected" aria-label="Selected">
    <b role="status">${count(rows.length)} selected</b>
    <div class="actions">
      ${verbs.map(({ name, run, danger }) => html`<button key=${name} type="button" class=${danger ? 'dangerous' : ''} onClick=${() => run(rows, clear)}>${name}</button>`)}
      <button type="button" class="quiet" onClick=${clear}>Clear</button>
    </div>
  </section>`;
}
