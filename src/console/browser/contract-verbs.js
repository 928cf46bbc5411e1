import { ask, byFleet, fieldError, partsOf, unless } from './api.js';
import { explain } from './codes.js';
import { lastOf } from './columns.js';
import { attempt, openDialog, openEditor } from './dialog.js';
import { counted, html, t } from './html.js';
import { localDay } from './parts.js';
import { carryOut } from './query.js';
import { RefusedTable } from './refused.js';
import { toast } from './toast.js';
import { asking } from './words.js';

const createContract =
  'mutation CreateContract($input: CreateContractInput!) { createContract(input: $input) { contract { id } warnings { code message } } }';
const createMany =
  'mutation CreateContracts($input: CreateContractsInput!) { createContracts(input: $input) { contracts { id } rejected { vin code message conflicts } warnings { code message } } }';
const packsQuery = 'query Packs { packs { name isOffered contracts } }';
const updateContract =
  'mutation UpdateContract($input: UpdateContractInput!) { updateContract(input: $input) { contract { id } } }';
const refreshActivation = `mutation RefreshActivation($ids: [ID!]!) {
  refreshActivation(input: { ids: $ids }) { contracts { id activation { state changedAt nextAttemptAt reason { code message actor } } } }
}`;
const vehicleByVin = 'query VehicleByVin($vin: String!) { vehicle(by: { vin: $vin }) { vin fleet { id } } }';
const onePack = t('A vehicle can have one contract per pack at a time.');

function contractFields(before = {}, packs = []) {
  const [from, to] = [new Date(), new Date()];
  from.setDate(from.getDate() + 1);
  to.setFullYear(to.getFullYear() + 1);
  return [
    { name: 'name', label: t('Name'), maxlength: 255 },
    { name: 'pack', label: t('Data service pack'), hint: onePack, maxlength: 255, type: 'combobox', options: packs },
    { name: 'description', label: t('Purpose'), type: 'area', rows: 2, maxlength: 2000 },
    { name: 'from', label: t('Start date'), type: 'date', value: localDay(from) },
    { name: 'to', label: t('End date'), type: 'date', value: localDay(to), hint: t('The last day of the contract.') },
  ].map((field) => ({ required: true, ...field, value: before[field.name] ?? field.value }));
}

/** Converts the form's days of local time: a contract ends with its last day. Throws ApiError if one is missing. */
function inputOf(values) {
  const midnight = (name, days) => {
    if (values[name] === undefined) return {};
    if (!values[name]) throw fieldError(name, t('Choose a date.'));
    const day = new Date(`${values[name]}T00:00`);
    day.setDate(day.getDate() + days);
    return { [name]: day.toISOString() };
  };
  return { ...values, ...midnight('from', 0), ...midnight('to', 1) };
}

/** Asks for changes of a contract; the end of one that is over stays. */
export function editContract(contract) {
  const before = { ...contract, to: localDay(lastOf(contract)) };
  const kept = ['pack', 'from', contract.status === 'ENDED' && 'to'];
  const fields = contractFields(before).filter(({ name }) => !kept.includes(name));
  openEditor(t('Edit contract'), fields, before, updateContract, inputOf);
}

/** Asks for the fields of a contract; without a vehicle, also for the VIN. */
export const newContract = attempt(async (vehicle = undefined, done = () => {}) => {
  const packs = await packNames();
  openDialog({
    title: vehicle ? t('New contract for {vin}', vehicle) : t('New contract'),
    fields: [
      ...(vehicle ? [] : [{ name: 'vin', label: t('VIN'), class: 'vin', spellcheck: false, required: true }]),
      ...contractFields({}, packs),
    ],
    verb: t('Create contract'),
    send: async ({ vin, ...values }, run) => {
      const input = inputOf(values);
      const { vin: own, fleet } = vehicle ?? (await vehicleWith(vin));
      const answer = await run(createContract, { input: { ...input, vin: own, fleetId: fleet.id } });
      done();
      return [t('“{name}” created.', input), ...sentencesOf(answer.createContract.warnings)].join(' ');
    },
  });
});

/** Packs that are offered, or that contracts have. */
async function packNames() {
  const { packs } = await ask(packsQuery);
  return packs.filter(({ isOffered, contracts }) => isOffered || contracts > 0).map(({ name }) => name);
}

/** What may keep contracts from having an effect, each reason once. */
const sentencesOf = (warnings) => [...new Set(warnings.map(explain))];

async function vehicleWith(vin) {
  if (!vin.trim()) throw fieldError('vin', t('Enter a VIN.'));
  const { vehicle } = await ask(vehicleByVin, { vin }).catch((error) => {
    throw ['VEHICLE_NOT_FOUND', 'VALIDATION_FAILED'].includes(error.code) ? fieldError('vin', explain(error)) : error;
  });
  return vehicle;
}

/** Creates one contract per vehicle, and shows which vehicles got none and why; `done` is called at the end. */
export const createContracts = attempt(async (vehicles, done) => {
  if (vehicles.length === 1) return newContract(vehicles[0], done);
  const packs = await packNames();
  openDialog({
    title: t('New contracts for {vehicles}', { vehicles: counted(vehicles.length, 'vehicle') }),
    about: t('Each vehicle gets its own contract with these details.'),
    fields: contractFields({}, packs),
    verb: t('Create contracts'),
    wide: true,
    send: async (values, run, tell) => {
      const input = inputOf(values);
      const refused = [];
      const warnings = [];
      let asked = 0;
      for (const part of byFleet(vehicles)) {
        const vins = part.map(({ vin }) => vin);
        const own = { ...input, fleetId: part[0].fleet.id, vins };
        const answer = run(createMany, { input: own }, part[0].id).catch(unless('FLEET_NOT_FOUND'));
        const { error, createContracts: report } = await answer;
        warnings.push(...(report?.warnings ?? []));
        refused.push(...(report?.rejected ?? vins.map((vin) => ({ vin, message: explain(error) }))));
        asked += part.length;
        tell(asked, vehicles.length);
      }
      done();
      const first = t('{contracts} created', { contracts: counted(vehicles.length - refused.length, 'contract') });
      if (refused.length === 0) return [`${first}.`, ...sentencesOf(warnings)].join(' ');
      const second = t('none for {vehicles}', { vehicles: counted(refused.length, 'vehicle') });
      const rows = refused.map(({ vin, ...one }) => ({ id: vin, value: vin, ...one }));
      return { title: t('{first}; {second}', { first, second }), body: html`<${RefusedTable} rows=${rows} />` };
    },
  });
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
    toast(asked > 0 ? asking(asked) : t('Nothing to check: none of these is pending, rejected or failed.'));
  })();
