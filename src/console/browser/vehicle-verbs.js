import { ask, askIfAllowed } from './api.js';
import { createContracts } from './contract-verbs.js';
import { attempt, openDialog } from './dialog.js';
import { saveAnswer, saveTable } from './download.js';
import { fleetOptions } from './fleet-choice.js';
import { changed } from './query.js';
import { toast } from './toast.js';
import { counted } from './words.js';

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
const verifyEligibility = `mutation Verify($vins: [String!]!) {
  verifyEligibility(input: { vins: $vins }) { eligibilities { vin status } }
}`;
const contractCounts = `query ContractsOf($ids: [ID!]!) {
  nodes(ids: $ids) { ... on Vehicle { contracts(first: 1) { totalCount } } }
}`;
/** `nodes` takes at most this many ids. */
const NODES = 100;

const idsOf = (vehicles) => vehicles.map(({ id }) => id);
const nothing = () => {};

/** The contracts that are deleted with vehicles, in words; without their number if the token may not read contracts. */
async function contractsOf(vehicles) {
  let total = 0;
  for (let at = 0; at < vehicles.length; at += NODES) {
    const data = await askIfAllowed(contractCounts, { ids: idsOf(vehicles.slice(at, at + NODES)) });
    if (!data) return ' with their contracts';
    for (const vehicle of data.nodes) total += vehicle?.contracts.totalCount ?? 0;
  }
  return total > 0 ? ` and ${counted(total, 'contract')}` : '';
}

/** Asks whether vehicles, each with its fleet, are to be deleted; `done` is called when they are. */
export const removeVehicles = (vehicles, done = nothing) =>
  attempt(async () => {
    const goes = counted(vehicles.length, 'vehicle') + (await contractsOf(vehicles));
    openDialog({
      title: `Delete ${goes}?`,
      about: `${vehicles
        .slice(0, 5)
        .map(({ vin }) => vin)
        .join(', ')}${vehicles.length > 5 ? ' …' : ''}. This cannot be undone.`,
      verb: 'Delete',
      danger: true,
      send: async (_, run) => {
        let deleted = 0;
        for (const [fleetId, own] of Map.groupBy(vehicles, ({ fleet }) => fleet.id)) {
          const answer = await run(deleteVehicles, { input: { fleetId, ids: idsOf(own) } }, fleetId);
          deleted += answer.deleteVehicles.deleted.length;
        }
        done();
        return `${counted(deleted, 'vehicle')} deleted.`;
      },
    });
  })();

/** Asks for the fleet that vehicles are to be in. */
export const moveToFleet = (vehicles, done = nothing) =>
  attempt(async () => {
    const options = await fleetOptions();
    openDialog({
      title: `Move ${counted(vehicles.length, 'vehicle')}`,
      about: 'Their contracts go with them, and what their manufacturers answered stays.',
      fields: [{ name: 'fleetId', label: 'To the fleet', type: 'select', options }],
      verb: 'Move',
      send: async ({ fleetId }, run) => {
        const { moveVehicles: moved } = await run(moveVehicles, { input: { fleetId, ids: idsOf(vehicles) } });
        done();
        return `${counted(moved.vehicles.length, 'vehicle')} moved to “${moved.fleet?.name ?? ''}”.`;
      },
    });
  })();

/** Has manufacturers asked again; what is known stands until they have answered. */
export const verifyAgain = (vehicles, done = nothing) =>
  attempt(async () => {
    changed(await ask(verifyEligibility, { vins: vehicles.map(({ vin }) => vin) }));
    done();
    toast(`The manufacturer${vehicles.length === 1 ? ' is' : 's are'} being asked again.`);
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
  { name: 'Ask again', run: verifyAgain },
  { name: 'Move …', run: moveToFleet },
  { name: 'New contracts …', run: createContracts },
  { name: 'Download CSV', run: (vehicles) => saveTable(csvColumns, vehicles, 'vehicles.csv') },
  { name: 'Delete …', run: removeVehicles, danger: true },
];
