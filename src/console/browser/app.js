import { render } from 'preact';
import { Dialogs } from './dialog.js';
import { Finder } from './finder.js';
import { html } from './html.js';
import { followChanges } from './live.js';
import { Empty, Later, Page } from './parts.js';
import { route } from './router.js';
import { company, lapsed, settings, token } from './session.js';
import { Shell } from './shell.js';
import { Toast } from './toast.js';

const overview = [() => import('./overview.js'), (all) => all.Overview];
/** Each first address part: a module, loaded at its first use, its page, that of one item, and the sides of the latter. */
const pages = {
  '': overview,
  fleets: [() => import('./fleets.js'), (all) => all.Fleets, (all) => all.Fleet, ['uploads', 'activity', 'contracts']],
  vehicles: [() => import('./vehicles.js'), (all) => all.Vehicles, (all) => all.Vehicle],
  contracts: [() => import('./contracts.js'), (all) => all.Contracts, (all) => all.Contract],
  attention: [() => import('./attention.js'), (all) => all.Attention],
  activity: [() => import('./activity.js'), (all) => all.Activity],
  webhooks: [() => import('./webhooks.js'), (all) => all.Webhooks, (all) => all.Webhook],
  manufacturers: [() => import('./manufacturers.js'), (all) => all.Manufacturers],
  search: overview,
};
const signIn = () => import('./sign-in.js');

const nowhere = html`<${Page} key="nowhere" title="Page not found">
  <${Empty} title="This page does not exist"><p>Go back to <a href="#/">the overview</a>.</p><//>
<//>`;

function pageAt(/** @type {any} */ [name = '', id, side, ...more]) {
  if (!Object.hasOwn(pages, name)) return nowhere;
  const [load, list, detail, sides = []] = pages[name];
  if ((id && !detail) || (side && !sides.includes(side)) || more.length > 0) return nowhere;
  return html`<${Later} key=${`${name} ${id}`} load=${load} of=${id ? detail : list} id=${id} side=${side} />`;
}

function App() {
  if (!token.value) return html`<${Later} key="door" load=${signIn} of=${(all) => all.SignIn} /><${Toast} />`;
  return html`<${Shell} key=${company.value}>${pageAt(route.value.parts)}<//><${Dialogs} /><${Finder} />${lapsed.value && html`<${Later} key="lapsed" load=${signIn} of=${(all) => all.Lapsed} />`}<${Toast} />`;
}

// A file dropped beside the drop zone must not replace the page.
for (const event of ['dragover', 'drop']) addEventListener(event, (dropped) => dropped.preventDefault());
followChanges();
// It may have been called back by the identity provider.
if (settings.client) await import('./issuer.js');
render(html`<${App} />`, document.body);
