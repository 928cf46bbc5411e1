import { authorize } from '../../core/context.ts';
import {
  type Contract,
  contractFilter,
  countContracts,
  deleteContract,
  getContract,
  listContracts,
} from '../../core/contracts/contracts.ts';
import { createContract, createContractInput } from '../../core/contracts/create-contract.ts';
import { readPage } from '../../core/sql/page.ts';
import type { Needs } from '../execution/scopes.ts';
import { builder } from './builder.ts';
import { connect, connectionType, pageArgs } from './connection.ts';
import { FleetRef } from './fleets.ts';
import { ManufacturerRef, manufacturerOf } from './manufacturers.ts';
import { mutate } from './mutation.ts';
import { judgedBy } from './validation.ts';
import { VehicleRef } from './vehicles.ts';

const ContractStatusType = builder.enumType('ContractStatus', {
  description: 'Where the clock stands to the period of a contract.',
  values: {
    SCHEDULED: { description: 'It has not begun.' },
    ACTIVE: { description: 'It is in force.' },
    ENDED: { description: 'It is over.' },
  },
});

export const ContractRef = builder.objectRef<Contract>('Contract');

builder.objectType(ContractRef, {
  description: 'A pack of a manufacturer’s data services for one vehicle and one period.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUID; the same as in REST.' }),
    company: t.exposeString('company', { description: 'The company it belongs to, as tokens name it.' }),
    fleet: t.field({
      type: FleetRef,
      description: 'The fleet of the vehicle.',
      resolve: ({ fleetId }, _args, { loaders }) => loaders.fleet(fleetId),
    }),
    vehicle: t.field({
      type: VehicleRef,
      description: 'The vehicle.',
      resolve: ({ vehicleId }, _args, { loaders }) => loaders.vehicle(vehicleId),
    }),
    name: t.exposeString('name', { description: 'Its name.' }),
    description: t.exposeString('description', { description: 'What it is about.' }),
    vin: t.exposeString('vin', { description: 'The VIN of the vehicle.' }),
    manufacturer: t.field({
      type: ManufacturerRef,
      nullable: true,
      description: 'The maker of the vehicle; null when the VIN does not tell.',
      resolve: ({ manufacturer }, _args, { ctx }) => manufacturerOf(ctx, manufacturer),
    }),
    from: t.expose('from', { type: 'DateTime', description: 'When it begins.' }),
    to: t.expose('to', { type: 'DateTime', description: 'When it ends; this moment is no longer part of it.' }),
    pack: t.exposeString('pack', { description: 'The pack of services.' }),
    status: t.field({
      type: ContractStatusType,
      description: 'Follows from the clock.',
      resolve: ({ status }) => status,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
  }),
});

export const ContractConnection = connectionType('Contract', ContractRef);

export const ContractFilter = builder.inputType('ContractFilter', {
  description: 'Which contracts: those that fit everything that is given.',
  validate: judgedBy(contractFilter),
  fields: (t) => ({
    fleetId: t.id({ description: 'For vehicles of this fleet.' }),
    vin: t.string({ description: 'For the vehicle with this VIN.' }),
    pack: t.string({ description: 'For this pack.' }),
    status: t.field({ type: ContractStatusType, description: 'With this status.' }),
  }),
});

builder.queryField('contracts', (t) =>
  t.field({
    type: ContractConnection,
    description: 'The contracts of the company, oldest first.',
    args: { ...pageArgs, filter: t.arg({ type: ContractFilter, description: 'Only contracts that fit all of this.' }) },
    extensions: { scope: 'contracts:read' } satisfies Needs,
    resolve(_root, { filter, ...args }, { ctx }) {
      const company = authorize(ctx, 'contracts:read');
      return connect(
        readPage(args),
        (page) => listContracts(ctx, { company, page, filter }),
        () => countContracts(ctx, { company, filter }),
      );
    },
  }),
);

builder.queryField('contract', (t) =>
  t.field({
    type: ContractRef,
    nullable: true,
    description: 'One contract. Errors: CONTRACT_NOT_FOUND.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    extensions: { scope: 'contracts:read' } satisfies Needs,
    resolve: (_root, { id }, { ctx }) => getContract(ctx, { id }),
  }),
);

const CreateContractInput = builder.inputType('CreateContractInput', {
  description: 'A new contract. Texts are trimmed.',
  fields: (t) => ({
    fleetId: t.id({ required: true, description: 'The fleet of the vehicle.' }),
    name: t.string({ required: true, description: 'Its name: 1 to 255 characters.' }),
    description: t.string({ required: true, description: 'What it is about: 1 to 2,000 characters.' }),
    vin: t.string({ required: true, description: 'The VIN of a vehicle of the fleet.' }),
    from: t.field({ type: 'DateTime', required: true, description: 'When it begins.' }),
    to: t.field({ type: 'DateTime', required: true, description: 'When it ends; later than `from`.' }),
    pack: t.string({ required: true, description: 'The pack of services, from the catalogue where there is one.' }),
  }),
});

const CreateContractPayload = builder.objectRef<{ contract: Contract }>('CreateContractPayload').implement({
  description: 'The new contract.',
  fields: (t) => ({ contract: t.expose('contract', { type: ContractRef, description: 'The contract.' }) }),
});

builder.mutationField('createContract', (t) =>
  t.field({
    type: CreateContractPayload,
    nullable: true,
    description:
      'Ties a vehicle to a pack for a period. Errors: FLEET_NOT_FOUND, VEHICLE_NOT_FOUND (not in that fleet), CONTRACT_OVERLAP (with `extensions.conflicts`, ids of contracts), VALIDATION_FAILED.',
    args: {
      input: t.arg({
        type: CreateContractInput,
        required: true,
        description: 'What it is like.',
        validate: judgedBy(createContractInput),
      }),
    },
    extensions: { scope: 'contracts:write' } satisfies Needs,
    resolve: mutate(async (ctx, input) => ({ contract: await createContract(ctx, input) })),
  }),
);

const DeleteContractInput = builder.inputType('DeleteContractInput', {
  description: 'The contract to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Its id.' }) }),
});

const DeleteContractPayload = builder.objectRef<{ contract: Contract }>('DeleteContractPayload').implement({
  description: 'The deleted contract.',
  fields: (t) => ({ contract: t.expose('contract', { type: ContractRef, description: 'The contract as it was.' }) }),
});

builder.mutationField('deleteContract', (t) =>
  t.field({
    type: DeleteContractPayload,
    nullable: true,
    description: 'Deletes a contract. Errors: CONTRACT_NOT_FOUND.',
    args: { input: t.arg({ type: DeleteContractInput, required: true, description: 'Which one.' }) },
    extensions: { scope: 'contracts:write' } satisfies Needs,
    resolve: mutate(async (ctx, input) => ({ contract: await deleteContract(ctx, input) })),
  }),
);
