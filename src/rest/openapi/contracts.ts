import { z } from 'zod';
import { contractStatuses } from '../../core/contracts/contracts.ts';
import { createContractInput } from '../../core/contracts/create-contract.ts';
import { field } from '../../core/fields.ts';
import type { RouteDocs } from './route-docs.ts';

const contractJson = z
  .object({
    id: field(z.uuid(), 'Identifies the contract.', '019aa1b2-7d4e-7f50-9b7c-1d2e3f4a5b6c'),
    company: field(z.string(), 'The company whose vehicle it is.', 'acme'),
    fleetId: field(z.uuid(), 'The fleet.', '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b'),
    name: field(z.string(), 'Any name.', 'Fuel data, 2027'),
    description: field(z.string(), 'What it is for.', 'Fuel level of the Berlin vans'),
    vin: field(z.string(), 'The vehicle: one of that fleet.', 'WBA3A5C50CF256985'),
    manufacturer: field(z.string().nullable(), 'The maker of the vehicle; null if the VIN does not tell.', 'bmw'),
    from: field(z.iso.datetime(), 'Its first moment.', '2027-01-01T00:00:00.000Z'),
    to: field(z.iso.datetime(), 'The moment it ends; it no longer holds then.', '2028-01-01T00:00:00.000Z'),
    pack: field(z.string(), 'What data it is for. A vehicle has one contract for a pack at a time.', 'fuel'),
    status: field(z.enum(contractStatuses), 'Where its period stands to the present.', 'SCHEDULED'),
    createdAt: field(z.iso.datetime(), 'When it was created.', '2026-11-20T08:00:00.000Z'),
  })
  .meta({ id: 'Contract', description: 'Ties a vehicle to a pack of its manufacturer for a period of time.' });

const open = 'Where contracts are open, no token is needed; one that is sent confines you to its company.';

export const contractDocs = {
  create: {
    operationId: 'createContract',
    tag: 'Contracts',
    summary: 'Create a contract',
    description: `Ties a vehicle of a fleet to a pack for a period. ${open}`,
    body: { input: createContractInput, fields: contractJson },
    answers: { 201: { description: 'The new contract.', schema: contractJson, headers: ['Location'] } },
    errors: ['FLEET_NOT_FOUND', 'VEHICLE_NOT_FOUND', 'CONTRACT_OVERLAP'],
  },
  list: {
    operationId: 'listContracts',
    tag: 'Contracts',
    summary: 'List the contracts of a company',
    description: `The contracts of the company that \`conditions\` name, oldest first. ${open}`,
    query: ['conditions', 'limit', 'after'],
    answers: { 200: { description: 'The contracts.', schema: z.array(contractJson), headers: ['Link'] } },
  },
  get: {
    operationId: 'getContract',
    tag: 'Contracts',
    summary: 'Get a contract',
    description: `One contract. ${open}`,
    answers: { 200: { description: 'The contract.', schema: contractJson } },
    errors: ['CONTRACT_NOT_FOUND'],
  },
  delete: {
    operationId: 'deleteContract',
    tag: 'Contracts',
    summary: 'Delete a contract',
    description: `Deletes a contract, whether it is in force or not. ${open}`,
    answers: { 204: { description: 'It is deleted.' } },
    errors: ['CONTRACT_NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
