import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, newId } from './api.js';
import { Field, valuesOf, wrongIn } from './field.js';
import { html, t } from './html.js';
import { Failure } from './parts.js';
import { carryOut } from './query.js';
import { toast } from './toast.js';

/** Without a response, the request is repeated at this interval. */
const REPEAT_MS = 3_000;
const repeated = ['UNREACHABLE', 'UNAVAILABLE', 'RATE_LIMITED', 'IDEMPOTENCY_IN_PROGRESS'];

/** Whether a dialog may close: changed fields are asked about first. */
export function mayLeave(event) {
  const stays =
    event.currentTarget.closest('dialog').querySelector('[data-changed]') && !confirm(t('Discard your changes?'));
  if (stays) event.preventDefault();
  return !stays;
}

/**
 * The console's form. `fields` are those of field.js; `send` gets the values, a runner of documents and `tell`. An error may have
 * new `values` of fields, and a `report` below them.
 */
export function Form({ fields = [], send, verb, danger, close, children }) {
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState('');
  const form = useRef(/** @type {any} */ (null));
  const gone = useRef(false);
  useEffect(() => () => (gone.current = true), []);
  useEffect(() => {
    for (const [name, value] of Object.entries(error?.values || {})) form.current.elements[name].value = value;
    if (error) form.current.querySelector('[aria-invalid]')?.focus();
  }, [error]);
  const submit = async (event) => {
    event.preventDefault();
    if (busy) return;
    const values = valuesOf(form.current, fields);
    const run = runner(gone);
    const tell = (done, total) => setBusy(t('{done} of {total}', { done, total }));
    setBusy(t('One moment …'));
    setError(null);
    while (!gone.current && (await attempt(() => send(values, run, tell), setError, gone))) await pause();
    if (!gone.current) setBusy('');
  };
  const wrongs = fields.map(({ name }) => wrongIn(error, name));
  return html`<form ref=${form} onSubmit=${submit} onInput=${() => (form.current.dataset.changed = '')} novalidate>
    ${fields.map((field, at) => html`<${Field} key=${field.name} ...${field} wrong=${wrongs[at]} />`)}
    ${children}
    ${error?.report}
    ${error && !wrongs.some(Boolean) && html`<${Failure} error=${error} about=${busy && kept} />`}
    <div class="row end">
      ${close && html`<button type="button" onClick=${(event) => mayLeave(event) && close()}>Cancel</button>`}
      <button class=${danger ? 'primary danger' : 'primary'} disabled=${busy}>${busy || verb}</button>
    </div>
  </form>`;
}

const kept = t('Your entries are kept and sent again until there is an answer. The action is carried out only once.');

/** Returns true if the outcome is unknown and the submission must be repeated. */
async function attempt(once, setError, gone) {
  try {
    await once();
    return false;
  } catch (error) {
    if (!gone.current) setError(error);
    else if (error.code === 'CANCELLED') toast(error.message);
    return repeated.includes(error.code);
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, REPEAT_MS));

/** Runs the documents of a submission by `part`: repetitions have the same key, so that the gateway acts once. */
function runner(gone) {
  const key = newId();
  const answers = new Map();
  return async (document, variables, part = '') => {
    if (answers.has(part)) return answers.get(part);
    if (gone.current) throw new ApiError('CANCELLED', t('Stopped. What was already done stays.'));
    answers.set(part, await carryOut(document, variables, { key: key + part }));
    return answers.get(part);
  };
}
