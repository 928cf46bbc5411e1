import { z } from 'zod';
import { contract, contractOrders, createContractInput } from '../core/contracts/contract.ts';
import { contractRows, deleteContract, getContract, listContracts } from '../core/contracts/contracts.ts';
import { createContract } from '../core/contracts/create-contract.ts';
import { ValidationFailed } from '../core/errors.ts';
import { mustBe, readInput, storable } from '../core/input.ts';
import { jsonWriter } from '../core/sql/read.ts';
import { shapeOf } from '../core/sql/selection.ts';
import { expectedBy } from './etag.ts';
import { get, listAnswer, post, type RestRequest, remove } from './route.ts';

const open = 'Where contracts are open, no token is needed; one that is sent confines you to its company.';

const asJson = jsonWriter(contractRows.members, contract);
const shape = shapeOf(contract);

const conditionsQuery = z.object({ conditions: z.string('is required: a JSON object such as {"company":"acme"}') });
const conditionsFields = z.object(
  { company: storable(z.string(mustBe('a string')).min(1, 'must not be empty')) },
  'must be a JSON object',
);

/** The company whose contracts are wanted. */
function readConditions({ query }: RestRequest): string {
  const { conditions: text } = readInput(conditionsQuery, query);
  let conditions: unknown;
  try {
    conditions = JSON.parse(text);
  } catch {
    throw new ValidationFailed([
      {
        path: 'conditions',
        code: 'INVALID_FORMAT',
        message: 'is not JSON; write it as {"company":"acme"}, URL-encoded',
      },
    ]);
  }
  return readInput(z.object({ conditions: conditionsFields }), { conditions }).conditions.company;
}

export const contractRoutes = [
  post('/contracts', {
    scope: 'contracts:write',
    token: 'optional',
    operationId: 'createContract',
    etag: true,
    tag: 'Contracts',
    summary: 'Create a contract',
    description: `Ties a vehicle of a fleet to a pack for a period. ${open}`,
    body: createContractInput,
    answers: { 201: { description: 'The new contract.', schema: contract, headers: ['Location'] } },
    errors: ['FLEET_NOT_FOUND', 'VEHICLE_NOT_FOUND', 'CONTRACT_OVERLAP'],
    async answer(ctx, { body }) {
      const made = await createContract(ctx, body);
      return { headers: { Location: `/contracts/${made.id}` }, body: shape(made) };
    },
  }),
  get('/contracts', {
    scope: 'contracts:read',
    token: 'optional',
    operationId: 'listContracts',
    tag: 'Contracts',
    summary: 'List the contracts of a company',
    description: `The contracts of the company that \`conditions\` name, oldest first unless \`sort\` says otherwise. ${open}`,
    query: ['conditions', 'sortContracts', 'limit', 'after'],
    answers: { 200: { description: 'The contracts.', schema: z.array(contract), headers: ['Link'] } },
    answer(ctx, request) {
      const company = readConditions(request);
      const list = { filter: conditionsQuery, orders: contractOrders };
      return listAnswer(request, (page) => listContracts(ctx, asJson, { company, page }), list);
    },
  }),
  get('/contracts/:id', {
    scope: 'contracts:read',
    token: 'optional',
    operationId: 'getContract',
    etag: true,
    tag: 'Contracts',
    summary: 'Get a contract',
    description: `One contract. ${open}`,
    answers: { 200: { description: 'The contract.', schema: contract } },
    errors: ['CONTRACT_NOT_FOUND'],
    answer: async (ctx, { params }) => ({ body: shape(await getContract(ctx, params)) }),
  }),
  remove('/contracts/:id', {
    scope: 'contracts:write',
    token: 'optional',
    operationId: 'deleteContract',
    etag: true,
    tag: 'Contracts',
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
