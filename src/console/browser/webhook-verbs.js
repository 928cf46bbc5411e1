import { attempt, openDialog, openEditor } from './dialog.js';
import { html, t } from './html.js';
import { carryOut } from './query.js';
import { toast } from './toast.js';
import { eventTypes } from './words.js';

const createWebhook =
  'mutation CreateWebhook($input: CreateWebhookInput!) { createWebhook(input: $input) { secret webhook { id } } }';
const updateWebhook = `mutation UpdateWebhook($input: UpdateWebhookInput!) {
  updateWebhook(input: $input) { webhook { id url description types state reason } }
}`;
const rotateSecret = `mutation RotateSecret($id: ID!) {
  rotateWebhookSecret(input: { id: $id }) { secret webhook { id oldSecretUntil } }
}`;
const testWebhook = 'mutation TestWebhook($id: ID!) { testWebhook(input: { id: $id }) { delivery { id } } }';
const deleteWebhook = 'mutation DeleteWebhook($id: ID!) { deleteWebhook(input: { id: $id }) { webhook { id } } }';
const hint = t('Events are sent to this address from now on.');
const events = Object.entries(eventTypes);
const fieldsOf = (/** @type {any} */ { url, description, types } = {}) => [
  { name: 'url', label: t('Address'), type: 'url', value: url, placeholder: 'https://…', hint, required: true },
  { name: 'description', label: t('Description (optional)'), value: description },
  { name: 'types', label: t('Events (none selected: all)'), type: 'checks', options: events, value: types },
];

/** Shows a secret in place of the form that asked for it. */
const secretShown = (secret) => ({
  title: t('Save the secret'),
  verb: t('I have saved it'),
  body: html`<p>Your server verifies signatures with it. It is shown only once.</p><${Copyable} text=${secret} />`,
});

export const newWebhook = () =>
  openDialog({
    title: t('New webhook'),
    fields: fieldsOf(),
    verb: t('Create webhook'),
    send: async (input, run) => secretShown((await run(createWebhook, { input })).createWebhook.secret),
  });

export function editWebhook(webhook) {
  const types = Object.keys(eventTypes).filter((type) => webhook.types.includes(type));
  openEditor(t('Edit webhook'), fieldsOf(webhook), { ...webhook, types }, updateWebhook);
}

export const rollSecret = ({ id }) =>
  openDialog({
    title: t('Create a new secret?'),
    about: t('The old secret stays valid for 24 hours, so that you can update your server.'),
    verb: t('Create new secret'),
    send: async (_, run) => secretShown((await run(rotateSecret, { id })).rotateWebhookSecret.secret),
  });

export const removeWebhook = ({ id, url }, done) =>
  openDialog({
    title: t('Delete this webhook?'),
    about: t('{url} will get no more events, and its deliveries are deleted. This cannot be undone.', { url }),
    verb: t('Delete'),
    danger: true,
    send: async (_, run) => {
      await run(deleteWebhook, { id });
      done();
      return t('Webhook deleted.');
    },
  });

export const setState = ({ id }, state) => attempt(() => carryOut(updateWebhook, { input: { id, state } }))();

export const sendTest = ({ id }) =>
  attempt(async () => {
    await carryOut(testWebhook, { id });
    toast(t('Test event sent.'));
  })();

/** A text with a copy button; browsers offer the clipboard over https and on localhost only. */
const Copyable = ({ text }) => html`<div class="copyable">
  <code class="secret" tabindex="0">${text}</code>
  ${navigator.clipboard && html`<button type="button" onClick=${() => copy(text)}>Copy</button>`}
</div>`;

const copy = (text) =>
  navigator.clipboard.writeText(text).then(
    () => toast(t('Copied.')),
    () => toast(t('Your browser does not allow it. Select the text and copy it.')),
  );
