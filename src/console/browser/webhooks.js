import { useEffect } from 'preact/hooks';
import { said } from './codes.js';
import { attempt } from './dialog.js';
import { counted, html, t } from './html.js';
import { Earlier, Empty, Page, Sides, Time, Waiting } from './parts.js';
import { carryOut, useQuery } from './query.js';
import { go, hrefOf, route } from './router.js';
import { Listing } from './search.js';
import { readJson } from './session.js';
import { toast } from './toast.js';
import { editWebhook, newWebhook, removeWebhook, rollSecret, sendTest, setState } from './webhook-verbs.js';
import { eventTypes, known } from './words.js';

const webhooksQuery = `{
  webhooks(first: 100) {
    nodes {
      id url description types state reason
      failed: deliveries(state: FAILED, first: 1) { totalCount }
      pending: deliveries(state: PENDING, first: 1) { totalCount }
      delivered: deliveries(state: SUCCEEDED, first: 1) { totalCount }
    }
  }
}`;

const webhookStates = { ACTIVE: t('Active'), PAUSED: t('Paused'), DISABLED: t('Disabled') };

/** The state of a webhook; one is not shown as working whose receiver has never answered. */
function StateBadge({ webhook: { state, failed, pending, delivered } }) {
  const unheard = state === 'ACTIVE' && !delivered.totalCount && failed.totalCount + pending.totalCount > 0;
  return html`<span class=${`badge ${unheard ? 'pending' : state.toLowerCase()}`}>${unheard ? t('No answer yet') : webhookStates[state]}</span>`;
}

export function Webhooks() {
  const asked = useQuery(webhooksQuery, {});
  const webhooks = asked.data?.webhooks.nodes;
  return html`<${Page} title="Webhooks" asked=${asked} about="Send events to your own servers."
    actions=${html`<button type="button" class="primary" onClick=${newWebhook}>New webhook</button>`}>
    ${!webhooks && html`<${Waiting} rows=${3} />`}
    ${webhooks?.length === 0 && html`<${Empty} title="No webhooks yet"><p>A webhook sends signed events to your server, and tries again if a delivery fails.</p><button type="button" class="primary" onClick=${newWebhook}>Add your first webhook</button><//>`}
    ${webhooks?.length > 0 && html`<ul class="list">${webhooks.map((one) => html`<${Row} key=${one.id} webhook=${one} />`)}</ul>`}
  <//>`;
}

const typeName = (type) => eventTypes[type] ?? (type === 'WEBHOOK_TEST' ? t('Webhook tested') : type);
const aboutOf = ({ description, types }, typesOf) =>
  [description, types.length > 0 ? typesOf(types) : t('All events')].filter(Boolean).join(' · ');

function Row({ webhook }) {
  const { id, url, reason, failed, pending } = webhook;
  const about = aboutOf(webhook, ({ length }) => counted(length, 'type of event'));
  return html`<li class="row apart">
    <div class="grow">
      <p class="address"><a href=${hrefOf(['webhooks', id])}>${url}</a></p>
      <p class="dim">${about}</p>
      ${reason && html`<p class="dim" lang="en">${reason}</p>`}
    </div>
    <p class="row">
      ${failed.totalCount > 0 && html`<span class="badge failed">${failed.totalCount} failed</span>`}
      ${pending.totalCount > 0 && html`<span class="badge pending">${pending.totalCount} pending</span>`}
      <${StateBadge} webhook=${webhook} />
    </p>
  </li>`;
}

const PAGE = 50;
const back = { href: '#/webhooks', name: t('Webhooks') };
/** Deliveries raise no events, so the page polls them. */
const LOOK_MS = 3_000;

const webhookQuery = `query Webhook($id: ID!, $last: Int, $before: String, $state: DeliveryState) {
  webhook(id: $id) {
    id url description types state reason reasonCode
    failed: deliveries(state: FAILED, first: 1) { totalCount }
    pending: deliveries(state: PENDING, first: 1) { totalCount }
    delivered: deliveries(state: SUCCEEDED, first: 1) { totalCount }
    deliveries(last: $last, before: $before, state: $state) {
      totalCount totalCountIsExact
      pageInfo { hasPreviousPage startCursor }
      nodes { id type state attempts status error errorCode answer attemptedAt nextAttemptAt createdAt request { body } }
    }
  }
}`;
const redeliver = `mutation SendAgain($webhookId: ID!, $deliveryId: ID!) {
  redeliverWebhookDelivery(input: { webhookId: $webhookId, deliveryId: $deliveryId }) { delivery { id state } }
}`;
const states = { FAILED: t('Failed'), PENDING: t('Pending'), SUCCEEDED: t('Delivered') };
const sides = [['', t('All')], ...Object.entries(states)];

