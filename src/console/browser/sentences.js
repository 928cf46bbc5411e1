import { count, counted, statusNames, summarised } from './words.js';

const vehicles = ({ vehicleCount }) => counted(vehicleCount, 'vehicle');
const contracts = ({ count: made = 1 }) => counted(made, 'contract');

const sentences = {
  FLEET_CREATED: ({ data, fleet }) => ({ text: fleet ? 'Fleet created' : `Fleet “${data.name ?? ''}” created` }),
  FLEET_UPDATED: () => ({ text: 'Fleet changed' }),
  FLEET_DELETED: ({ data }) => ({ text: `Fleet “${data.name ?? ''}” deleted` }),
  VEHICLE_ADDED: (one) => ({ text: `${vehicles(one)} added` }),
  VEHICLE_REMOVED: (one) => ({ text: `${vehicles(one)} deleted` }),
  VEHICLE_MOVED: (one) => ({
    text:
      one.data.toFleetId === one.fleetId
        ? `${vehicles(one)} moved here from another fleet`
        : `${vehicles(one)} moved to another fleet`,
  }),
  ELIGIBILITY_CHANGED: (one) => (one.count > 1 ? answers(one) : answer(one)),
  IMPORT_COMPLETED: ({ data, vehicleCount }) => ({
    text:
      data.created === undefined
        ? `File imported: ${counted(vehicleCount, 'vehicle')} added`
        : `File imported: ${count(data.created)} added, ${count(data.existing)} already there, ${count(data.rejected)} refused`,
  }),
  CONTRACT_CREATED: (one) => ({ text: `${contracts(one)} created`, detail: contractOf(one) }),
  CONTRACT_DELETED: (one) => ({ text: `${contracts(one)} deleted`, detail: contractOf(one) }),
  CONTRACT_STARTED: (one) => ({ text: `${contracts(one)} came into force`, detail: contractOf(one) }),
  CONTRACT_ENDED: (one) => ({ text: `${contracts(one)} ended`, detail: contractOf(one) }),
  WEBHOOK_TEST: () => ({ text: 'Webhook tested' }),
};

const contractOf = ({ count: made = 1, data: { name, pack } }) => made === 1 && name && `${name}, ${pack}`;

const answer = ({ data: { toStatus, reason }, ...one }) => ({
  text: `${vehicles(one)} became ${(statusNames[toStatus] ?? 'different').toLowerCase()}`,
  detail: reason?.message,
  tone: toStatus?.toLowerCase(),
});

const answers = ({ count: given, statuses }) => ({
  text: `${counted(given, 'answer')} of manufacturers`,
  detail: summarised(statuses),
});

/** An event or an item of the history for people: `tone` is the status that it is about. */
export const sentenceOf = (one) => ({ tone: '', ...(sentences[one.type]?.(one) ?? { text: one.type }) });
