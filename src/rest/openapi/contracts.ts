import { z } from 'zod';
import { contract, createContractInput } from '../../core/contracts/contract.ts';
import type { RouteDocs } from './route-docs.ts';

const open = 'Where contracts are open, no token is needed; one that is sent confines you to its company.';

export const contractDocs = {
  create: {
    operationId: 'createContract',
    tag: 'Contracts',
    summary: 'Create a contract',
    description: `Ties a vehicle of a fleet to a pack for a period. ${open}`,
    body: { input: createContractInput },
    answers: { 201: { description: 'The new contract.', schema: contract, headers: ['Location', 'ETag'] } },
    errors: ['FLEET_NOT_FOUND', 'VEHICLE_NOT_FOUND', 'CONTRACT_OVERLAP'],
  },
  list: {
    operationId: 'listContracts',
    tag: 'Contracts',
    summary: 'List the contracts of a company',
    description: `The contracts of the company that \`conditions\` name, oldest first unless \`sort\` says otherwise. ${open}`,
    query: ['conditions', 'sortContracts', 'limit', 'after'],
    answers: { 200: { description: 'The contracts.', schema: z.array(contract), headers: ['Link'] } },
  },
  get: {
    operationId: 'getContract',
    etag: true,
    tag: 'Contracts',
    summary: 'Get a contract',
    description: `One contract. ${open}`,
    answers: { 200: { description: 'The contract.', schema: contract } },
    errors: ['CONTRACT_NOT_FOUND'],
  },
  delete: {
    operationId: 'deleteContract',
    etag: true,
    tag: 'Contracts',
    summary: 'Delete a contract',
    description: `Deletes a contract, whether it is in force or not. ${open}`,
    answers: { 204: { description: 'It is deleted.' } },
    errors: ['CONTRACT_NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
