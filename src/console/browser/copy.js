import { html } from './html.js';
import { toast } from './toast.js';

/** A text with a button that copies it. Browsers offer the clipboard over https and on localhost only. */
export const Copyable = ({ text }) => html`<div class="copyable">
  <code class="secret" tabindex="0">${text}</code>
  ${navigator.clipboard && html`<button type="button" onClick=${() => copy(text)}>Copy</button>`}
</div>`;

const copy = (text) =>
  navigator.clipboard.writeText(text).then(
    () => toast('Copied.'),
    () => toast('The browser does not allow it. Select the text and copy it.'),
  );
