import { readPage } from '../../core/sql/page.ts';
import {
  countDeliveries,
  type Delivery,
  listDeliveries,
  redeliver,
  testWebhook,
} from '../../core/webhooks/deliveries.ts';
import {
  countWebhooks,
  createWebhook,
  createWebhookInput,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
  updateWebhookInput,
  type Webhook,
  type WebhookWithSecret,
  webhookStates,
} from '../../core/webhooks/webhooks.ts';
import { itemsOf } from '../execution/selection.ts';
import { builder } from './builder.ts';
import { connect, connectionType, pageArgs } from './connection.ts';
import { DeliveryConnection, DeliveryRef, DeliveryState } from './deliveries.ts';
import { mutate } from './mutation.ts';
import { judgedBy } from './validation.ts';

const stateMeanings = {
  ACTIVE: 'Events are sent to it.',
  PAUSED: 'Its events wait for it.',
  DISABLED: 'The receiver answered 410; its events wait for it, too.',
};
const WebhookState = builder.enumType('WebhookState', {
  description: 'Whether a webhook gets its events.',
  values: Object.fromEntries(webhookStates.map((state) => [state, { description: stateMeanings[state] }])) as Record<
    (typeof webhookStates)[number],
    { description: string }
  >,
});

const WebhookRef = builder.objectRef<Webhook>('Webhook');

builder.objectType(WebhookRef, {
  description: 'An address that events are posted to, signed as Standard Webhooks says.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUID; the same as in REST.' }),
    url: t.exposeString('url', { description: 'The address.' }),
    description: t.exposeString('description', { description: 'Whatever helps to tell it from others.' }),
    types: t.exposeStringList('types', { description: 'The types of events it gets; empty for all.' }),
    state: t.expose('state', { type: WebhookState, description: 'Whether it gets them.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it was paused or disabled by itself.' }),
    oldSecretUntil: t.expose('oldSecretUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Until then, the secret before this one signs, too.',
    }),
    deliveries: t.field({
      type: DeliveryConnection,
      description:
        'Its deliveries, oldest first: those of events that the token may read. Finished ones are kept for 30 days.',
      args: { ...pageArgs, state: t.arg({ type: DeliveryState, description: 'Only those in this state.' }) },
      resolve({ id }, { state, ...args }, { ctx }, info) {
        const requests = 'request' in itemsOf<Delivery>(info, { every: { request: true } });
        return connect(
          readPage(args),
          (page) => listDeliveries(ctx, { webhookId: id, page, state, requests }),
          () => countDeliveries(ctx, { webhookId: id, state }),
        );
      },
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
});

const WebhookConnection = connectionType('Webhook', WebhookRef);

builder.queryField('webhooks', (t) =>
  t.field({
    type: WebhookConnection,
    description: 'The webhooks of the company, oldest first.',
    args: pageArgs,
    resolve: (_root, args, { ctx }) =>
      connect(
        readPage(args),
        (page) => listWebhooks(ctx, { page }),
        () => countWebhooks(ctx),
      ),
  }),
);

builder.queryField('webhook', (t) =>
  t.field({
    type: WebhookRef,
    nullable: true,
    description: 'One webhook. Errors: WEBHOOK_NOT_FOUND.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (_root, { id }, { ctx }) => getWebhook(ctx, { id }),
  }),
);

const url = 'Where events are posted to: https, on the public internet, without credentials.';
const types = 'The types of events it gets; empty for all.';
const description = 'Whatever helps to tell it from others: at most 255 characters.';

const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
  description: 'A new webhook.',
  fields: (t) => ({
    url: t.string({ required: true, description: url }),
    description: t.string({ description }),
    types: t.stringList({ description: types }),
  }),
});

const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
  description: 'What to change of a webhook: at least one field beside its id.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Which webhook.' }),
    url: t.string({ description: url }),
    description: t.string({ description }),
    types: t.stringList({ description: types }),
    state: t.field({ type: WebhookState, description: 'PAUSED lets events wait, ACTIVE sends what has waited.' }),
  }),
});

/** The input of a mutation that needs no more than to know which webhook. */
const inputOf = (mutation: string) =>
  builder.inputType(`${mutation}Input`, {
    description: 'Names a webhook.',
    fields: (t) => ({ id: t.id({ required: true, description: 'Its id.' }) }),
  });

