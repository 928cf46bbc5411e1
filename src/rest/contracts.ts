import { z } from 'zod';
import {
  type ContractFilter,
  contractCommands,
  contractFilterSchema,
  contractSchema,
  newContractSchema,
  updateContractInput,
} from '../core/contracts/contract.ts';
import { getContract, listContracts } from '../core/contracts/contracts.ts';
import { createContract } from '../core/contracts/create-contract.ts';
import {
  createContracts,
  createdContractsSchema,
  newContractsSchema,
  refuseIfNoContract,
} from '../core/contracts/create-contracts.ts';
import {
  deleteContract,
  deleteContracts,
  deleteContractsInput,
  deletedContractsSchema,
} from '../core/contracts/delete-contracts.ts';
import { endContract, endContracts, endContractsInput, endedContractsSchema } from '../core/contracts/end-contracts.ts';
import { listPacks, packSchema, warningsSchema } from '../core/contracts/packs.ts';
import { refreshOneActivation } from '../core/contracts/refresh-activation.ts';
import { updateContract } from '../core/contracts/update-contract.ts';
import { readInput, storableText } from '../core/input.ts';
import { copierOf } from '../core/sql/selection.ts';
import { readDryRun } from './add-query.ts';
import { tagOf } from './etag.ts';
import { contractsAnswer, contractsDocs } from './export.ts';
import { readQuery } from './list.ts';
import { inRest, membersOf, type Operation, operations, type RestRequest, splitCommas } from './route.ts';

const open =
  'Where contracts are open (`CONTRACTS_AUTH`), no token is needed; one that is sent confines the request to its company.';

/** A new contract, with what can be said beforehand about its effect. */
const createdContractSchema = contractSchema
  .extend({ warnings: warningsSchema.optional() })
  .meta({ id: 'CreatedContract', description: 'A new contract, with the reasons for which it may have no effect.' });
const copyContract = copierOf(contractSchema);
const copyAllCreated = copierOf(createdContractsSchema);

const company = storableText(z.string().min(1, 'must not be empty'));
const conditionsQuery = z.object({
  conditions: z
    .string('is required: a JSON object such as {"company":"acme"}')
    .transform((text, issues) => {
      try {
        return JSON.parse(text);
      } catch {
        const message = 'is not JSON; write it as {"company":"acme"}, URL-encoded';
        issues.addIssue({ code: 'invalid_format', format: 'json', message });
      }
    })
    .pipe(z.object({ company })),
});
/** Filters that REST names by one value, so that faults have these names. */
const { statuses: status, packs: pack, fleetIds: fleetId } = contractFilterSchema.shape;
const severalQuery = z.object({
  status: z.preprocess(splitCommas, status),
  fleetId: z.preprocess(splitCommas, fleetId),
  pack,
});

function readFilter(request: RestRequest): ContractFilter {
  const given = readQuery(request);
  const { status: statuses, pack: packs, fleetId: fleetIds } = readInput(severalQuery, given);
  const { status: _, pack: __, fleetId: ___, ...others } = given;
  return { ...others, statuses, packs, fleetIds };
}

const parameters = [
  ...(['conditions', 'contractStatus', 'activationState', 'activationReason', 'contractPack', 'contractVin'] as const),
  ...(['contractFleetId', 'contractName', 'sortContracts', 'limit', 'after'] as const),
];

const ofCompany = operations('Contracts', { scopes: 'contracts' });
const { get, patch, post, remove } = operations('Contracts', {
  scopes: 'contracts',
  token: 'optional',
  resource: contractSchema,
  missing: 'CONTRACT_NOT_FOUND',
});

const deletion = {
  ...inRest(contractCommands.deleteContracts, open),
  body: deleteContractsInput,
  answers: {
    200: {
      description: 'The contracts that were deleted, and the ids that name none.',
      schema: deletedContractsSchema,
    },
  },
  result: (ctx, { body }) => deleteContracts(ctx, body),
} satisfies Partial<Operation>;

