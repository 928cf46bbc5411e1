import { ask, askIfAllowed, fieldError } from './api.js';
import { attempt, openDialog } from './dialog.js';
import { changesOf } from './field.js';
import { go, hrefOf } from './router.js';
import { counted } from './words.js';

const createFleet = `mutation CreateFleet($input: CreateFleetInput!) {
  createFleet(input: $input) { fleet { id name } }
}`;
const updateFleet = `mutation UpdateFleet($input: UpdateFleetInput!) {
  updateFleet(input: $input) { fleet { id name companyAddress email vat } }
}`;
const deleteFleet = `mutation DeleteFleet($id: ID!) {
  deleteFleet(input: { id: $id }) { fleet { id name } }
}`;
const contentsQuery = `query Contents($id: ID!) {
  fleet(id: $id) { id name vehicleCount }
}`;
const contractsQuery = `query ContractsInFleet($id: ID!) {
  fleet(id: $id) { contracts(first: 1) { totalCount } }
}`;

const fieldsOf = (fleet = {}) =>
  [
    { name: 'name', label: 'Name' },
    { name: 'companyAddress', label: 'Company address', autocomplete: 'street-address' },
    { name: 'email', label: 'E-mail of who answers for it', type: 'email', autocomplete: 'email' },
    { name: 'vat', label: 'VAT number' },
  ].map((field) => ({ ...field, value: fleet[field.name] }));

/** Asks for a new fleet, and goes there. */
export const newFleet = () =>
  openDialog({
    title: 'New fleet',
    fields: fieldsOf(),
    verb: 'Create fleet',
    send: async (input, run) => {
      const { fleet } = (await run(createFleet, { input })).createFleet;
      go(hrefOf(['fleets', fleet.id]));
      return `“${fleet.name}” is there.`;
    },
  });

/** Asks what is to be changed of a fleet, and sends that alone. */
export const editFleet = (fleet) =>
  openDialog({
    title: 'Edit fleet',
    fields: fieldsOf(fleet),
    verb: 'Save',
    send: async (values, run) => {
      const changes = changesOf(values, fleet);
      if (Object.keys(changes).length === 0) return 'Nothing was changed.';
      await run(updateFleet, { input: { id: fleet.id, ...changes } });
      return 'Saved.';
    },
  });

/** Asks whether a fleet is to be deleted, and for its name where vehicles go with it. */
export const removeFleet = (id) =>
  attempt(async () => {
    const { fleet } = await ask(contentsQuery, { id });
    const { name, vehicleCount } = fleet;
    const contracts = (await askIfAllowed(contractsQuery, { id }))?.fleet.contracts.totalCount;
    const known = contracts === undefined ? 'their contracts' : counted(contracts, 'contract');
    const goes = `${counted(vehicleCount, 'vehicle')} and ${known}`;
    openDialog({
      title: `Delete “${name}”?`,
      about: vehicleCount > 0 ? `${goes} are deleted with it. This cannot be undone.` : 'It has no vehicles.',
      fields: vehicleCount > 0 ? [{ name: 'typed', label: `Type the fleet’s name: ${name}` }] : [],
      verb: 'Delete fleet',
      danger: true,
      send: async ({ typed }, run) => {
        if (vehicleCount > 0 && typed.trim() !== name) throw fieldError('typed', 'This is not the fleet’s name.');
        await run(deleteFleet, { id });
        go('#/fleets');
        return `“${name}” is deleted.`;
      },
    });
  })();