const RedeliverInput = builder.inputType('RedeliverInput', {
  description: 'Names a delivery.',
  fields: (t) => ({
    webhookId: t.id({ required: true, description: 'The webhook.' }),
    deliveryId: t.id({ required: true, description: 'The delivery.' }),
  }),
});

const webhookField = { type: WebhookRef, description: 'The webhook.' } as const;

const payloadOf = (mutation: string, description: string) =>
  builder.objectRef<{ webhook: Webhook }>(`${mutation}Payload`).implement({
    description,
    fields: (t) => ({ webhook: t.expose('webhook', webhookField) }),
  });

const secretPayloadOf = (mutation: string) =>
  builder.objectRef<WebhookWithSecret>(`${mutation}Payload`).implement({
    description: 'A webhook and its new secret.',
    fields: (t) => ({
      webhook: t.expose('webhook', webhookField),
      secret: t.exposeString('secret', {
        description: 'Verifies signatures. Shown this once; repeated with its Idempotency-Key: as it is by then.',
      }),
    }),
  });

const deliveryPayloadOf = (mutation: string) =>
  builder.objectRef<{ delivery: Delivery }>(`${mutation}Payload`).implement({
    description: 'A delivery on its way.',
    fields: (t) => ({ delivery: t.expose('delivery', { type: DeliveryRef, description: 'The delivery.' }) }),
  });

builder.mutationFields((t) => ({
  createWebhook: t.field({
    type: secretPayloadOf('CreateWebhook'),
    nullable: true,
    description: 'Has the company’s events posted to an address from now on. Errors: VALIDATION_FAILED.',
    args: {
      input: t.arg({
        type: CreateWebhookInput,
        required: true,
        description: 'What it is like.',
        validate: judgedBy(createWebhookInput),
      }),
    },
    resolve: mutate(createWebhook),
  }),
  updateWebhook: t.field({
    type: payloadOf('UpdateWebhook', 'The webhook as it is now.'),
    nullable: true,
    description:
      'Changes, pauses or activates a webhook. Errors: WEBHOOK_NOT_FOUND, VALIDATION_FAILED, FORBIDDEN (events of contracts go there, and the token may not read them).',
    args: {
      input: t.arg({
        type: UpdateWebhookInput,
        required: true,
        description: 'What to change.',
        validate: judgedBy(updateWebhookInput),
      }),
    },
    resolve: mutate(async (ctx, input) => ({ webhook: await updateWebhook(ctx, input) })),
  }),
  deleteWebhook: t.field({
    type: payloadOf('DeleteWebhook', 'The webhook as it was.'),
    nullable: true,
    description: 'Deletes a webhook with its deliveries. Errors: WEBHOOK_NOT_FOUND.',
    args: { input: t.arg({ type: inputOf('DeleteWebhook'), required: true, description: 'Which one.' }) },
    resolve: mutate(async (ctx, input) => ({ webhook: await deleteWebhook(ctx, input) })),
  }),
  rotateWebhookSecret: t.field({
    type: secretPayloadOf('RotateWebhookSecret'),
    nullable: true,
    description: 'Gives a webhook a new secret; for 24 hours the old one signs, too. Errors: WEBHOOK_NOT_FOUND.',
    args: { input: t.arg({ type: inputOf('RotateWebhookSecret'), required: true, description: 'Which one.' }) },
    resolve: mutate(rotateWebhookSecret),
  }),
  testWebhook: t.field({
    type: deliveryPayloadOf('TestWebhook'),
    nullable: true,
    description: 'Sends an event of type `webhook.test`, once, in any state of the webhook. Errors: WEBHOOK_NOT_FOUND.',
    args: { input: t.arg({ type: inputOf('TestWebhook'), required: true, description: 'Which one.' }) },
    resolve: mutate(async (ctx, input) => ({ delivery: await testWebhook(ctx, input) })),
  }),
  redeliver: t.field({
    type: deliveryPayloadOf('Redeliver'),
    nullable: true,
    description:
      'Sends a delivery again, at once, with the same id and body, in any state of the webhook. Errors: WEBHOOK_NOT_FOUND, NOT_FOUND.',
    args: { input: t.arg({ type: RedeliverInput, required: true, description: 'Which one.' }) },
    resolve: mutate(async (ctx, input) => ({ delivery: await redeliver(ctx, input) })),
  }),
}));
