import { said } from './codes.js';
import { counted, html, t } from './html.js';
import { FleetLink } from './links.js';
import { statusNames, summarised } from './words.js';

const vehicles = (/** @type {any} */ { vehicleCount }) => ({ things: counted(vehicleCount, 'vehicle') });
const contracts = ({ count: made = 1 }) => ({ things: counted(made, 'contract') });
const sentences = {
  FLEET_CREATED: ({ data: { name }, fleet }) => ({
    text: fleet || !name ? t('Fleet created') : t('Fleet “{name}” created', { name }),
  }),
  FLEET_UPDATED: () => ({ text: t('Fleet changed') }),
  FLEET_DELETED: ({ data: { name } }) => ({ text: name ? t('Fleet “{name}” deleted', { name }) : t('Fleet deleted') }),
  VEHICLE_ADDED: (one) => ({ text: t('{things} added', vehicles(one)) }),
  VEHICLE_REMOVED: (one) => ({ text: t('{things} deleted', vehicles(one)) }),
  VEHICLE_MOVED: (one) => ({
    text:
      one.data.toFleetId === one.fleetId
        ? html`${vehicles(one).things} moved here from <${FleetLink} id=${one.data.fromFleetId} />`
        : html`${vehicles(one).things} moved to <${FleetLink} id=${one.data.toFleetId} />`,
  }),
  ELIGIBILITY_CHANGED: (one) => (one.count > 1 ? answers(one) : answer(one)),
  IMPORT_COMPLETED: ({ data, vehicleCount }) => ({
    text:
      data.created === undefined
        ? t('File imported: {things} added', vehicles({ vehicleCount }))
        : t('File imported: {created} added, {existing} already in the fleet, {rejected} rejected', data),
    detail: data.fileName,
  }),
  CONTRACT_CREATED: (one) => ({ text: t('{things} created', contracts(one)), detail: contractOf(one) }),
  CONTRACT_UPDATED: (one) => ({ text: t('{things} changed', contracts(one)), detail: contractOf(one) }),
  CONTRACT_DELETED: (one) => ({ text: t('{things} deleted', contracts(one)), detail: contractOf(one) }),
  CONTRACT_STARTED: (one) => ({ text: t('{things} started', contracts(one)), detail: contractOf(one) }),
  CONTRACT_ENDED: (one) => ({ text: t('{things} ended', contracts(one)), detail: contractOf(one) }),
  CONTRACT_ACTIVATED: (one) => told(one, t('{things} activated by the manufacturer', contracts(one)), 'eligible'),
  CONTRACT_REJECTED: (one) => told(one, t('{things} rejected by the manufacturer', contracts(one)), 'ineligible'),
  CONTRACT_DEACTIVATED: (one) => told(one, t('{things} ended at the manufacturer', contracts(one)), 'unsupported'),
  CONTRACT_FAILED: (one) => told(one, t('{things} failed at the manufacturer', contracts(one)), 'ineligible'),
  WEBHOOK_TEST: () => ({ text: t('Webhook tested') }),
};

const contractOf = ({ count: made = 1, data: { name, pack } }) => made === 1 && name && `${name}, ${pack}`;

const told = (one, text, tone) => ({
  text,
  tone,
  detail:
    one.count > 1
      ? one.manufacturer && t('{maker}, within an hour', { maker: one.manufacturer.name })
      : contractOf(one) && html`${contractOf(one)}${one.data.reason && html` · ${said(one.data.reason)}`}`,
});

const nameOf = (status) => statusNames[status] ?? t('different');
const answer = ({ data: { toStatus, reason }, ...one }) => ({
  text: t('{things} became {status}', { ...vehicles(one), status: nameOf(toStatus).toLowerCase() }),
  detail: reason && said(reason),
  tone: toStatus?.toLowerCase(),
});

const answers = ({ count: given, statuses }) => ({
  text: t('{things} from manufacturers', { things: counted(given, 'answer') }),
  detail: summarised(statuses),
});

/** Describes an event or an item of the history; `tone` is the status it reports, if any. */
export const sentenceOf = (one) => ({ tone: '', ...(sentences[one.type]?.(one) ?? { text: one.type }) });
