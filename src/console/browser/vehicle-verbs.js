import { ask, askIfAllowed } from './api.js';
import { createContracts } from './contract-verbs.js';
import { attempt, openDialog } from './dialog.js';
import { saveAnswer, saveTable } from './download.js';
import { fleetOptions } from './fleet-choice.js';
import { counted, list, t } from './languages/language.js';
import { changed } from './query.js';
import { toast } from './toast.js';

const deleteVehicles = `mutation DeleteVehicles($input: DeleteVehiclesInput!) {
  deleteVehicles(input: $input) {
    deleted { id }
    fleet { id vehicleCount eligibilitySummary { eligible ineligible pending unsupported failed } }
  }
}`;
const moveVehicles = `mutation MoveVehicles($input: MoveVehiclesInput!) {
  moveVehicles(input: $input) {
    vehicles { id }
    fleet { id name vehicleCount eligibilitySummary { eligible ineligible pending unsupported failed } }
  }
}`;
const verifyEligibility =
  'mutation Verify($vins: [String!]!) { verifyEligibility(input: { vins: $vins }) { eligibilities { vin status } } }';
const contractCounts =
  'query ContractsOf($ids: [ID!]!) { nodes(ids: $ids) { ... on Vehicle { contracts(first: 1) { totalCount } } } }';
/** `nodes` takes at most this many ids. */
const NODES = 100;

const idsOf = (vehicles) => vehicles.map(({ id }) => id);
const nothing = () => {};

/** The contracts that are deleted with vehicles, in words, if any; without their number if the token may not read contracts. */
async function contractsOf(vehicles) {
  let total = 0;
  for (let at = 0; at < vehicles.length; at += NODES) {
    const data = await askIfAllowed(contractCounts, { ids: idsOf(vehicles.slice(at, at + NODES)) });
    if (!data) return t('their contracts');
    for (const vehicle of data.nodes) total += vehicle?.contracts.totalCount ?? 0;
  }
  return total > 0 && counted(total, 'contract');
}

/** Asks whether vehicles, each with its fleet, are to be deleted; `done` is called when they are. */
export const removeVehicles = (vehicles, done = nothing) =>
  attempt(async () => {
    const goes = [counted(vehicles.length, 'vehicle'), await contractsOf(vehicles)].filter(Boolean);
    openDialog({
      title: t('Delete {things}?', { things: list.format(goes) }),
      about: `${vehicles
        .slice(0, 5)
        .map(({ vin }) => vin)
        .join(', ')}${vehicles.length > 5 ? ' …' : ''}. ${t('This cannot be undone.')}`,
      verb: t('Delete'),
      danger: true,
      send: async (_, run) => {
        let deleted = 0;
        for (const [fleetId, own] of Map.groupBy(vehicles, ({ fleet }) => fleet.id)) {
          const answer = await run(deleteVehicles, { input: { fleetId, ids: idsOf(own) } }, fleetId);
          deleted += answer.deleteVehicles.deleted.length;
        }
        done();
        return `${t('{things} deleted', { things: counted(deleted, 'vehicle') })}.`;
      },
    });
  })();

/** Asks for the fleet that vehicles are to be in. */
export const moveToFleet = (vehicles, done = nothing) =>
  attempt(async () => {
    const options = await fleetOptions();
    openDialog({
      title: t('Move {vehicles}', { vehicles: counted(vehicles.length, 'vehicle') }),
      about: t('Their contracts go with them, and what their manufacturers answered stays.'),
      fields: [{ name: 'fleetId', label: t('To the fleet'), type: 'select', options }],
      verb: t('Move'),
      send: async ({ fleetId }, run) => {
        const { moveVehicles: moved } = await run(moveVehicles, { input: { fleetId, ids: idsOf(vehicles) } });
        done();
        const told = { vehicles: counted(moved.vehicles.length, 'vehicle'), name: moved.fleet?.name ?? '' };
        return t('{vehicles} moved to “{name}”.', told);
      },
    });
  })();

/** Has manufacturers asked again; what is known stands until they have answered. */
export const verifyAgain = (vehicles, done = nothing) =>
  attempt(async () => {
    changed(await ask(verifyEligibility, { vins: vehicles.map(({ vin }) => vin) }));
    done();
    toast(t('Manufacturers are being asked again.'));
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

/** Saves all vehicles that fit what the address of their list says. */
export const saveVehicles = ({ fleetId, status, vin, maker, order }) =>
  attempt(() => {
    const sorts = { VIN: 'vin', VERIFIED_AT: 'verifiedAt', CREATED_AT: 'createdAt' };
    const sort = order?.replace(/\w+/, (field) => sorts[field]);
    const given = { fleetId, eligibility: status, vin: vin?.length >= 3 && vin, manufacturer: maker, sort };
    const search = new URLSearchParams(Object.entries(given).filter(([, value]) => value));
    return saveAnswer(`/vehicles?${search}`, 'vehicles.csv');
  })();

/** Actions on vehicles that were chosen from a list. */
export const vehicleVerbs = [
  { name: t('Ask again'), run: verifyAgain },
  { name: t('Move …'), run: moveToFleet },
  { name: t('New contracts …'), run: createContracts },
  { name: t('Download CSV'), run: (vehicles) => saveTable(csvColumns, vehicles, 'vehicles.csv') },
  { name: t('Delete …'), run: removeVehicles, danger: true },
];
