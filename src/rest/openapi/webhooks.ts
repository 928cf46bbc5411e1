import { z } from 'zod';
import { delivery } from '../../core/webhooks/deliveries.ts';
import { createWebhookInput, updateWebhookInput, webhook, webhookWithSecret } from '../../core/webhooks/webhook.ts';
import type { RouteDocs } from './route-docs.ts';

const withSecret = webhook
  .extend({ secret: webhookWithSecret.shape.secret })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with its signing secret.' });

const scope =
  'Where scopes are in use, it also needs `contracts:read` if events of contracts go there, or wait to be sent there.';
const errors = ['WEBHOOK_NOT_FOUND'] as const;
const one = { 200: { description: 'The webhook.', schema: webhook } };

export const webhookDocs = {
  create: {
    operationId: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Create a webhook',
    description: `Posts the company’s events to an address from now on, at least once each, signed as Standard Webhooks says. Only 2xx is success; what fails is tried ten times in three and a half days. ${scope}`,
    body: { input: createWebhookInput },
    answers: {
      201: { description: 'The webhook, with its secret.', schema: withSecret, headers: ['Location'] },
    },
    errors,
  },
  list: {
    operationId: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List webhooks',
    description: 'The webhooks of the company, oldest first.',
    query: ['limit', 'after'],
    answers: { 200: { description: 'The webhooks.', schema: z.array(webhook), headers: ['Link'] } },
  },
  get: {
    operationId: 'getWebhook',
    etag: true,
    tag: 'Webhooks',
    summary: 'Get a webhook',
    description: 'One webhook; its secret is not shown again.',
    answers: one,
    errors,
  },
  update: {
    operationId: 'updateWebhook',
    etag: true,
    tag: 'Webhooks',
    summary: 'Change, pause or activate a webhook',
    description: `Changes what is named. \`state\` \`PAUSED\` lets events wait, \`ACTIVE\` sends what has waited. ${scope}`,
    body: { input: updateWebhookInput.omit({ id: true }) },
    answers: one,
    errors,
  },
  delete: {
    operationId: 'deleteWebhook',
    etag: true,
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'Deletes a webhook with its deliveries; what is under way may still arrive.',
    answers: { 200: { description: 'The webhook as it was.', schema: webhook } },
    errors,
  },
  rotate: {
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Get a new secret',
    description: `Gives the webhook a new secret. For 24 hours the old one signs, too. ${scope}`,
    answers: { 200: { description: 'The webhook, with its new secret.', schema: withSecret } },
    errors,
  },
  test: {
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a test event',
    description: 'Sends an event of type `webhook.test`, once, whatever the types and the state of the webhook.',
    answers: { 202: { description: 'The delivery, on its way.', schema: delivery } },
    errors,
  },
  deliveries: {
    operationId: 'listDeliveries',
    tag: 'Webhooks',
    summary: 'List deliveries',
    description:
      'The deliveries of a webhook, oldest first. Finished ones are kept for 30 days. Where scopes are in use, those of ' +
      'events of contracts need `contracts:read`.',
    query: ['deliveryState', 'limit', 'after'],
    answers: { 200: { description: 'The deliveries.', schema: z.array(delivery), headers: ['Link'] } },
    errors,
  },
  redeliver: {
    operationId: 'redeliver',
    tag: 'Webhooks',
    summary: 'Send a delivery again',
    description:
      'Sends it at once, with the same id and body, whatever the state of the webhook. One that had ended gets one more ' +
      'attempt. Where scopes are in use, an event of a contract needs `contracts:read`.',
    answers: { 202: { description: 'The delivery, on its way.', schema: delivery } },
    errors: [...errors, 'NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
