import { eligibilityChanges } from '../../core/following/subscriptions.ts';
import { requestVerification, requestVerificationInput } from '../../core/vehicles/eligibility.ts';
import { type Eligibility, type EligibilityStatus, getEligibility } from '../../core/vehicles/vehicles.ts';
import type { Cost } from '../execution/cost.ts';
import { builder } from './builder.ts';
import { ManufacturerRef, manufacturerOf } from './manufacturers.ts';
import { mutate } from './mutation.ts';
import { judgedBy } from './validation.ts';

export const EligibilityStatusType = builder.enumType('EligibilityStatus', {
  description: 'How far the verification of a vehicle has come.',
  values: {
    PENDING: { description: 'No answer yet. It is asked for in the background, again and again where need be.' },
    ELIGIBLE: { description: 'The manufacturer can deliver data of this vehicle.' },
    INELIGIBLE: { description: 'The manufacturer cannot deliver data of this vehicle.' },
    UNSUPPORTED: { description: 'No configured provider answers for the manufacturer, so nobody can be asked.' },
    FAILED: {
      description:
        'There is no answer and there will be none until somebody acts; `reason` says who. It is not tried again before its re-check.',
    },
  },
});

const DataDelivery = builder.enumType('DataDelivery', {
  description: 'How data of a vehicle can be had.',
  values: {
    PULL: { description: 'The data is fetched.' },
    PUSH: { description: 'The data is sent as it comes up.' },
  },
});

const ConnectivityStatus = builder.enumType('ConnectivityStatus', {
  description: 'Whether the vehicle is connected, as its manufacturer says.',
  values: {
    ACTIVATED: { description: 'Connected.' },
    DEACTIVATED: { description: 'Not connected; it may be activated.' },
    UNKNOWN: { description: 'The manufacturer does not know.' },
  },
});

const Actor = builder.enumType('Actor', {
  description: 'Who must act for a verification to succeed.',
  values: {
    CUSTOMER: { description: 'The owner of the fleet.' },
    MANUFACTURER: { description: 'The manufacturer, or its provider.' },
    OPERATOR: { description: 'Who runs this gateway.' },
  },
});

const EligibilityReason = builder.objectRef<NonNullable<Eligibility['reason']>>('EligibilityReason').implement({
  description: 'Why a vehicle is not eligible, or not verified yet.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'A stable code, to branch on.' }),
    message: t.exposeString('message', { description: 'The same for people, in English.' }),
    actor: t.field({ type: Actor, description: 'Who must act.', resolve: ({ actor }) => actor }),
    retryable: t.exposeBoolean('retryable', {
      description: 'Whether asking again may change it. Where there is no answer yet, it is tried again by itself.',
    }),
  }),
});

export const EligibilityRef = builder.objectRef<Eligibility>('Eligibility');

builder.objectType(EligibilityRef, {
  description: 'What the manufacturer says of a vehicle: whether its data can be had, and how.',
  fields: (t) => ({
    vin: t.exposeString('vin', { description: 'The VIN of the vehicle: 17 characters.' }),
    status: t.expose('status', {
      type: EligibilityStatusType,
      description: 'How far the verification has come. No status is an error here.',
    }),
    eligible: t.exposeBoolean('eligible', {
      nullable: true,
      description: 'The answer; null until there is one, and where nobody can give one.',
    }),
    manufacturer: t.field({
      type: ManufacturerRef,
      nullable: true,
      description: 'The maker that answered, or is likeliest; null when the VIN does not tell.',
      resolve: ({ manufacturer }, _args, { ctx }) => manufacturerOf(ctx, manufacturer),
    }),
    dataDelivery: t.expose('dataDelivery', {
      type: [DataDelivery],
      description: 'The ways in which data can be had; empty where there are none, or no answer.',
    }),
    connectivityStatus: t.expose('connectivityStatus', {
      type: ConnectivityStatus,
      nullable: true,
      description: 'Whether the vehicle is connected; null where the manufacturer does not say.',
    }),
    primaryUserAssigned: t.exposeBoolean('primaryUserAssigned', {
      nullable: true,
      description: 'Whether somebody is registered as the primary user; null where the manufacturer does not say.',
    }),
    reason: t.field({
      type: EligibilityReason,
      nullable: true,
      description: 'Why the status is what it is; null where the vehicle is eligible.',
      resolve: ({ reason }) => reason,
    }),
    attempts: t.exposeInt('attempts', { description: 'How often the manufacturer was asked for this answer.' }),
    verifiedAt: t.expose('verifiedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the answer was given; null until there is one.',
    }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the manufacturer is asked next: the next attempt while PENDING, else the re-check, since answers age (FAILED too). Null while it is being asked.',
    }),
  }),
});

