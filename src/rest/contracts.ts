import { z } from 'zod';
import { contract, contractOrders } from '../core/contracts/contract.ts';
import { contractRows, deleteContract, getContract, listContracts } from '../core/contracts/contracts.ts';
import { createContract } from '../core/contracts/create-contract.ts';
import { ValidationFailed } from '../core/errors.ts';
import { mustBe, readInput, storable } from '../core/input.ts';
import { jsonWriter } from '../core/sql/read.ts';
import { selectionOf, shapeOf } from '../core/sql/selection.ts';
import { expectedBy, getAnswer, taggedAnswer } from './etag.ts';
import { contractDocs } from './openapi/contracts.ts';
import { listAnswer, type Route } from './route.ts';

const asJson = jsonWriter(contractRows.members, selectionOf(contract));
const shape = shapeOf(contract);

const conditionsQuery = z.object({ conditions: z.string('is required: a JSON object such as {"company":"acme"}') });
const conditionsFields = z.object(
  { company: storable(z.string(mustBe('a string')).min(1, 'must not be empty')) },
  'must be a JSON object',
);

function readConditions(query: Readonly<Record<string, unknown>>): { company: string; text: string } {
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
  return { ...readInput(z.object({ conditions: conditionsFields }), { conditions }).conditions, text };
}

export const contractRoutes: Route[] = [
  {
    method: 'POST',
    path: '/contracts',
    scope: 'contracts:write',
    body: 'json',
    token: 'optional',
    docs: contractDocs.create,
    async answer(ctx, { body }) {
      const made = await createContract(ctx, body);
      return taggedAnswer(201, shape(made), { Location: `/contracts/${made.id}` });
    },
  },
  {
    method: 'GET',
    path: '/contracts',
    scope: 'contracts:read',
    token: 'optional',
    docs: contractDocs.list,
    answer(ctx, request) {
      const { company, text } = readConditions(request.query);
      const path = `/contracts?conditions=${encodeURIComponent(text)}`;
      return listAnswer(request, path, (page) => listContracts(ctx, asJson, { company, page }), contractOrders);
    },
  },
  {
    method: 'GET',
    path: '/contracts/:id',
    scope: 'contracts:read',
    token: 'optional',
    docs: contractDocs.get,
    answer: async (ctx, request) => getAnswer(request, shape(await getContract(ctx, { id: request.params.id ?? '' }))),
  },
  {
    method: 'DELETE',
    path: '/contracts/:id',
    scope: 'contracts:write',
    token: 'optional',
    docs: contractDocs.delete,
    async answer(ctx, request) {
      await deleteContract(ctx, { id: request.params.id ?? '' }, expectedBy(request, shape));
      return { status: 204 };
    },
  },
];
