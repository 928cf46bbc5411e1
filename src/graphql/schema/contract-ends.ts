import { z } from 'zod';
import { contractCommands, contractWithVehicleSchema, MOST_CONTRACTS_AT_ONCE } from '../../core/contracts/contract.ts';
import {
  deleteContract,
  deleteContracts,
  deleteContractsInput,
  deletedContractsSchema,
} from '../../core/contracts/delete-contracts.ts';
import {
  endContract,
  endContracts,
  endContractsInput,
  endedContractsSchema,
} from '../../core/contracts/end-contracts.ts';
import { ContractFilterRef } from './contracts.ts';
import { addMutation, idInputSchema, resultOf } from './described.ts';
import { asManyAsNamed } from './vehicles.ts';

addMutation('endContract', {
  ...contractCommands.endContract,
  input: idInputSchema('contract', 'The contract to end.'),
  payload: resultOf('ending a contract', {
    contract: contractWithVehicleSchema.describe('The contract as it is now.'),
  }),
  change: async (ctx, input) => ({ contract: await endContract(ctx, input) }),
});

const ids = { type: ['ID'] as never };
const severalContracts = z.array(contractWithVehicleSchema);

addMutation(
  'endContracts',
  {
    ...contractCommands.endContracts,
    input: endContractsInput,
    payload: endedContractsSchema
      .extend({ contracts: severalContracts.describe('The contracts that were ended, with their end.') })
      .describe('The result of ending contracts.'),
    change: endContracts,
  },
  {
    input: { filter: { type: ContractFilterRef } },
    payload: {
      contracts: { extensions: { size: MOST_CONTRACTS_AT_ONCE } },
      alreadyEnded: ids,
      notBegun: ids,
      notFound: ids,
    },
  },
);

addMutation(
  'deleteContracts',
  {
    ...contractCommands.deleteContracts,
    input: deleteContractsInput,
    payload: deletedContractsSchema
      .extend({ deleted: severalContracts.describe('The contracts that were deleted, as they were before.') })
      .describe('The result of deleting contracts.'),
    change: deleteContracts,
  },
  { payload: { deleted: asManyAsNamed, notFound: ids } },
);

addMutation('deleteContract', {
  ...contractCommands.deleteContract,
  input: idInputSchema('contract', 'The contract to delete.'),
  payload: resultOf('deleting a contract', {
    contract: contractWithVehicleSchema.describe('The contract as it was before its deletion.'),
  }),
  change: async (ctx, input) => ({ contract: await deleteContract(ctx, input) }),
});