const statuses: [name: string, status: EligibilityStatus, description: string][] = [
  ['pending', 'PENDING', 'Vehicles without an answer yet.'],
  ['eligible', 'ELIGIBLE', 'Vehicles whose data can be had.'],
  ['ineligible', 'INELIGIBLE', 'Vehicles whose data cannot be had.'],
  ['unsupported', 'UNSUPPORTED', 'Vehicles nobody can be asked about.'],
  ['failed', 'FAILED', 'Vehicles whose verification needs somebody to act.'],
];

export const EligibilitySummary = builder.objectRef<Record<EligibilityStatus, number>>('EligibilitySummary').implement({
  description: 'How many vehicles of a fleet have each status.',
  fields: (t) =>
    Object.fromEntries(
      statuses.map(([name, status, description]) => [name, t.int({ description, resolve: (of) => of[status] })]),
    ),
});

builder.queryField('eligibility', (t) =>
  t.field({
    type: EligibilityRef,
    nullable: true,
    description: 'The eligibility of a vehicle by its VIN. Errors: VEHICLE_NOT_FOUND.',
    args: { vin: t.arg.string({ required: true, description: 'A VIN, in any case, with or without spaces.' }) },
    resolve: (_root, { vin }, { ctx }) => getEligibility(ctx, { vin }),
  }),
);

const VerifyEligibilityInput = builder.inputType('VerifyEligibilityInput', {
  description: 'Which vehicles to verify again.',
  fields: (t) => ({
    vins: t.stringList({ required: true, description: 'Their VINs: at least one, at most 10,000 by default.' }),
  }),
});

const VerifyEligibilityPayload = builder
  .objectRef<{ eligibilities: Eligibility[] }>('VerifyEligibilityPayload')
  .implement({
    description: 'The vehicles that are being verified again.',
    fields: (t) => ({
      eligibilities: t.expose('eligibilities', {
        type: [EligibilityRef],
        description: 'What is known now, in the order of `vins`. Follow `eligibilityChanged` for the new answers.',
        extensions: { size: 'input' } satisfies Cost,
      }),
    }),
  });

builder.mutationField('verifyEligibility', (t) =>
  t.field({
    type: VerifyEligibilityPayload,
    nullable: true,
    description:
      'Asks the manufacturers again, in the background; what is known stands until then. Errors: VEHICLE_NOT_FOUND, PAYLOAD_TOO_LARGE, VALIDATION_FAILED.',
    args: {
      input: t.arg({
        type: VerifyEligibilityInput,
        required: true,
        description: 'Which vehicles.',
        validate: judgedBy(requestVerificationInput),
      }),
    },
    resolve: mutate(async (ctx, input) => ({ eligibilities: await requestVerification(ctx, input) })),
  }),
);

builder.subscriptionField('eligibilityChanged', (t) =>
  t.field({
    type: EligibilityRef,
    description:
      'Each new answer about a vehicle of the fleet, or of any fleet of the company. Slow readers get the latest answer of each vehicle. Errors: FLEET_NOT_FOUND.',
    args: { fleetId: t.arg.id({ description: 'Only vehicles of this fleet.' }) },
    subscribe: (_root, { fleetId }, { ctx, closed }) => eligibilityChanges(ctx, { fleetId }, closed()),
    resolve: (eligibility) => eligibility,
  }),
);
