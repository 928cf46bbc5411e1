import { said } from './codes.js';
import { html } from './html.js';

/** A field: `type` is one of inputs, `area`, `check`, `combobox` with `options`, or `select` and `checks` with `options` (value, name); other members become attributes. */
export function Field({ name, label, type = 'text', wrong, hint, options = [], value, ...rest }) {
  const told = wrong ? `${name}-wrong` : hint ? `${name}-hint` : undefined;
  const shared = { 'aria-describedby': told, 'aria-invalid': wrong ? 'true' : undefined };
  const own = { id: name, name, ...shared, ...rest };
  const below = html`${hint && !wrong && html`<p class="hint" id=${`${name}-hint`}>${hint}</p>`}
    ${wrong && html`<p class="wrong" id=${`${name}-wrong`}>${wrong}</p>`}`;
  if (type === 'checks') {
    return html`<fieldset class="field" ...${shared}>
      <legend>${label}</legend>
      <div class="checks">
        ${options.map(([one, said]) => html`<label key=${one} class="check"><input type="checkbox" name=${name} value=${one} defaultChecked=${value?.includes(one)} /> ${said}</label>`)}
      </div>
      ${below}
    </fieldset>`;
  }
  if (type === 'check') {
    return html`<div class="field">
      <label class="check"><input type="checkbox" ...${own} defaultChecked=${value} /> ${label}</label>${below}
    </div>`;
  }
  return html`<div class="field"><label for=${name}>${label}</label>${control(type, own, options, value)}${below}</div>`;
}

function control(type, own, options, value) {
  if (type === 'area') return html`<textarea ...${own} defaultValue=${value ?? ''} />`;
  if (type === 'combobox') {
    const list = `${own.id}-options`;
    return html`<input autocomplete="off" ...${own} list=${list} defaultValue=${value ?? ''} />
      <datalist id=${list}>${options.map((one) => html`<option key=${one} value=${one} />`)}</datalist>`;
  }
  if (type !== 'select') return html`<input type=${type} autocomplete="off" ...${own} defaultValue=${value ?? ''} />`;
  return html`<select ...${own}>
    ${options.map(([one, said]) => html`<option key=${one} value=${one} selected=${one === (value ?? '')}>${said}</option>`)}
  </select>`;
}

/** The values of a form's fields by name: a list for `checks`, a boolean for `check`, else text or a file. */
export function valuesOf(form, fields) {
  const data = new FormData(form);
  const read = { checks: (name) => data.getAll(name), check: (name) => data.has(name) };
  return Object.fromEntries(fields.map(({ name, type }) => [name, read[type]?.(name) ?? data.get(name) ?? '']));
}

/** The message of an error for the field of this name. Paths are those of the input, such as `types.0`. */
export function wrongIn(error, name) {
  const wrong = error?.errors?.find(({ path }) => path.split('.').includes(name));
  return wrong && said(wrong, name);
}

export function changesOf(values, before) {
  const differs = ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]);
  return Object.fromEntries(Object.entries(values).filter(differs));
}
