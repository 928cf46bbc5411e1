import { effect, signal } from '@preact/signals';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { explain } from './codes.js';
import { changesOf } from './field.js';
import { Form, mayLeave } from './form.js';
import { html, t } from './html.js';
import { page } from './router.js';
import { company } from './session.js';
import { toast } from './toast.js';

const question = signal(/** @type {any} */ (null));
let questions = 0;

/** Opens a dialog with a form (form.js). What `send` gives is toasted: a text, or a `title` with `undo`; a `body` takes the form's place. */
export function openDialog(asked) {
  questions += 1;
  question.value = { ...asked, at: questions };
}

/** Asks for changes of an object that was `before`, and sends only the changed fields, as `inputOf` converts them. */
export const openEditor = (title, fields, before, document, inputOf = (changes) => changes) =>
  openDialog({
    title,
    fields,
    verb: t('Save'),
    send: async (values, run) => {
      const changes = changesOf(values, before);
      if (Object.keys(changes).length === 0) return t('Nothing was changed.');
      await run(document, { input: { id: before.id, ...inputOf(changes) } });
      return t('Saved.');
    },
  });

const close = (/** @type {any[]} */ ..._) => {
  question.value = null;
};

// Another page or company closes the dialog.
effect(() => close(page.value, company.value));

/** Runs an action without a form, or one that reads data before its form; shows errors in a toast. */
export const attempt =
  (deed) =>
  async (/** @type {any[]} */ ...given) => {
    try {
      await deed(...given);
    } catch (error) {
      toast(explain(error));
    }
  };

const typed = 'input:not([type=checkbox]), textarea, select';

/** Calls `act` at a key, or with `held` at one with Control or Command, but not while a text is typed or a dialog is open. */
export function onKey(wanted, act, held = '') {
  const press = (event) => {
    const { key, metaKey, ctrlKey, altKey, target } = event;
    const fits = metaKey || ctrlKey ? key === held : key === wanted && !altKey && !target.closest?.(typed);
    if (!fits || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    act();
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}

export const Dialogs = () => question.value && html`<${Asked} key=${question.value.at} asked=${question.value} />`;

function Asked({ asked: { at, title, about, fields, verb, danger, send, wide } }) {
  const [result, setResult] = useState(/** @type {any} */ (null));
  const sent = async (...given) => {
    const outcome = await send(...given);
    const left = question.peek()?.at !== at;
    if (outcome?.body && !left) return setResult(outcome);
    if (!left) close();
    if (outcome) toast(outcome.title ?? outcome, outcome.undo);
  };
  return html`<${Dialog} title=${result?.title ?? title} wide=${wide} close=${close}>
    ${
      result
        ? html`${result.body}
          <div class="row end"><button type="button" class="primary" onClick=${close}>${result.verb ?? t('Done')}</button></div>`
        : html`${about && html`<p class="about">${about}</p>`}
          <${Form} fields=${fields} verb=${verb} danger=${danger} send=${sent} close=${close} />`
    }
  <//>`;
}

/** A modal that holds the focus and returns it. Escape closes it, after a question if fields have changed; a click beside it does not. */
export function Dialog({ title, wide, close, children }) {
  const ref = useRef(/** @type {any} */ (null));
  const left = useRef(false);
  // Before the next key is pressed.
  useLayoutEffect(() => {
    const dialog = ref.current;
    const opener = /** @type {any} */ (document.activeElement);
    dialog.showModal();
    return () => {
      // `close` fires after the next dialog may have opened.
      left.current = true;
      dialog.close();
      if (opener?.isConnected && opener !== document.body) opener.focus();
      else document.querySelector('h1')?.focus({ preventScroll: true });
    };
  }, []);
  useLayoutEffect(() => {
    const first = (what) => ref.current.querySelector(what);
    (first('input, textarea, select') ?? first('button')).focus();
  }, [title]);
  return html`<dialog ref=${ref} class=${wide ? 'wide' : ''} aria-label=${title} onCancel=${mayLeave} onClose=${() => left.current || close()}>
    <div class="sheet"><h2>${title}</h2>${children}</div>
  </dialog>`;
}
