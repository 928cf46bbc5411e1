import { useState } from 'preact/hooks';
import { ask } from './api.js';
import { Dialog, Field, Form } from './dialog.js';
import { html } from './html.js';

const createWebhook = `mutation CreateWebhook($input: CreateWebhookInput!) {
  createWebhook(input: $input) { secret webhook { id } }
}`;

/** Asks for a new webhook, and shows its secret this once. */
export function WebhookForm({ close, done }) {
  const [secret, setSecret] = useState('');
  const send = async ({ url, description }) => {
    const { createWebhook: made } = await ask(createWebhook, { input: { url, ...(description && { description }) } });
    setSecret(made.secret);
    done();
  };
  if (secret) {
    return html`<${Dialog} title="Keep its secret" close=${close}>
      <p>Your receiver verifies signatures with it. It is shown this once.</p>
      <p><code class="secret">${secret}</code></p>
      <div class="row end"><button type="button" class="primary" onClick=${close}>I have kept it</button></div>
    <//>`;
  }
  const fields = (error) => html`<${Field} name="url" label="Address" type="url" error=${error} autocomplete="off"
      placeholder="https://…" hint="Each event is posted there, from now on." />
    <${Field} name="description" label="Description (optional)" error=${error} autocomplete="off" />`;
  return html`<${Dialog} title="New webhook" close=${close}>
    <${Form} verb="Create webhook" send=${send} close=${close} fields=${fields} />
  <//>`;
}
