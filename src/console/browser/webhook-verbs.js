import { ask } from './api.js';
import { Copyable } from './copy.js';
import { attempt, openDialog } from './dialog.js';
import { eventTypes } from './event-types.js';
import { changesOf } from './field.js';
import { html } from './html.js';
import { changed } from './query.js';
import { toast } from './toast.js';

const createWebhook = `mutation CreateWebhook($input: CreateWebhookInput!) {
  createWebhook(input: $input) { secret webhook { id } }
}`;
const updateWebhook = `mutation UpdateWebhook($input: UpdateWebhookInput!) {
  updateWebhook(input: $input) { webhook { id url description types state reason } }
}`;
const rotateSecret = `mutation RotateSecret($id: ID!) {
  rotateWebhookSecret(input: { id: $id }) { secret webhook { id oldSecretUntil } }
}`;
const testWebhook = `mutation TestWebhook($id: ID!) {
  testWebhook(input: { id: $id }) { delivery { id } }
}`;
const deleteWebhook = `mutation DeleteWebhook($id: ID!) {
  deleteWebhook(input: { id: $id }) { webhook { id } }
}`;

const fieldsOf = ({ url, description, types } = {}) => [
  {
    name: 'url',
    label: 'Address',
    type: 'url',
    value: url,
    placeholder: 'https://…',
    hint: 'Each event is posted there, from now on.',
  },
  { name: 'description', label: 'Description (optional)', value: description },
  {
    name: 'types',
    label: 'Events (none ticked: all)',
    type: 'checks',
    options: Object.entries(eventTypes),
    value: types,
  },
];

/** The secret takes the place of the form that asked for it. */
const secretShown = (secret) => ({
  title: 'Keep its secret',
  verb: 'I have kept it',
  body: html`<p>Your receiver verifies signatures with it. It is shown this once.</p><${Copyable} text=${secret} />`,
});

/** Asks for a new webhook, and shows its secret. */
export const newWebhook = () =>
  openDialog({
    title: 'New webhook',
    fields: fieldsOf(),
    verb: 'Create webhook',
    send: async (input, run) => secretShown((await run(createWebhook, { input })).createWebhook.secret),
  });

/** Asks what is to be changed of a webhook, and sends that alone. */
export const editWebhook = (webhook) =>
  openDialog({
    title: 'Edit webhook',
    fields: fieldsOf(webhook),
    verb: 'Save',
    send: async (values, run) => {
      const order = Object.keys(eventTypes);
      const before = { ...webhook, types: order.filter((type) => webhook.types.includes(type)) };
      const changes = changesOf(values, before);
      if (Object.keys(changes).length === 0) return 'Nothing was changed.';
      await run(updateWebhook, { input: { id: webhook.id, ...changes } });
      return 'Saved.';
    },
  });

/** Asks whether a webhook is to have another secret, and shows it. */
export const rollSecret = ({ id }) =>
  openDialog({
    title: 'Give it a new secret?',
    about: 'For 24 hours the old one signs, too, so that your receiver can change over.',
    verb: 'Make a new secret',
    send: async (_, run) => secretShown((await run(rotateSecret, { id })).rotateWebhookSecret.secret),
  });

/** Asks whether a webhook is to be deleted; `done` is called when it is. */
export const removeWebhook = ({ id, url }, done) =>
  openDialog({
    title: 'Delete this webhook?',
    about: `${url} is told of nothing any more, and its deliveries are deleted. This cannot be undone.`,
    verb: 'Delete',
    danger: true,
    send: async (_, run) => {
      await run(deleteWebhook, { id });
      done();
      return 'The webhook is deleted.';
    },
  });

export const setState = ({ id }, state) =>
  attempt(async () => changed(await ask(updateWebhook, { input: { id, state } })))();

/** Sends an event that only says that it is a test. */
export const sendTest = ({ id }) =>
  attempt(async () => {
    changed(await ask(testWebhook, { id }));
    toast('A test is on its way.');
  })();
