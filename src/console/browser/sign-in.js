import { ask, fieldError } from './api.js';
import { Form } from './form.js';
import { html } from './html.js';
import { demoToken, ended, signIn } from './session.js';
import { Mark } from './shell.js';

/** Asks for a token. It is tried before it is kept. */
export function SignIn() {
  return html`<main class="door">
    <div class="sheet">
      <${Mark} />
      <h1>Fleet Gateway</h1>
      <p>See your fleets, upload files, and watch manufacturers answer.</p>
      ${ended.value && html`<p class="failure" role="alert">${ended.value}</p>`}
      ${demoToken && html`<${Demo} />`}
      <${Form} verb="Sign in" send=${enter} fields=${fields} />
    </div>
  </main>`;
}

const Demo = () => html`<button type="button" class="primary wide" onClick=${() => signIn(demoToken)}>
    Continue as the company “demo”
  </button>
  <p class="or"><span>or with a token of your own</span></p>`;

const fields = [
  {
    name: 'token',
    label: 'Access token',
    type: 'area',
    rows: 4,
    spellcheck: false,
    autocomplete: 'off',
    hint: 'It stays in this tab, and goes to this gateway only.',
  },
];

async function enter({ token: typed }) {
  const value = typed.trim().replace(/^bearer\s+/i, '');
  const refuse = (message) => {
    throw fieldError('token', message);
  };
  if (!value) refuse('Paste a token first.');
  await ask('{ fleets(first: 1) { totalCount } }', {}, { as: value }).catch((error) => refuse(error.message));
  signIn(value);
}