export const contractRoutes = [
  post('/contracts', 'createContract', {
    etag: true,
    summary: 'Create a contract',
    ...inRest(contractCommands.createContract, open),
    query: ['dryRunContracts'],
    body: newContractSchema,
    answers: {
      201: { description: 'The new contract.', schema: createdContractSchema, headers: ['Location'] },
      200: { description: 'The contract as it would be, of a dry run.', schema: createdContractSchema },
    },
    async answer(ctx, request) {
      const dryRun = readDryRun(request);
      const { contract, warnings } = await createContract(ctx, { ...membersOf(request), dryRun });
      const resource = copyContract(contract) as object;
      const body = warnings.length > 0 ? { ...resource, warnings } : resource;
      if (dryRun) return { status: 200, body };
      // The tag of a later read, which has no warnings.
      const headers = { Location: `/contracts/${contract.id}`, ETag: tagOf(JSON.stringify(resource)) };
      return { status: 201, headers, body };
    },
  }),
  post('/contracts/bulk', 'createContracts', {
    summary: 'Create contracts for several vehicles',
    ...inRest(contractCommands.createContracts, `If no vehicle can, the answer is 400. ${open}`),
    query: ['dryRunContracts'],
    body: newContractsSchema,
    answers: {
      201: { description: 'The new contracts, and the vehicles that were rejected.', schema: createdContractsSchema },
      200: { description: 'The contracts as they would be, of a dry run.', schema: createdContractsSchema },
    },
    async answer(ctx, request) {
      const dryRun = readDryRun(request);
      const given = membersOf(request);
      const created = await createContracts(ctx, { ...given, dryRun });
      refuseIfNoContract(created, given);
      return { status: dryRun ? 200 : 201, body: copyAllCreated(created) };
    },
  }),
  ofCompany.get('/packs', 'listPacks', {
    summary: 'List packs',
    description:
      'Lists the packs of data services that the operator offers, and those that contracts of the company have, by name.',
    answers: { 200: { description: 'The packs, by name.', schema: z.array(packSchema) } },
    result: listPacks,
  }),
  get('/contracts', 'listContracts', {
    summary: 'List the contracts of a company',
    description: `Lists the contracts of the company in \`conditions\` that meet all filters, oldest first unless \`sort\` says otherwise. ${open}`,
    query: parameters,
    answers: { 200: contractsDocs },
    answer(ctx, request) {
      const { conditions } = readInput(conditionsQuery, request.query);
      const filter = readFilter(request);
      return contractsAnswer(request, (writer, page) => listContracts(ctx, writer, { ...conditions, page, filter }));
    },
  }),
  post('/contracts/:id/activation/refresh', 'refreshActivation', {
    summary: 'Ask the manufacturer about a contract again',
    description: `${contractCommands.refreshActivation.description} ${open}`,
    answers: { 202: 'The contract as it stands.' },
    result: (ctx, { params }) => refreshOneActivation(ctx, params),
  }),
  post('/contracts/:id/end', 'endContract', {
    etag: true,
    summary: 'End a contract',
    ...inRest(contractCommands.endContract, open),
    answers: { 200: 'The contract as it is now.' },
    result: (ctx, { params, expected }) => endContract(ctx, params, expected),
  }),
  post('/contracts/end', 'endContracts', {
    summary: 'End several contracts',
    ...inRest(contractCommands.endContracts, open),
    body: endContractsInput,
    answers: {
      200: {
        description: 'The contracts that were ended, and the ids of those that were not.',
        schema: endedContractsSchema,
      },
    },
    result: (ctx, { body }) => endContracts(ctx, body),
  }),
  remove('/contracts', 'deleteContracts', { summary: 'Delete several contracts', ...deletion }),
  post('/contracts/delete', 'deleteContractsByPost', {
    summary: 'Delete several contracts, by POST',
    ...deletion,
  }),
  get('/contracts/:id', 'getContract', {
    etag: true,
    summary: 'Get a contract',
    description: `Returns a contract. ${open}`,
    answers: { 200: 'The contract with this id.' },
    result: (ctx, { params }) => getContract(ctx, params),
  }),
  patch('/contracts/:id', 'updateContract', {
    etag: true,
    summary: 'Change a contract',
    ...inRest(contractCommands.updateContract, open),
    body: updateContractInput.omit({ id: true }),
    answers: { 200: 'The contract as it is now.' },
    result: (ctx, request) => updateContract(ctx, { ...membersOf(request), id: request.params.id }, request.expected),
  }),
  remove('/contracts/:id', 'deleteContract', {
    etag: true,
    summary: 'Delete a contract',
    ...inRest(contractCommands.deleteContract, open),
    answers: { 204: { description: 'The contract is deleted.' } },
    result: (ctx, { params, expected }) => deleteContract(ctx, params, expected),
  }),
];
