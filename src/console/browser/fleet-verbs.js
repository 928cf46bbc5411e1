import { ask, fieldError, unless } from './api.js';
import { attempt, openDialog, openEditor } from './dialog.js';
import { counted, t } from './html.js';
import { useQuery } from './query.js';
import { go, hrefOf } from './router.js';

const createFleet =
  'mutation CreateFleet($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id name } } }';
const updateFleet = `mutation UpdateFleet($input: UpdateFleetInput!) {
  updateFleet(input: $input) { fleet { id name companyAddress email vat } }
}`;
const deleteFleet = 'mutation DeleteFleet($id: ID!) { deleteFleet(input: { id: $id }) { fleet { id name } } }';
const contentsQuery = 'query Contents($id: ID!) { fleet(id: $id) { id name vehicleCount } }';
const contractsQuery = 'query ContractsInFleet($id: ID!) { fleet(id: $id) { contracts(first: 1) { totalCount } } }';

const fieldsOf = (fleet = {}) =>
  [
    { name: 'name', label: t('Name') },
    { name: 'companyAddress', label: t('Company address'), autocomplete: 'street-address' },
    { name: 'email', label: t('Contact e-mail'), inputmode: 'email', autocomplete: 'email', maxlength: 254 },
    { name: 'vat', label: t('VAT number') },
  ].map((field) => ({ required: true, maxlength: 255, ...field, value: fleet[field.name] }));

export const newFleet = () =>
  openDialog({
    title: t('New fleet'),
    fields: fieldsOf(),
    verb: t('Create fleet'),
    send: async (input, run) => {
      const { fleet } = (await run(createFleet, { input })).createFleet;
      go(hrefOf(['fleets', fleet.id]));
      return t('“{name}” created.', fleet);
    },
  });

export const editFleet = (fleet) => openEditor(t('Edit fleet'), fieldsOf(fleet), fleet, updateFleet);

/** Asks for confirmation and deletes a fleet; a fleet with vehicles must be confirmed by its name. */
export const removeFleet = (id) =>
  attempt(async () => {
    const { fleet } = await ask(contentsQuery, { id });
    const { name, vehicleCount } = fleet;
    const contracts = (await ask(contractsQuery, { id }).catch(unless('FORBIDDEN'))).fleet?.contracts.totalCount;
    const known = contracts === undefined ? t('their contracts') : counted(contracts, 'contract');
    const goes = { vehicles: counted(vehicleCount, 'vehicle'), contracts: known };
    const all = t('{vehicles} and {contracts} will be deleted with it. This cannot be undone.', goes);
    openDialog({
      title: t('Delete “{name}”?', fleet),
      about: vehicleCount > 0 ? all : t('The fleet has no vehicles.'),
      fields: vehicleCount > 0 ? [{ name: 'typed', label: t('Enter the fleet’s name to confirm: {name}', fleet) }] : [],
      verb: t('Delete fleet'),
      danger: true,
      send: async ({ typed }, run) => {
        if (vehicleCount > 0 && typed.trim() !== name) throw fieldError('typed', t('This is not the fleet’s name.'));
        await run(deleteFleet, { id });
        go('#/fleets');
        return t('“{name}” deleted.', fleet);
      },
    });
  })();

/** A list's page has at most 1,000 items. */
const fleetsQuery = '{ fleets(first: 1000, orderBy: { field: NAME }) { nodes { id name } } }';
const pairs = (data) => (data?.fleets.nodes ?? []).map(({ id, name }) => [id, name]);

/** All fleets by name, as options of a field. Throws ApiError. */
export const fleetOptions = async () => pairs(await ask(fleetsQuery, {}));

/** All fleets by name, as options of a filter; updated with each event of a fleet. */
export const useFleetOptions = () => pairs(useQuery(fleetsQuery, {}, ({ type }) => type.startsWith('FLEET_')).data);
