import { ask, fieldError } from './api.js';
import { explain, said } from './codes.js';
import { Dialog } from './dialog.js';
import { Form } from './form.js';
import { html, t } from './html.js';
import { begin, busy, hasIssuer, signInAgain } from './issuer.js';
import { demoToken, ended, lapsed, signIn } from './session.js';
import { LanguageSwitch, Mark } from './shell.js';

/** Links to the identity provider, or asks for a token and tests it before storing it. */
export function SignIn() {
  if (busy.value) return html`<main class="door"><p role="status">One moment …</p></main>`;
  return html`<main class="door">
    <div class="sheet">
      <${Mark} />
      <h1>Fleet Gateway</h1>
      <p>Manage your fleets, upload vehicles, and see which are eligible for connected data.</p>
      ${ended.value && html`<p class="failure" role="alert">${ended.value}</p>`}
      ${hasIssuer && html`<${AtOnce} verb="Sign in" act=${begin} />`}
      ${demoToken && html`<${AtOnce} verb="Continue as the company “demo”" act=${() => signIn(demoToken)} />`}
      <${Form} verb=${hasIssuer ? t('Use this token') : t('Sign in')} send=${enter} fields=${fields} />
      <p class="row end"><${LanguageSwitch} /></p>
    </div>
  </main>`;
}

const AtOnce = ({ verb, act }) => html`<button type="button" class="primary wide" onClick=${act}>${verb}</button>
  <p class="or"><span>or use your own token</span></p>`;

const again = html`<p class="row end"><button type="button" class="primary" onClick=${signInAgain}>Sign in again</button></p>`;

/** A dialog above the page if the token is no longer valid; forms below it keep their text. */
export const Lapsed = () =>
  lapsed.value &&
  html`<${Dialog} title="Sign in again" close=${() => (lapsed.value = null)}>
    <p class="about">${said(lapsed.value)}</p>
    ${hasIssuer ? again : html`<${Form} verb=${t('Sign in')} send=${enter} fields=${fields} />`}
  <//>`;

const hint = t('Kept in this tab only, and sent to this gateway only.');
const looks = { type: 'area', rows: 4, spellcheck: false, autocomplete: 'off' };
const fields = [{ name: 'token', label: t('Access token'), hint, ...looks }];

async function enter({ token: typed }) {
  const value = typed.trim().replace(/^bearer\s+/i, '');
  const refuse = (message) => {
    throw fieldError('token', message);
  };
  if (!value) refuse(t('Paste a token first.'));
  await ask('{ fleets(first: 1) { totalCount } }', {}, { as: value }).catch((error) => refuse(explain(error)));
  signIn(value);
}
