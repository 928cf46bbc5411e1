import { counted, html, t } from './html.js';
import { Page } from './page.js';
import { Empty, Failure, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf } from './router.js';
import { newWebhook } from './webhook-verbs.js';

const webhooksQuery = `{
  webhooks(first: 100) {
    nodes {
      id url description types state reason
      failed: deliveries(state: FAILED, first: 1) { totalCount }
      pending: deliveries(state: PENDING, first: 1) { totalCount }
    }
  }
}`;

export const webhookStates = { ACTIVE: t('Active'), PAUSED: t('Paused'), DISABLED: t('Disabled') };

/** The addresses that events are sent to. */
export function Webhooks() {
  const { data, error, reload } = useQuery(webhooksQuery, {});
  const webhooks = data?.webhooks.nodes;
  return html`<${Page} title="Webhooks" about="Addresses of yours that are told of every change."
    actions=${html`<button type="button" class="primary" onClick=${newWebhook}>New webhook</button>`}>
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!webhooks && !error && html`<${Waiting} rows=${3} kind="line" />`}
    ${
      webhooks?.length === 0 &&
      html`<${Empty} title="No webhooks yet">
        <p>A webhook sends each event to an address of yours, signed, and tries again where that fails.</p>
        <button type="button" class="primary" onClick=${newWebhook}>Add your first webhook</button>
      <//>`
    }
    ${webhooks?.length > 0 && html`<ul class="list">${webhooks.map((one) => html`<${Row} key=${one.id} ...${one} />`)}</ul>`}
  <//>`;
}

function Row({ id, url, description, types, state, reason, failed, pending }) {
  const about = [description, types.length > 0 ? counted(types.length, 'type of event') : t('All events')];
  return html`<li class="row apart">
    <div class="grow">
      <p class="address"><a href=${hrefOf(['webhooks', id])}>${url}</a></p>
      <p class="dim">${about.filter(Boolean).join(' · ')}</p>
      ${reason && html`<p class="dim">${reason}</p>`}
    </div>
    <p class="tallies">
      ${failed.totalCount > 0 && html`<span class="badge failed">${failed.totalCount} failed</span>`}
      ${pending.totalCount > 0 && html`<span class="badge pending">${pending.totalCount} waiting</span>`}
      <span class=${`badge ${state.toLowerCase()}`}>${webhookStates[state]}</span>
    </p>
  </li>`;
}
