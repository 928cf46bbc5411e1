import { signal } from '@preact/signals';
import { html } from './html.js';

const SHOWN_MS = 5_000;
const said = signal('');
let timer;

/** Tells what was done, for a moment. */
export function toast(text) {
  clearTimeout(timer);
  said.value = text;
  timer = setTimeout(() => {
    said.value = '';
  }, SHOWN_MS);
}

export const Toast = () => html`<div class="toast" role="status">${said.value && html`<p>${said.value}</p>`}</div>`;
