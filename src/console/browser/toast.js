import { signal } from '@preact/signals';
import { html } from './html.js';

const SHOWN_MS = 5_000;
const TO_UNDO_MS = 20_000;
const said = signal(/** @type {any} */ ({}));
let timer;

/** Shows a text for a moment, and for longer if `undo` can undo the action. */
export function toast(text, undo = undefined) {
  clearTimeout(timer);
  said.value = { text, undo };
  timer = setTimeout(hide, undo ? TO_UNDO_MS : SHOWN_MS);
}

const hide = () => (said.value = {});

export function Toast() {
  const { text, undo } = said.value;
  const act = () => {
    hide();
    undo();
  };
  return html`<div class="toast" role="status">
    ${text && html`<p>${text} ${undo && html`<button type="button" class="link" onClick=${act}>Undo</button>`}</p>`}
  </div>`;
}
