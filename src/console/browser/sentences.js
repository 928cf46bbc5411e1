import { counted, statusNames } from './words.js';

/** Changes of many vehicles come one by one; those that belong together are told of as one. */
export function groupsOf(events) {
  const groups = [];
  for (const event of events) {
    const group = groups.find((one) => alike(one, event));
    if (group) {
      group.vehicleCount += event.vehicleCount;
      group.events += 1;
      if (event.data.manufacturer) group.makers.add(event.data.manufacturer);
    } else groups.push({ ...event, events: 1, makers: new Set([event.data.manufacturer].filter(Boolean)) });
  }
  return groups;
}

const CLOSE_MS = 10 * 60_000;
const grouped = [
  'ELIGIBILITY_CHANGED',
  'VEHICLE_ADDED',
  'VEHICLE_REMOVED',
  'CONTRACT_CREATED',
  'CONTRACT_STARTED',
  'CONTRACT_ENDED',
];

function alike(group, event) {
  return (
    grouped.includes(event.type) &&
    group.type === event.type &&
    group.fleetId === event.fleetId &&
    group.actor === event.actor &&
    (event.type.startsWith('CONTRACT_') || group.data.toStatus === event.data.toStatus) &&
    Date.parse(group.timestamp) - Date.parse(event.timestamp) < CLOSE_MS
  );
}

const vehicles = ({ vehicleCount }) => counted(vehicleCount, 'vehicle');
const contracts = ({ events }) => counted(events, 'contract');
const makersOf = ({ makers }, names) =>
  [...makers]
    .slice(0, 4)
    .map((id) => names.get(id) ?? id)
    .join(', ') + (makers.size > 4 ? ` and ${makers.size - 4} more` : '');

const sentences = {
  FLEET_CREATED: ({ data }) => ({ text: `Fleet “${data.name}” created` }),
  FLEET_UPDATED: () => ({ text: 'Fleet changed' }),
  FLEET_DELETED: ({ data }) => ({ text: `Fleet “${data.name ?? ''}” deleted` }),
  VEHICLE_ADDED: (group) => ({ text: `${vehicles(group)} added` }),
  VEHICLE_REMOVED: (group) => ({ text: `${vehicles(group)} removed` }),
  VEHICLE_MOVED: (group) => ({ text: `${vehicles(group)} moved` }),
  ELIGIBILITY_CHANGED: (group, names) => ({
    text: `${vehicles(group)} became ${(statusNames[group.data.toStatus] ?? 'different').toLowerCase()}`,
    detail: [makersOf(group, names), group.events === 1 && group.data.reason?.message].filter(Boolean).join(' · '),
    tone: group.data.toStatus?.toLowerCase(),
  }),
  IMPORT_COMPLETED: ({ data }) => ({
    text: `File imported: ${data.created} added, ${data.existing} already there, ${data.rejected} refused`,
  }),
  CONTRACT_CREATED: (group) => ({
    text: `${contracts(group)} created`,
    detail: group.events === 1 && `${group.data.name}, ${group.data.pack}`,
  }),
  CONTRACT_DELETED: ({ data }) => ({ text: `Contract “${data.name ?? ''}” deleted` }),
  CONTRACT_STARTED: (group) => ({ text: `${contracts(group)} came into force` }),
  CONTRACT_ENDED: (group) => ({ text: `${contracts(group)} ended` }),
  WEBHOOK_TEST: () => ({ text: 'Webhook tested' }),
};

/** An event for people: `tone` is the status that it is about; `names` are those of manufacturers. */
export const sentenceOf = (group, names) => ({
  tone: '',
  ...(sentences[group.type]?.(group, names) ?? { text: group.type }),
});
