import { z } from 'zod';
import { contractSchema, contractSortOrders, createContractInput } from '../core/contracts/contract.ts';
import { contractResource, deleteContract, getContract, listContracts } from '../core/contracts/contracts.ts';
import { createContract } from '../core/contracts/create-contract.ts';
import { readInput, storableText } from '../core/input.ts';
import { jsonRowWriter } from '../core/sql/read.ts';
import { fieldCopier } from '../core/sql/selection.ts';
import { expectedBy } from './etag.ts';
import { listAnswer, operations } from './route.ts';

const open = 'Where contracts are open, no token is needed; one that is sent confines you to its company.';

const asJson = jsonRowWriter(contractResource.members, contractSchema);
const shape = fieldCopier(contractSchema);

const company = storableText(z.string().min(1, 'must not be empty'));
const conditions = z
  .string('is required: a JSON object such as {"company":"acme"}')
  .transform((text, issues) => {
    try {
      return JSON.parse(text);
    } catch {
      const message = 'is not JSON; write it as {"company":"acme"}, URL-encoded';
      issues.addIssue({ code: 'invalid_format', format: 'json', message });
    }
  })
  .pipe(z.object({ company }));
const contractsQuery = z.object({ conditions });

const { get, post, remove } = operations('Contracts', { scopes: 'contracts', token: 'optional' });

export const contractRoutes = [
  post('/contracts', 'createContract', {
    etag: true,
    summary: 'Create a contract',
    description: `Ties a vehicle of a fleet to a pack for a period. ${open}`,
    body: createContractInput,
    answers: { 201: { description: 'The new contract.', schema: contractSchema, headers: ['Location'] } },
    errors: ['FLEET_NOT_FOUND', 'VEHICLE_NOT_FOUND', 'CONTRACT_OVERLAP'],
    async answer(ctx, { body }) {
      const made = await createContract(ctx, body);
      return { headers: { Location: `/contracts/${made.id}` }, body: shape(made) };
    },
  }),
  get('/contracts', 'listContracts', {
    summary: 'List the contracts of a company',
    description: `The contracts of the company that \`conditions\` name, oldest first unless \`sort\` says otherwise. ${open}`,
    query: ['conditions', 'sortContracts', 'limit', 'after'],
    answers: { 200: { description: 'The contracts.', schema: z.array(contractSchema), headers: ['Link'] } },
    answer(ctx, request) {
      const { company } = readInput(contractsQuery, request.query).conditions;
      const list = { filter: contractsQuery, orders: contractSortOrders };
      return listAnswer(request, (page) => listContracts(ctx, asJson, { company, page }), list);
    },
  }),
  get('/contracts/:id', 'getContract', {
    etag: true,
    summary: 'Get a contract',
    description: `One contract. ${open}`,
    answers: { 200: { description: 'The contract.', schema: contractSchema } },
    errors: ['CONTRACT_NOT_FOUND'],
    answer: async (ctx, { params }) => ({ body: shape(await getContract(ctx, params)) }),
  }),
  remove('/contracts/:id', 'deleteContract', {
    etag: true,
    summary: 'Delete a contract',
    description: `Deletes a contract, whether it is in force or not. ${open}`,
    answers: { 204: { description: 'It is deleted.' } },
    errors: ['CONTRACT_NOT_FOUND'],
    async answer(ctx, request) {
      await deleteContract(ctx, request.params, expectedBy(request, shape));
      return {};
    },
  }),
];
