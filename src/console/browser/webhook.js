import { useEffect, useState } from 'preact/hooks';
import { ask } from './api.js';
import { counted, html, t } from './html.js';
import { Listing } from './list.js';
import { Page, Sides } from './page.js';
import { Earlier, Empty, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { go, hrefOf, route } from './router.js';
import { Time } from './time.js';
import { toast } from './toast.js';
import { editWebhook, removeWebhook, rollSecret, sendTest, setState } from './webhook-verbs.js';
import { webhookStates } from './webhooks.js';
import { explain, wireType } from './words.js';

const PAGE = 50;
const back = { href: '#/webhooks', name: t('Webhooks') };
/** Deliveries are no events: they are looked at while some are under way. */
const LOOK_MS = 3_000;

const webhookQuery = `query Webhook($id: ID!, $last: Int, $before: String, $state: DeliveryState) {
  webhook(id: $id) {
    id url description types state reason
    deliveries(last: $last, before: $before, state: $state) {
      totalCount
      pageInfo { hasPreviousPage startCursor }
      nodes { id type state attempts status error answer attemptedAt nextAttemptAt createdAt request { body } }
    }
  }
}`;
const redeliver = `mutation SendAgain($webhookId: ID!, $deliveryId: ID!) {
  redeliver(input: { webhookId: $webhookId, deliveryId: $deliveryId }) { delivery { id state } }
}`;
const states = { SUCCEEDED: t('Delivered'), PENDING: t('Waiting'), FAILED: t('Failed') };
const sides = [
  ['', t('All')],
  ['FAILED', t('Failed')],
  ['PENDING', t('Waiting')],
  ['SUCCEEDED', t('Delivered')],
];

/** A webhook and what was sent to it, the last first. */
export function Webhook({ id }) {
  const { query } = route.value;
  const variables = { id, last: PAGE, before: query.before, state: query.state };
  const { data, error, loading, reload } = useQuery(webhookQuery, variables);
  const webhook = data?.webhook;
  useEffect(() => {
    const timer = setInterval(reload, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  if (error && !webhook) return html`<${Page} title="Webhook" back=${back} error=${error} retry=${reload} />`;
  const about =
    webhook &&
    [webhook.description, webhook.types.length > 0 ? webhook.types.map(wireType).join(', ') : t('All events')]
      .filter(Boolean)
      .join(' · ');
  return html`<${Page} title=${webhook?.url} back=${back} about=${about ?? html`<span class="blank word" />`}
    actions=${webhook && html`<${Verbs} webhook=${webhook} />`}>
    ${webhook?.reason && html`<p class="warning">${webhook.reason}</p>`}
    <${Sides} label="Deliveries" sides=${sides.map(([state, name]) => ({ name, href: hrefOf(['webhooks', id], { state }), here: state === (query.state ?? '') }))} />
    ${webhook ? html`<${Deliveries} webhook=${webhook} loading=${loading} reload=${reload} query=${query} />` : html`<${Waiting} rows=${5} />`}
  <//>`;
}

function Verbs({ webhook }) {
  const { state } = webhook;
  const [name, wanted] = state === 'ACTIVE' ? [t('Pause'), 'PAUSED'] : [t('Activate'), 'ACTIVE'];
  return html`<span class=${`badge ${state.toLowerCase()}`}>${webhookStates[state]}</span>
    <button type="button" onClick=${() => setState(webhook, wanted)}>${name}</button>
    <button type="button" onClick=${() => sendTest(webhook)}>Test</button>
    <button type="button" onClick=${() => editWebhook(webhook)}>Edit</button>
    <button type="button" onClick=${() => rollSecret(webhook)}>New secret</button>
    <button type="button" onClick=${() => removeWebhook(webhook, () => go('#/webhooks'))}>Delete …</button>`;
}

function Deliveries({ webhook, loading, reload, query }) {
  const { totalCount, pageInfo, nodes } = webhook.deliveries;
  if (nodes.length === 0) {
    return query.state
      ? html`<${Empty} title="None is like that" />`
      : html`<${Empty} title="Nothing was sent yet"><p>Deliveries show here as events happen.</p><//>`;
  }
  return html`<${Listing} label="Deliveries"><ul class=${loading ? 'list dim' : 'list'}>
      ${nodes.toReversed().map((one) => html`<${Delivery} key=${one.id} webhookId=${webhook.id} delivery=${one} done=${reload} />`)}
    </ul>
    <${Earlier} info=${pageInfo} parts=${['webhooks', webhook.id]} query=${query}>${counted(totalCount, 'delivery')}<//><//>`;
}

function Delivery({ webhookId, delivery, done }) {
  const { id, type, state, attempts, status, error, answer, attemptedAt, nextAttemptAt, createdAt, request } = delivery;
  const [busy, setBusy] = useState(false);
  const again = async () => {
    setBusy(true);
    await ask(redeliver, { webhookId, deliveryId: id }).then(
      () => toast(t('It is being sent again.')),
      (reason) => toast(explain(reason)),
    );
    setBusy(false);
    done();
  };
  const outcome = [
    status && t('answered {status}', { status }),
    error,
    counted(attempts, 'attempt'),
    state === 'PENDING' && nextAttemptAt && html`next <${Time} at=${nextAttemptAt} />`,
  ].filter(Boolean);
  return html`<li>
    <div class="row apart">
      <div class="grow">
        <p><span class=${`badge ${state.toLowerCase()}`}>${states[state]}</span> <b>${wireType(type)}</b> <span class="dim"><${Time} at=${attemptedAt ?? createdAt} /></span></p>
        <p class="dim">${outcome.map((one, at) => html`${at > 0 && ' · '}${one}`)}</p>
      </div>
      ${state !== 'SUCCEEDED' && html`<button type="button" onClick=${again} disabled=${busy} aria-label=${t('Send again: {type}', { type: wireType(type) })}>Send again</button>`}
    </div>
    ${request && html`<details><summary>What was sent</summary><pre tabindex="0">${pretty(request.body)}</pre>${answer && html`<pre tabindex="0">${answer}</pre>`}</details>`}
  </li>`;
}

function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
