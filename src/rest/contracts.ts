import { z } from 'zod';
import { type Contract, deleteContract, getContract, listContracts } from '../core/contracts.ts';
import { createContract } from '../core/create-contract.ts';
import { ValidationFailed } from '../core/errors.ts';
import { readInput } from '../core/input.ts';
import { listAnswer, pageAnswer, type Route, readListQuery } from './route.ts';

const shape = (contract: Contract) => ({
  id: contract.id,
  company: contract.company,
  fleetId: contract.fleetId,
  name: contract.name,
  description: contract.description,
  vin: contract.vin,
  manufacturer: contract.manufacturer,
  from: contract.from,
  to: contract.to,
  pack: contract.pack,
  status: contract.status,
  createdAt: contract.createdAt,
});

const conditionsQuery = z.object({ conditions: z.string('is required: a JSON object such as {"company":"acme"}') });
const conditionsFields = z.object(
  { company: z.string('is required and must be a string').min(1, 'must not be empty') },
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
    body: 'json',
    token: 'optional',
    async answer(ctx, { body }) {
      const contract = await createContract(ctx, body);
      return { status: 201, headers: { Location: `/contracts/${contract.id}` }, body: shape(contract) };
    },
  },
  {
    method: 'GET',
    path: '/contracts',
    token: 'optional',
    async answer(ctx, { query }) {
      const { company, text } = readConditions(query);
      const page = readListQuery(query);
      if (!page) return listAnswer((part) => listContracts(ctx, { company, page: part }), shape);
      const path = `/contracts?conditions=${encodeURIComponent(text)}`;
      return pageAnswer(await listContracts(ctx, { company, page }), page, path, shape);
    },
  },
  {
    method: 'GET',
    path: '/contracts/:id',
    token: 'optional',
    answer: async (ctx, { params }) => ({ status: 200, body: shape(await getContract(ctx, { id: params.id ?? '' })) }),
  },
  {
    method: 'DELETE',
    path: '/contracts/:id',
    token: 'optional',
    async answer(ctx, { params }) {
      await deleteContract(ctx, { id: params.id ?? '' });
      return { status: 204 };
    },
  },
];
