import { render } from 'preact';
import { Activity } from './activity.js';
import { Attention } from './attention.js';
import { Contract, Contracts } from './contracts.js';
import { Dialogs } from './dialog.js';
import { Finder } from './finder.js';
import { Fleet, Fleets } from './fleets.js';
import { html } from './html.js';
import { followChanges } from './live.js';
import { Manufacturers } from './manufacturers.js';
import { Overview } from './overview.js';
import { Empty, Page } from './parts.js';
import { route } from './router.js';
import { company, token } from './session.js';
import { Shell } from './shell.js';
import { Lapsed, SignIn } from './sign-in.js';
import { Toast } from './toast.js';
import { Vehicle, Vehicles } from './vehicles.js';
import { Webhook, Webhooks } from './webhooks.js';

/** The page of each first address part, and the page of one of its items. */
const pages = {
  '': [Overview],
  fleets: [Fleets, Fleet],
  vehicles: [Vehicles, Vehicle],
  contracts: [Contracts, Contract],
  attention: [Attention],
  activity: [Activity],
  webhooks: [Webhooks, Webhook],
  manufacturers: [Manufacturers],
  search: [Overview],
};

function Nowhere() {
  return html`<${Page} title="Nothing here">
    <${Empty} title="There is no such page"><p>Go back to <a href="#/">the overview</a>.</p><//>
  <//>`;
}

function pageAt(/** @type {any} */ [name = '', id, side]) {
  const [list, detail = list] = Object.hasOwn(pages, name) ? pages[name] : [];
  const component = id ? detail : list;
  return component
    ? html`<${component} key=${`${name} ${id}`} id=${id} side=${side} />`
    : html`<${Nowhere} key="nowhere" />`;
}

function App() {
  if (!token.value) return html`<${SignIn} /><${Toast} />`;
  return html`<${Shell} key=${company.value}>${pageAt(route.value.parts)}<//><${Dialogs} /><${Finder} /><${Lapsed} /><${Toast} />`;
}

// A file dropped beside the drop zone must not replace the page.
for (const event of ['dragover', 'drop']) addEventListener(event, (dropped) => dropped.preventDefault());
followChanges();
render(html`<${App} />`, document.body);
