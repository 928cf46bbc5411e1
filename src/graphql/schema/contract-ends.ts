import { z } from 'zod';
import { contractWithVehicleSchema, MOST_CONTRACTS_AT_ONCE } from '../../core/contracts/contract.ts';
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
  endingContracts,
} from '../../core/contracts/end-contracts.ts';
import { ContractFilterRef } from './contracts.ts';
import { addMutation, idInputSchema, resultOf } from './described.ts';
import { asManyAsNamed } from './vehicles.ts';

const scope = 'contracts:write';

addMutation('endContract', {
  description: `Ends a contract in force: ${endingContracts} (CONTRACT_NOT_BEGUN). One that is over stays as it is.`,
  input: idInputSchema('contract', 'The contract to end.'),
  payload: resultOf('ending a contract', {
    contract: contractWithVehicleSchema.describe('The contract as it is now.'),
  }),
  scope,
  errors: ['CONTRACT_NOT_FOUND', 'CONTRACT_NOT_BEGUN'],
  change: async (ctx, input) => ({ contract: await endContract(ctx, input) }),
});

const ids = { type: ['ID'] as never };
const severalContracts = z.array(contractWithVehicleSchema);

addMutation(
  'endContracts',
  {
    description: `Ends contracts in force, by their ids or by a filter: ${endingContracts}. An unknown id is no error.`,
    input: endContractsInput,
    payload: endedContractsSchema
      .extend({ contracts: severalContracts.describe('The contracts that were ended, with their end.') })
      .describe('The result of ending contracts.'),
    scope,
    errors: ['VALIDATION_FAILED', 'PAYLOAD_TOO_LARGE'],
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
    description:
      'Deletes contracts, in force or not. Those that are active at the manufacturer are ended there. An unknown id is no error.',
    input: deleteContractsInput,
    payload: deletedContractsSchema
      .extend({ deleted: severalContracts.describe('The contracts that were deleted, as they were before.') })
      .describe('The result of deleting contracts.'),
    scope,
    errors: ['NOTHING_TO_DELETE', 'PAYLOAD_TOO_LARGE'],
    change: deleteContracts,
  },
  { payload: { deleted: asManyAsNamed, notFound: ids } },
);

addMutation('deleteContract', {
  description: 'Deletes a contract, in force or not. If it is active at the manufacturer, the gateway ends it there.',
  input: idInputSchema('contract', 'The contract to delete.'),
  payload: resultOf('deleting a contract', {
    contract: contractWithVehicleSchema.describe('The contract as it was before its deletion.'),
  }),
  scope,
  errors: ['CONTRACT_NOT_FOUND'],
  change: async (ctx, input) => ({ contract: await deleteContract(ctx, input) }),
});
