import { render } from 'preact';
import { Activity } from './activity.js';
import { Attention } from './attention.js';
import { Contract } from './contract.js';
import { Contracts } from './contracts.js';
import { Dialogs } from './dialog.js';
import { Fleet } from './fleet.js';
import { Fleets } from './fleets.js';
import { html } from './html.js';
import { followChanges } from './live.js';
import { Manufacturers } from './manufacturers.js';
import { Overview } from './overview.js';
import { Page } from './page.js';
import { Empty } from './parts.js';
import { route } from './router.js';
import { SearchPage } from './search-page.js';
import { company, token } from './session.js';
import { Shell } from './shell.js';
import { Lapsed, SignIn } from './sign-in.js';
import { Toast } from './toast.js';
import { Vehicle } from './vehicle.js';
import { Vehicles } from './vehicles.js';
import { Webhook } from './webhook.js';
import { Webhooks } from './webhooks.js';

/** By the first part of the address. */
const pages = {
  '': Overview,
  fleets: Fleets,
  vehicles: Vehicles,
  contracts: Contracts,
  attention: Attention,
  activity: Activity,
  webhooks: Webhooks,
  manufacturers: Manufacturers,
  search: SearchPage,
};

/** One of those that a page lists. */
const details = { fleets: Fleet, vehicles: Vehicle, contracts: Contract, webhooks: Webhook };

function Nowhere() {
  return html`<${Page} title="Nothing here">
    <${Empty} title="There is no such page"><p>Go back to <a href="#/">the overview</a>.</p><//>
  <//>`;
}

function pageAt(/** @type {any} */ [name = '', id, side]) {
  const known = id && Object.hasOwn(details, name) ? details : pages;
  const component = Object.hasOwn(known, name) && known[name];
  return component
    ? html`<${component} key=${`${name} ${id}`} id=${id} side=${side} />`
    : html`<${Nowhere} key="nowhere" />`;
}

function App() {
  if (!token.value) return html`<${SignIn} /><${Toast} />`;
  return html`<${Shell} key=${company.value}>${pageAt(route.value.parts)}<//><${Dialogs} /><${Lapsed} /><${Toast} />`;
}

// A file that misses its place must not take the page away.
for (const event of ['dragover', 'drop']) addEventListener(event, (dropped) => dropped.preventDefault());
followChanges();
render(html`<${App} />`, document.body);