export function Webhook({ id }) {
  const { query } = route.value;
  const variables = { id, last: PAGE, before: query.before, state: known(states, query.state) || undefined };
  const asked = useQuery(webhookQuery, variables);
  const { loading, reload } = asked;
  const webhook = asked.data?.webhook;
  useEffect(() => {
    const timer = setInterval(reload, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const about = webhook && aboutOf(webhook, (types) => types.map(typeName).join(', '));
  return html`<${Page} label="Webhook" asked=${asked} title=${webhook?.url} back=${back} about=${about}
    actions=${webhook && html`<${Verbs} webhook=${webhook} />`}>
    ${webhook?.reason && html`<p class="warning">${said({ code: webhook.reasonCode, message: webhook.reason })}</p>`}
    <${Sides} label="Deliveries" sides=${sides} present=${query.state} hrefFor=${(state) => hrefOf(['webhooks', id], { state })} />
    ${webhook ? html`<${Deliveries} webhook=${webhook} loading=${loading} reload=${reload} query=${query} />` : html`<${Waiting} rows=${5} />`}
  <//>`;
}

function Verbs({ webhook }) {
  const { state } = webhook;
  const [name, wanted] = state === 'ACTIVE' ? [t('Pause'), 'PAUSED'] : [t('Activate'), 'ACTIVE'];
  return html`<${StateBadge} webhook=${webhook} />
    <button type="button" onClick=${() => setState(webhook, wanted)}>${name}</button>
    <button type="button" onClick=${() => sendTest(webhook)}>Test</button>
    <button type="button" onClick=${() => editWebhook(webhook)}>Edit</button>
    <button type="button" onClick=${() => rollSecret(webhook)}>New secret</button>
    <button type="button" onClick=${() => removeWebhook(webhook, () => go('#/webhooks'))}>Delete …</button>`;
}

function Deliveries({ webhook, loading, reload, query }) {
  const { totalCount, totalCountIsExact, pageInfo, nodes } = webhook.deliveries;
  if (nodes.length === 0) {
    return query.state
      ? html`<${Empty} title="No matching deliveries" />`
      : html`<${Empty} title="No deliveries yet"><p>Deliveries appear here as events happen.</p><//>`;
  }
  return html`<${Listing} label="Deliveries"><ul class=${loading ? 'list dim' : 'list'}>
      ${nodes.toReversed().map((one) => html`<${Delivery} key=${one.id} webhookId=${webhook.id} delivery=${one} done=${reload} />`)}
    </ul>
    <${Earlier} info=${pageInfo} parts=${['webhooks', webhook.id]} query=${query}>${counted(totalCount, 'delivery', totalCountIsExact)}<//><//>`;
}

function Delivery({ webhookId, delivery, done }) {
  const { id, type, state, attempts, status, answer, attemptedAt, nextAttemptAt, createdAt, request } = delivery;
  const again = attempt(async () => {
    await carryOut(redeliver, { webhookId, deliveryId: id });
    toast(t('Sending again.'));
    done();
  });
  const outcome = [
    status && t('response {status}', { status }),
    delivery.error && said({ code: delivery.errorCode, message: delivery.error }),
    counted(attempts, 'attempt'),
    state === 'PENDING' && nextAttemptAt && html`next <${Time} at=${nextAttemptAt} />`,
  ].filter(Boolean);
  return html`<li>
    <div class="row apart">
      <div class="grow">
        <p><span class=${`badge ${state.toLowerCase()}`}>${states[state]}</span> <b>${typeName(type)}</b> <span class="dim"><${Time} at=${attemptedAt ?? createdAt} /></span></p>
        <p class="dim">${outcome.map((one, at) => html`${at > 0 && ' · '}${one}`)}</p>
      </div>
      ${state !== 'SUCCEEDED' && html`<button type="button" onClick=${again} aria-label=${t('Send again: {type}', { type: typeName(type) })}>Send again</button>`}
    </div>
    ${request && html`<details><summary>Sent request</summary><pre tabindex="0">${JSON.stringify(readJson(request.body), null, 2)}</pre>${answer && html`<pre tabindex="0">${answer}</pre>`}</details>`}
  </li>`;
}
