import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { Failure } from './parts.js';

/** A question that stands before the page until it is answered or left; the browser keeps the focus in it. */
export function Dialog({ title, close, children }) {
  const ref = useRef();
  useEffect(() => {
    const dialog = ref.current;
    dialog.showModal();
    dialog.querySelector('input, textarea')?.focus();
    return () => dialog.close();
  }, []);
  return html`<dialog ref=${ref} aria-labelledby="dialog-title" onClose=${close} onCancel=${close}
    onMouseDown=${({ target, currentTarget }) => target === currentTarget && close()}>
    <div class="sheet">
      <h2 id="dialog-title">${title}</h2>
      ${children}
    </div>
  </dialog>`;
}

/** A form whose answer takes a moment: `fields` writes them with the last error; `send` gets what they hold. */
export function Form({ send, verb, close, fields, children }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await send(Object.fromEntries(new FormData(event.target)));
    } catch (reason) {
      setError(reason);
      setBusy(false);
    }
  };
  return html`<form onSubmit=${submit} novalidate>
    ${fields(error)}${children}
    ${error && error.errors?.length === 0 && html`<${Failure} error=${error} />`}
    <div class="row end">
      ${close && html`<button type="button" onClick=${close}>Cancel</button>`}
      <button class="primary" disabled=${busy}>${busy ? 'One moment …' : verb}</button>
    </div>
  </form>`;
}

/** One line of a form; what is wrong with it stands below. */
export function Field({ name, label, error, hint, area = false, ...rest }) {
  const wrong = error?.errors?.find(({ path }) => path.split('.').at(-1) === name);
  const told = wrong ? `${name}-wrong` : hint ? `${name}-hint` : undefined;
  const shared = { id: name, name, 'aria-describedby': told, 'aria-invalid': wrong ? 'true' : undefined, ...rest };
  return html`<div class="field">
    <label for=${name}>${label}</label>
    ${area ? html`<textarea ...${shared} />` : html`<input ...${shared} />`}
    ${hint && !wrong && html`<p class="hint" id=${`${name}-hint`}>${hint}</p>`}
    ${wrong && html`<p class="wrong" id=${`${name}-wrong`}>${wrong.message}</p>`}
  </div>`;
}
