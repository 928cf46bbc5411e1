import { ask, byFleet, fieldError, partsOf, reported, unless } from './api.js';
import { attempt, openDialog } from './dialog.js';
import { counted, html, t } from './html.js';
import { localTime } from './parts.js';
import { carryOut } from './query.js';
import { RefusedTable } from './refused.js';
import { toast } from './toast.js';
import { explain } from './words.js';

const createContract =
  'mutation CreateContract($input: CreateContractInput!) { createContract(input: $input) { contract { id } } }';
const createMany =
  'mutation CreateContracts($input: CreateContractsInput!) { createContracts(input: $input) { contracts { id } rejected { vin message conflicts } } }';
const refreshActivation = `mutation RefreshActivation($ids: [ID!]!) {
  refreshActivation(input: { ids: $ids }) { contracts { id activation { state changedAt nextAttemptAt reason { message actor } } } }
}`;
const deleteContract =
  'mutation DeleteContract($id: ID!) { deleteContract(input: { id: $id }) { contract { id name } } }';
const vehicleByVin = 'query VehicleByVin($vin: String!) { vehicle(by: { vin: $vin }) { vin fleet { id } } }';

const YEAR_MS = 365 * 86_400_000;

const onePack = t('A vehicle has one contract for a pack at a time.');

function contractFields() {
  const from = new Date();
  from.setHours(24, 0, 0, 0);
  return [
    { name: 'name', label: t('Name'), maxlength: 255 },
    { name: 'pack', label: t('Pack of data services'), hint: onePack, maxlength: 255 },
    { name: 'description', label: t('What it is for'), type: 'area', rows: 2, maxlength: 2000 },
    { name: 'from', label: t('From'), type: 'datetime-local', value: localTime(from) },
    { name: 'to', label: t('To'), type: 'datetime-local', value: localTime(new Date(+from + YEAR_MS)) },
  ].map((field) => ({ required: true, ...field }));
}

/** Converts the form's local times. Throws ApiError if one is missing. */
function inputOf(/** @type {any} */ { from, to, ...values }) {
  const times = Object.entries({ from, to }).map(([name, value]) => {
    if (!value) throw fieldError(name, t('Choose a day and a time.'));
    return [name, new Date(value).toISOString()];
  });
  return { ...values, ...Object.fromEntries(times) };
}

/** Asks for the fields of a contract; without a vehicle, also for the VIN. */
export const newContract = (vehicle) =>
  openDialog({
    title: vehicle ? t('New contract for {vin}', vehicle) : t('New contract'),
    fields: [
      ...(vehicle ? [] : [{ name: 'vin', label: t('VIN'), class: 'vin', spellcheck: false, required: true }]),
      ...contractFields(),
    ],
    verb: t('Create contract'),
    send: async ({ vin, ...values }, run) => {
      const input = inputOf(values);
      const { vin: own, fleet } = vehicle ?? (await vehicleWith(vin));
      await run(createContract, { input: { ...input, vin: own, fleetId: fleet.id } });
      return t('“{name}” is there.', input);
    },
  });

async function vehicleWith(vin) {
  if (!vin.trim()) throw fieldError('vin', t('Type the VIN of a vehicle.'));
  const { vehicle } = await ask(vehicleByVin, { vin }).catch((error) => {
    throw ['VEHICLE_NOT_FOUND', 'VALIDATION_FAILED'].includes(error.code) ? fieldError('vin', explain(error)) : error;
  });
  return vehicle;
}

/** Creates one contract per vehicle, and shows which vehicles got none and why; `done` is called at the end. */
export const createContracts = (vehicles, done) =>
  openDialog({
    title: t('New contracts for {vehicles}', { vehicles: counted(vehicles.length, 'vehicle') }),
    about: t('Each vehicle gets a contract like this one.'),
    fields: contractFields(),
    verb: t('Create contracts'),
    wide: true,
    send: async (values, run, tell) => {
      const input = inputOf(values);
      const refused = [];
      let asked = 0;
      for (const part of byFleet(vehicles)) {
        const vins = part.map(({ vin }) => vin);
        const own = { ...input, fleetId: part[0].fleet.id, vins };
        const answer = run(createMany, { input: own }, part[0].id).catch(reported('createContracts'));
        const { error, createContracts: report } = await answer.catch(unless('FLEET_NOT_FOUND'));
        refused.push(...(report?.rejected ?? vins.map((vin) => ({ vin, message: explain(error) }))));
        asked += part.length;
        tell(asked, vehicles.length);
      }
      done();
      const made = t('{contracts} created', { contracts: counted(vehicles.length - refused.length, 'contract') });
      if (refused.length === 0) return `${made}.`;
      const without = t('{vehicles} got none', { vehicles: counted(refused.length, 'vehicle') });
      const rows = refused.map(({ vin, ...one }) => ({ id: vin, value: vin, ...one }));
      return { title: `${made}; ${without}`, body: html`<${RefusedTable} rows=${rows} />` };
    },
  });

/** Whether a contract waits for its manufacturer, or was refused. */
export const mayAsk = ({ activation: { state } }) => ['PENDING', 'REJECTED', 'FAILED', 'ENDING'].includes(state);

export const askAgain = (contracts, done = () => {}) =>
  attempt(async () => {
    let asked = 0;
    for (const part of partsOf(contracts)) {
      const answer = await carryOut(refreshActivation, { ids: part.map(({ id }) => id) });
      asked += answer.refreshActivation.contracts.filter(mayAsk).length;
    }
    done();
    toast(asked > 0 ? t('Manufacturers are being asked again.') : t('None of these waits for its manufacturer.'));
  })();

/** Asks for confirmation and deletes contracts; calls `done` afterwards. */
export function removeContracts(contracts, done = () => {}) {
  const [{ name, vehicle }] = contracts;
  const one = contracts.length === 1;
  openDialog({
    title: one
      ? t('Delete the contract “{name}”?', { name })
      : t('Delete {things}?', { things: counted(contracts.length, 'contract') }),
    about: `${one ? `${t('It is that of {vin}.', vehicle)} ` : ''}${t('This cannot be undone.')}`,
    verb: t('Delete'),
    danger: true,
    send: async (_, run, tell) => {
      for (const [at, { id }] of contracts.entries()) {
        // Another user may have deleted the contract.
        await run(deleteContract, { id }, id).catch(unless('CONTRACT_NOT_FOUND'));
        tell(at + 1, contracts.length);
      }
      done();
      return `${t('{things} deleted', { things: counted(contracts.length, 'contract') })}.`;
    },
  });
}
