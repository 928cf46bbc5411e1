import { ask, byFleet, fleetData, partsOf, unless } from './api.js';
import { createContracts } from './contract-verbs.js';
import { attempt, openDialog } from './dialog.js';
import { saveAnswer, saveTable } from './download.js';
import { fleetOptions } from './fleet-verbs.js';
import { counted, list, t } from './languages/language.js';
import { carryOut } from './query.js';
import { toast } from './toast.js';
import { asking, someOf, vinPart } from './words.js';

const deleteVehicles = `mutation DeleteVehicles($input: DeleteVehiclesInput!) {
  deleteVehicles(input: $input) { deleted { vin } ${fleetData} }
}`;
const moveVehicles = `mutation MoveVehicles($input: MoveVehiclesInput!) {
  moveVehicles(input: $input) { vehicles { id } ${fleetData} }
}`;
const verifyEligibility =
  'mutation Verify($vins: [String!]!) { verifyEligibility(input: { vins: $vins }) { eligibilities { vin status } } }';
const contractCounts =
  'query ContractsOf($ids: [ID!]!) { nodes(ids: $ids) { ... on Vehicle { contracts(first: 1) { totalCount } } } }';
/** `nodes` takes at most this many ids. */
const NODES = 100;
/** Contracts are counted for at most this many vehicles. */
const COUNTED = 1_000;
const idsOf = (vehicles) => vehicles.map(({ id }) => id);
const nothing = () => {};

/** The contracts that are deleted with vehicles, in words; without a number if the token cannot read contracts. */
async function contractsOf(vehicles) {
  let total = 0;
  for (const part of partsOf(vehicles, NODES)) {
    const data =
      vehicles.length <= COUNTED && (await ask(contractCounts, { ids: idsOf(part) }).catch(unless('FORBIDDEN')));
    if (!data || data.error) return t('their contracts');
    for (const vehicle of data.nodes) total += vehicle?.contracts.totalCount ?? 0;
  }
  return total > 0 && counted(total, 'contract');
}

/** Asks for confirmation and deletes vehicles, each with its fleet; calls `done` afterwards. */
export const removeVehicles = (vehicles, done = nothing) =>
  attempt(async () => {
    const goes = [counted(vehicles.length, 'vehicle'), await contractsOf(vehicles)].filter(Boolean);
    openDialog({
      title: t('Delete {things}?', { things: list.format(goes) }),
      about: `${someOf(vehicles.map(({ vin }) => vin))}. ${t('This cannot be undone.')}`,
      verb: t('Delete'),
      danger: true,
      send: async (_, run, tell) => {
        let deleted = 0;
        for (const part of byFleet(vehicles)) {
          const input = { fleetId: part[0].fleet.id, ids: idsOf(part) };
          deleted += (await run(deleteVehicles, { input }, part[0].id)).deleteVehicles.deleted.length;
          tell(deleted, vehicles.length);
        }
        done();
        return `${t('{things} deleted', { things: counted(deleted, 'vehicle') })}.`;
      },
    });
  })();

/** Moves parts of a list of vehicles; returns the ids of the vehicles that still existed. */
async function move(parts, fleetOf, run, tell = (/** @type {any[]} */ ..._) => {}) {
  const moved = new Set();
  for (const part of parts) {
    const input = { fleetId: fleetOf(part[0]), ids: idsOf(part) };
    const answer = await run(moveVehicles, { input }, part[0].id).catch(unless('NOTHING_TO_MOVE'));
    for (const { id } of answer.moveVehicles?.vehicles ?? []) moved.add(id);
    tell(moved.size, parts.flat().length);
  }
  return moved;
}

const moveBack = attempt(async (parts) => {
  const back = await move(
    parts,
    ({ fleet }) => fleet.id,
    (document, variables) => carryOut(document, variables),
  );
  toast(t('{vehicles} moved back.', { vehicles: counted(back.size, 'vehicle') }));
});

export const moveToFleet = (vehicles, done = nothing) =>
  attempt(async () => {
    const [{ fleet: own }] = vehicles;
    const isHere = ([id]) => vehicles.every(({ fleet }) => fleet.id === id);
    const options = (await fleetOptions()).filter((one) => !isHere(one));
    if (options.length === 0) return toast(t('There is no fleet but “{name}”. Create another one first.', own));
    openDialog({
      title: t('Move {vehicles}', { vehicles: counted(vehicles.length, 'vehicle') }),
      about:
        vehicles.length === 1
          ? t('Its contracts move with it, and its eligibility stays.')
          : t('Their contracts move with them, and their eligibility stays.'),
      fields: [{ name: 'fleetId', label: t('Destination fleet'), type: 'select', options }],
      verb: t('Move'),
      send: async ({ fleetId }, run, tell) => {
        const moved = await move(partsOf(vehicles), () => fleetId, run, tell);
        done();
        const [, name] = options.find(([id]) => id === fleetId);
        const from = byFleet(vehicles.filter(({ id, fleet }) => moved.has(id) && fleet.id !== fleetId));
        return {
          title: t('{vehicles} moved to “{name}”.', { vehicles: counted(moved.size, 'vehicle'), name }),
          undo: from.length > 0 && (() => moveBack(from)),
        };
      },
    });
  })();

/** Asks manufacturers again; present eligibilities stay until they have answered. */
export const verifyAgain = (vehicles, done = nothing) =>
  attempt(async () => {
    for (const part of partsOf(vehicles)) await carryOut(verifyEligibility, { vins: part.map(({ vin }) => vin) });
    done();
    toast(asking(vehicles.length));
  })();

const csvColumns = {
  vin: ({ vin }) => vin,
  fleet_name: ({ fleet }) => fleet.name,
  manufacturer: ({ manufacturer }) => manufacturer?.name,
  status: ({ eligibility }) => eligibility.status,
  reason: ({ eligibility }) => eligibility.reason?.message,
  actor: ({ eligibility }) => eligibility.reason?.actor,
  verified_at: ({ eligibility }) => eligibility.verifiedAt,
};

/** Saves all vehicles that fit the query of their list's address. */
export const saveVehicles = ({ fleetId, status, vin, maker, order }) =>
  attempt(() => {
    const sorts = { VIN: 'vin', VERIFIED_AT: 'verifiedAt', CREATED_AT: 'createdAt' };
    const sort = order?.replace(/\w+/, (field) => sorts[field]);
    const given = { fleetId, eligibility: status, vin: vinPart(vin), manufacturer: maker, sort };
    const search = new URLSearchParams(Object.entries(given).filter(([, value]) => value));
    return saveAnswer(`/vehicles?${search}`, 'vehicles.csv');
  })();

export const vehicleVerbs = [
  { name: t('Check again'), run: verifyAgain },
  { name: t('Move …'), run: moveToFleet },
  { name: t('New contracts …'), run: createContracts },
  { name: t('Download CSV'), run: (vehicles) => saveTable(csvColumns, vehicles, 'vehicles.csv') },
  { name: t('Delete …'), run: removeVehicles, danger: true },
];
