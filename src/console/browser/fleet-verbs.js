import { ask, askIfAllowed, fieldError } from './api.js';
import { attempt, openDialog } from './dialog.js';
import { changesOf } from './field.js';
import { counted, t } from './languages/language.js';
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
    { name: 'email', label: t('E-mail of who answers for it'), type: 'email', autocomplete: 'email' },
    { name: 'vat', label: t('VAT number') },
  ].map((field) => ({ ...field, value: fleet[field.name] }));

/** Asks for a new fleet, and goes there. */
export const newFleet = () =>
  openDialog({
    title: t('New fleet'),
    fields: fieldsOf(),
    verb: t('Create fleet'),
    send: async (input, run) => {
      const { fleet } = (await run(createFleet, { input })).createFleet;
      go(hrefOf(['fleets', fleet.id]));
      return t('“{name}” is there.', fleet);
    },
  });

/** Asks what is to be changed of a fleet, and sends that alone. */
export const editFleet = (fleet) =>
  openDialog({
    title: t('Edit fleet'),
    fields: fieldsOf(fleet),
    verb: t('Save'),
    send: async (values, run) => {
      const changes = changesOf(values, fleet);
      if (Object.keys(changes).length === 0) return t('Nothing was changed.');
      await run(updateFleet, { input: { id: fleet.id, ...changes } });
      return t('Saved.');
    },
  });

/** Asks whether a fleet is to be deleted, and for its name where vehicles go with it. */
export const removeFleet = (id) =>
  attempt(async () => {
    const { fleet } = await ask(contentsQuery, { id });
    const { name, vehicleCount } = fleet;
    const contracts = (await askIfAllowed(contractsQuery, { id }))?.fleet.contracts.totalCount;
    const known = contracts === undefined ? t('their contracts') : counted(contracts, 'contract');
    const goes = { vehicles: counted(vehicleCount, 'vehicle'), contracts: known };
    const all = t('{vehicles} and {contracts} are deleted with it. This cannot be undone.', goes);
    openDialog({
      title: t('Delete “{name}”?', fleet),
      about: vehicleCount > 0 ? all : t('It has no vehicles.'),
      fields: vehicleCount > 0 ? [{ name: 'typed', label: t('Type the fleet’s name: {name}', fleet) }] : [],
      verb: t('Delete fleet'),
      danger: true,
      send: async ({ typed }, run) => {
        if (vehicleCount > 0 && typed.trim() !== name) throw fieldError('typed', t('This is not the fleet’s name.'));
        await run(deleteFleet, { id });
        go('#/fleets');
        return t('“{name}” is deleted.', fleet);
      },
    });
  })();
