import { effect, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { ask } from './api.js';
import { explain } from './codes.js';
import { Dialog, onKey } from './dialog.js';
import { counted, html, t } from './html.js';
import { later } from './parts.js';
import { go, hrefOf, page, route } from './router.js';
import { recents } from './session.js';
import { FEWEST, tooFew } from './words.js';

/** Waits for more letters before it asks the gateway. */
const TYPED_MS = 150;
const steps = { ArrowDown: 1, ArrowUp: -1 };

const searchQuery = `query Search($text: String!, $first: Int!) {
  search(text: $text, first: $first) {
    ... on Fleet { id name vehicleCount }
    ... on Vehicle { id vin fleet { name } }
    ... on Contract { id name of: vin }
  }
}`;

/** Pages by the first part of their addresses. */
export const places = [
  ['', t('Overview')],
  ['fleets', t('Fleets')],
  ['vehicles', t('Vehicles')],
  ['contracts', t('Contracts')],
  ['attention', t('Attention')],
  ['activity', t('Activity')],
  ['webhooks', t('Webhooks')],
  ['manufacturers', t('Manufacturers')],
];
const newContract = later(async () => (await import('./contract-verbs.js')).newContract);
const newWebhook = later(async () => (await import('./webhook-verbs.js')).newWebhook);
export const newFleet = later(async () => (await import('./fleet-verbs.js')).newFleet);
export const leave = later(async () => (await import('./issuer.js')).leave);
const own = [
  ...places.map(([path, name]) => ({ name, about: t('Page'), href: hrefOf([path]) })),
  { name: t('New fleet'), about: t('Action'), act: newFleet },
  { name: t('New contract'), about: t('Action'), act: newContract },
  { name: t('New webhook'), about: t('Action'), act: newWebhook },
  { name: t('Sign out'), about: t('Action'), act: leave },
];

/** The initial text of the search field; null while the field is closed. */
const sought = signal(/** @type {string | null} */ (null));
export const openFinder = () => (sought.value = '');
const close = () => (sought.value = null);

// The address of a search opens the field; any other page closes it.
effect(() => {
  sought.value = page.value === 'search' ? (route.value.query.text ?? '') : null;
});

onKey('/', openFinder, 'k');

function optionOf({ id, name, vehicleCount, vin, fleet, of }) {
  if (vin) return { href: hrefOf(['vehicles', id]), name: vin, about: fleet.name };
  if (of) return { href: hrefOf(['contracts', id]), name, about: `${t('Contract')} · ${of}` };
  return { href: hrefOf(['fleets', id]), name, about: `${t('Fleet')} · ${counted(vehicleCount, 'vehicle')}` };
}

export const Finder = () =>
  sought.value !== null &&
  html`<${Dialog} key=${sought.value} title="Search" wide close=${close}><${Field} begun=${sought.value} /><//>`;

function Field({ begun }) {
  const [text, setText] = useState(begun);
  const [{ found, error, answered }, setAnswer] = useState(/** @type {any} */ ({ found: [] }));
  const [at, setAt] = useState(0);
  const [entered, setEntered] = useState(false);
  useEffect(() => {
    if (!text.trim()) return setAnswer({ found: [], answered: text });
    const left = new AbortController();
    const look = () =>
      ask(searchQuery, { text, first: 20 }, { signal: left.signal }).then(
        ({ search }) => setAnswer({ found: search.map(optionOf), answered: text }),
        (error) => left.signal.aborted || setAnswer({ found: [], error, answered: text }),
      );
    const timer = setTimeout(look, TYPED_MS);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [text]);
  useEffect(() => document.getElementById(`option-${at}`)?.scrollIntoView({ block: 'nearest' }), [at]);
  const named = ({ name }) => name.toLowerCase().includes(text.trim().toLowerCase());
  const here = [...(text ? [] : recents()), ...own.filter(named)];
  const options = [...here, ...found];
  const choose = ({ href, act = () => go(href) }) => {
    close();
    act();
  };
  // Until the answer to this text arrives, the results of the text before it are shown, and Enter waits.
  const ready = at < here.length || answered === text;
  useEffect(() => void (entered && ready && options[at] && choose(options[at])), [entered, ready]);
  const type = (event) => {
    setText(event.currentTarget.value);
    setAt(0);
    setEntered(false);
  };
  const press = (event) => {
    const { [event.key]: step } = steps;
    if (step) setAt((at + step + options.length) % Math.max(1, options.length));
    else if (event.key === 'Enter') setEntered(true);
    else return;
    event.preventDefault();
  };
  const none = text.trim().length < FEWEST ? tooFew : t('No results');
  return html`<input type="text" role="combobox" aria-label="Search" aria-expanded=${options.length > 0} aria-controls="found" aria-autocomplete="list"
      aria-activedescendant=${options.length > 0 ? `option-${at}` : undefined} placeholder="Name, VIN, page or action …"
      autocomplete="off" spellcheck=${false} value=${text} onInput=${type} onKeyDown=${press} />
    <ul id="found" class="found" role=${options.length > 0 ? 'listbox' : undefined} aria-label="Found">
      ${options.map((one, index) => html`<li key=${one.href ?? one.name} id=${`option-${index}`} role="option" aria-selected=${index === at} onClick=${() => choose(one)}><b>${one.name}</b> <span>${one.about}</span></li>`)}
    </ul>
    <p class="hint" role="status">${error ? explain(error) : ready && options.length === 0 && none}</p>`;
}
