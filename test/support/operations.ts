import { openApiDocument } from '../../src/rest/openapi/openapi-document.ts';
import type { Json } from './client.ts';
import { contractFields, fleetFields, newVin, unknownId } from './factories.ts';
import {
  all,
  asPage,
  body,
  listed,
  mutation,
  type Operation,
  one,
  page,
  paging,
  query,
  renamed,
  rest,
  subscription,
  type Twin,
  withNames,
} from './operation.ts';
import type { World } from './worlds.ts';

const fleet = all('Fleet', 'eligibilitySummary');
// REST shows part of a vehicle's eligibility here, and all of it at /vehicles/eligibility/{vin}.
const vehicle = `${all('Vehicle', 'eligibility')} eligibility { status eligible verifiedAt }`;
const contract = all('Contract', 'vehicle');

const long = 'x'.repeat(256);
const wrongFleets: Record<string, Json> = {
  'empty and long texts': { name: ' ', companyAddress: long, email: 'no address', vat: '\0' },
  'texts of a wrong kind': { ...fleetFields, name: 5, vat: true },
  'texts that are null': { ...fleetFields, name: null },
  'texts that are missing': { email: fleetFields.email },
};

const deletion = (path: string): Operation => ({
  ...mutation('deleteVehicles', 'deleted { vehicleId vin } notFound { ids vins }'),
  others: 'FLEET_NOT_FOUND',
  cases: {
    'ids and VINs': body(path, ({ fleetId, vehicleId, otherVin, elsewhereVin }) => ({
      fleetId,
      ids: [vehicleId, unknownId, 'no id'],
      vins: [otherVin.toLowerCase(), elsewhereVin, 'SHORT'],
    })),
    'nothing that is there': body(path, ({ fleetId }) => ({ fleetId, vins: ['SHORT'] })),
    'nothing named': body(path, ({ fleetId }) => ({ fleetId })),
    'empty lists': body(path, ({ fleetId }) => ({ fleetId, ids: [], vins: [] })),
    'an unknown fleet': body(path, ({ vehicleId }) => ({ fleetId: unknownId, ids: [vehicleId] })),
    'no fleet': body(path, ({ vehicleId }) => ({ ids: [vehicleId] })),
    'values of a wrong kind': body(path, ({ fleetId }) => ({ fleetId, vins: [1, true] })),
  },
});

const deletionOfContracts = (path: string): Operation => ({
  ...mutation('deleteContracts', `deleted { ${contract} } notFound`),
  scope: 'contracts:write',
  cases: {
    ids: body(path, ({ contractId }) => ({ ids: [contractId, unknownId, 'no id'] })),
    'no id': body(path, () => ({ ids: [] })),
    'no list': body(path, () => ({})),
    'too many ids': body(path, () => ({ ids: Array(1001).fill(unknownId) })),
  },
});

/** REST refuses a list of VINs that is wholly wrong. */
const refusedList = (rejected: false | Json[], details: Json) =>
  rejected && {
    code: 'VALIDATION_FAILED',
    faults: rejected.map(({ code }, at) => `vins.${at} ${code}`),
    details,
  };

const added = (input: (world: World) => Json, search: Json = {}, more: Json = {}) =>
  body(`/vehicles${Object.keys(search).length > 0 ? `?${new URLSearchParams(search)}` : ''}`, input, more);

const csv = (text: string, type = 'text/csv') => new Blob([text], { type });
const uploaded =
  (file: Blob, search: Record<string, string> = {}, more: Json = {}, to?: string) =>
  (world: World) => {
    const form = new FormData();
    form.append('fleetId', to ?? world.fleetId);
    form.append('vins', file, 'vins.csv');
    const importId: Record<string, string> = search.importId === 'known' ? { importId: world.importId } : {};
    return {
      path: `/vehicles/file?${new URLSearchParams({ ...search, ...importId })}`,
      body: form,
      variables: { input: { fleetId: to ?? world.fleetId, file: null, ...more, ...importId } },
      file,
    };
  };

/** Cases of the list of vehicles: the query of REST, and the variables of GraphQL. */
const listedVehicles = (given: (world: World) => readonly [search: Record<string, string>, variables: Json]) => {
  return (world: World) => {
    const [search, variables] = given(world);
    return {
      path: `/vehicles?${new URLSearchParams({ ...search, limit: '100' })}`,
      variables: { ...variables, first: 100 },
    };
  };
};
const narrowed = (search: Record<string, string>, filter: Json) => listedVehicles(() => [search, { filter }]);
const NOW = '2100-01-01T00:00:00Z';

/** Cases of a list, one for each of its orders. */
const sortedBy = (path: string, fields: readonly string[], variables: (world: World) => Json = () => ({})) =>
  Object.fromEntries(
    fields.flatMap((field) =>
      ['ASC', 'DESC'].map((direction) => {
        const name = field.toLowerCase().replace(/_(\w)/, (_, letter: string) => letter.toUpperCase());
        const sort = direction === 'ASC' ? name : `-${name}`;
        const call = (world: World) => {
          const filled = path.replaceAll(/<(\w+)>/g, (_, key: keyof World) => encodeURIComponent(String(world[key])));
          return {
            path: `${filled}${filled.includes('?') ? '&' : '?'}limit=1&sort=${sort}`,
            variables: { ...variables(world), first: 1, orderBy: { field, direction } },
          };
        };
        return [`sorted by ${sort}`, call];
      }),
    ),
  );

const contracted = (fields: Json = {}) =>
  body('/contracts', (world) => ({ ...contractFields(world, { pack: 'fuel' }), ...fields }));

const bulk = (fields: (world: World) => Json) =>
  body('/contracts/bulk', (world) => {
    const { vin: _, ...terms } = contractFields(world, { pack: 'fuel' });
    return { ...terms, ...fields(world) };
  });

const mixed = [newVin(), newVin(0, 'ZFF'), 'SHORT'];

// An event names many vehicles: a page of 1,000 events would exceed the cost limit of GraphQL.
const { 'a list': _, 'a page too big': __, ...pagesOfEvents } = paging('/events');

const nodeIds = ['fleetId', 'vehicleId', 'contractId', 'importId', 'eventId', 'webhookId', 'deliveryId'] as const;
const anyNode = `__typename id ... on Fleet { name owned: vehicles { nodes { vin } } } ... on Vehicle { vin } ... on Contract { pack }
  ... on Import { received } ... on Event { type vehicles { vehicleId } } ... on Webhook { url } ... on Delivery { attempts request { body } }`;

const filtered = (filters: Record<string, (world: World) => Json>): Operation['cases'] =>
  Object.fromEntries(
    Object.entries(filters).map(([what, filter]) => [
      what,
      (world: World) => ({ path: '', variables: { filter: filter(world) } }),
    ]),
  );

/** All operations of the API, by REST operation or, if REST lacks it, by GraphQL field. */
export const operations: Readonly<Record<string, Operation>> = {
  'GET /fleets': {
    ...query('fleets', `${page}, $orderBy: FleetOrder`, listed(fleet)),
    asRest: asPage,
    renamed,
    cases: { ...paging('/fleets'), ...sortedBy('/fleets', ['CREATED_AT', 'NAME', 'VEHICLE_COUNT', 'ATTENTION_COUNT']) },
  },
  'POST /fleets': {
    ...mutation('createFleet', `fleet { ${fleet} }`),
    asRest: ({ fleet: made }) => made,
    cases: {
      'a fleet': body('/fleets', () => ({ ...fleetFields, name: '  Nørd 北 ' })),
      ...Object.fromEntries(Object.entries(wrongFleets).map(([what, fields]) => [what, body('/fleets', () => fields)])),
    },
  },
  'GET /fleets/:fleetId': {
    ...query('fleet', '$id: ID!', fleet),
    others: 'FLEET_NOT_FOUND',
    cases: one('/fleets/*', 'fleetId', 'id', ''),
  },
  'PATCH /fleets/:fleetId': {
    ...mutation('updateFleet', `fleet { ${fleet} }`),
    asRest: ({ fleet: changed }) => changed,
    others: 'FLEET_NOT_FOUND',
    cases: Object.fromEntries(
      Object.entries({
        'one field': { vat: ' DE2 ' },
        'no field': {},
        'empty and long texts': wrongFleets['empty and long texts'],
        'texts of a wrong kind': { name: 5, vat: true },
        'texts that are null': { name: null, email: null },
      }).flatMap(([what, fields]) => [
        [
          what,
          ({ fleetId }: World) => ({
            path: `/fleets/${fleetId}`,
            body: fields,
            variables: { input: { id: fleetId, ...fields } },
          }),
        ],
        [
          `${what}, of an unknown fleet`,
          () => ({ path: `/fleets/${unknownId}`, body: fields, variables: { input: { id: unknownId, ...fields } } }),
        ],
      ]),
    ),
  },
  'DELETE /fleets/:fleetId': {
    ...mutation('deleteFleet', `fleet { ${fleet} }`),
    asRest: ({ fleet: deleted }) => deleted,
    others: 'FLEET_NOT_FOUND',
    cases: one('/fleets/*', 'fleetId', 'id'),
  },
  'GET /fleets/:fleetId/vehicles': {
    ...query('fleet', '$id: ID!', ''),
    document: `query ($id: ID!, ${page}, $orderBy: VehicleOrder) { fleet(id: $id) {
      vehicles(first: $first, after: $after, orderBy: $orderBy) { ${listed(vehicle)} } } }`,
    asRest: ({ vehicles }) => asPage(vehicles),
    renamed,
    others: 'FLEET_NOT_FOUND',
    cases: {
      ...paging('/fleets/<fleetId>/vehicles', ({ fleetId }) => ({ id: fleetId })),
      ...sortedBy('/fleets/<fleetId>/vehicles', ['CREATED_AT', 'VIN', 'VERIFIED_AT'], ({ fleetId }) => ({
        id: fleetId,
      })),
      'of an unknown fleet': () => ({ path: `/fleets/${unknownId}/vehicles`, variables: { id: unknownId } }),
    },
  },
  'GET /vehicles': {
    ...query('vehicles', `${page}, $filter: VehicleFilter, $orderBy: VehicleOrder`, listed(vehicle)),
    asRest: asPage,
    renamed: {
      ...renamed,
      'filter.verifiedBefore': 'verifiedBefore',
      'filter.vin': 'vin',
    },
    cases: {
      ...paging('/vehicles'),
      ...sortedBy('/vehicles', ['CREATED_AT', 'VIN', 'VERIFIED_AT']),
      'of some statuses': narrowed({ eligibility: 'ELIGIBLE,FAILED' }, { eligibility: ['ELIGIBLE', 'FAILED'] }),
      'of one status': narrowed({ eligibility: 'PENDING' }, { eligibility: 'PENDING' }),
      'of a maker, by the beginning of their VINs': narrowed(
        { manufacturer: 'bmw', vin: 'wb-a' },
        { manufacturer: 'bmw', vin: 'wb-a' },
      ),
      'by the end of their VINs': narrowed({ vin: '0000' }, { vin: '0000' }),
      'of a fleet': listedVehicles(({ fleetId }) => [{ fleetId }, { filter: { fleetIds: [fleetId] } }]),
      'of several fleets': listedVehicles(({ fleetId }) => [
        { fleetId: `${fleetId}, ${unknownId},x` },
        { filter: { fleetIds: [fleetId, unknownId, 'x'] } },
      ]),
      'of an unknown fleet': narrowed({ fleetId: unknownId }, { fleetIds: [unknownId] }),
      'that somebody must act for': narrowed(
        { actor: 'CUSTOMER', reasonCode: 'VIN_REFUSED' },
        { actor: 'CUSTOMER', reasonCode: 'VIN_REFUSED' },
      ),
      'with an answer': narrowed(
        { verifiedAfter: '2001-01-01T00:00:00Z', verifiedBefore: NOW },
        { verifiedAfter: '2001-01-01T00:00:00Z', verifiedBefore: NOW },
      ),
      'before a time that is none': narrowed({ verifiedBefore: 'yesterday' }, { verifiedBefore: 'yesterday' }),
      'by what is no part of a VIN': narrowed({ vin: long }, { vin: long }),
      'of a code of another version': narrowed({ reasonCode: 'OTHER' }, { reasonCode: 'OTHER' }),
    },
  },
  'POST /vehicles': {
    ...mutation(
      'addVehicles',
      `summary { ${all('AddSummary')} } vehicles { ${vehicle} } rejected { ${all('RejectedVin')} }`,
    ),
    refusal: ({ summary, rejected }) =>
      refusedList(rejected.length === summary.received && rejected, { summary, rejected }),
    others: 'FLEET_NOT_FOUND',
    cases: {
      'new, known, repeated, wrong and someone else’s': added(({ fleetId, vin, elsewhereVin }) => ({
        fleetId,
        vins: [...mixed, vin, ` ${vin.toLowerCase()} `, elsewhereVin, '1.0E+16'],
      })),
      'nothing but wrong ones': added(({ fleetId }) => ({ fleetId, vins: ['SHORT', 'WBA0000000000000O'] })),
      'mode atomic': added(({ fleetId }) => ({ fleetId, vins: mixed }), { mode: 'atomic' }, { mode: 'ATOMIC' }),
      'a dry run': added(
        ({ fleetId, vin }) => ({ fleetId, vins: [...mixed, vin] }),
        { dryRun: 'true' },
        { dryRun: true },
      ),
      'an empty list': added(({ fleetId }) => ({ fleetId, vins: [] })),
      'values of a wrong kind': added(({ fleetId, vin }) => ({ fleetId, vins: [vin, 7, true] })),
      'no list': added(({ fleetId }) => ({ fleetId })),
      'a list that is null': added(({ fleetId }) => ({ fleetId, vins: null })),
      'no fleet': added(() => ({ vins: mixed })),
      'an unknown fleet': added(() => ({ fleetId: unknownId, vins: mixed })),
      'too many': added(({ fleetId }) => ({ fleetId, vins: Array(21).fill(mixed[0]) })),
      'an unknown mode': added(({ fleetId }) => ({ fleetId, vins: mixed }), { mode: 'some' }, { mode: 'SOME' }),
    },
  },
  'POST /vehicles/file': {
    ...mutation(
      'importVehicles',
      `import { id } sheet column summary { ${all('AddSummary')} } rejected { ${all('RejectedRow')} } duplicates { ${all('DuplicateRow')} }`,
    ),
    // Only REST names the address of the file with all refused rows.
    asRest: ({ import: run, ...told }) => ({
      importId: run.id,
      ...told,
      rejectedCsv: `/imports/${run.id}/rejected.csv`,
    }),
    renamed: { file: 'vins' },
    others: 'FLEET_NOT_FOUND',
    judgesImportId: true,
    cases: {
      'new, repeated and wrong rows': uploaded(csv(`vin\n${mixed.join('\n')}\n${mixed[0]}\n`)),
      'nothing but wrong rows': uploaded(csv('SHORT\nWBA0000000000000O\n')),
      'mode atomic': uploaded(csv(mixed.join('\n')), { mode: 'atomic' }, { mode: 'ATOMIC' }),
      'a dry run': uploaded(csv(mixed.join('\n')), { dryRun: 'true' }, { dryRun: true }),
      'no rows': uploaded(csv('vin\n')),
      'nothing at all': uploaded(csv('')),
      'a header without VINs': uploaded(csv('plate;colour\nB-XY 1;red\n')),
      'a picture': uploaded(csv('vin', 'image/png')),
      'a document': uploaded(csv('%PDF-1.7')),
      'a file too big': uploaded(csv(`${mixed[0]}\n`.repeat(600))),
      'an unknown fleet': uploaded(csv('vin\n'), {}, {}, unknownId),
      'an importId that is none': uploaded(csv('vin\n'), { importId: 'none' }, { importId: 'none' }),
      'another file’s importId': uploaded(csv(`vin\n${newVin()}\n`), { importId: 'known' }),
      'an unknown mode': uploaded(csv('vin\n'), { mode: 'some' }, { mode: 'SOME' }),
    },
  },
  'DELETE /vehicles': deletion('/vehicles'),
  'POST /vehicles/delete': deletion('/vehicles/delete'),
  'POST /vehicles/move': {
    ...mutation('moveVehicles', 'vehicles { id vin } notFound { ids vins }'),
    // Only REST says which fleet each vehicle has left; GraphQL shows the vehicles.
    asRest: ({ vehicles, notFound }, { fleetId, elsewhereVin }) => ({
      moved: vehicles.map(({ id, vin }: Json) => ({ id, vin, from: vin === elsewhereVin ? unknownId : fleetId })),
      notFound,
    }),
    others: 'FLEET_NOT_FOUND',
    cases: {
      'ids and VINs': body('/vehicles/move', ({ fleetId, vehicleId, otherVin, elsewhereVin }) => ({
        fleetId,
        ids: [vehicleId, unknownId, 'no id'],
        vins: [otherVin.toLowerCase(), elsewhereVin, 'SHORT'],
      })),
      'nothing that is there': body('/vehicles/move', ({ fleetId }) => ({ fleetId, vins: ['SHORT'] })),
      'nothing named': body('/vehicles/move', ({ fleetId }) => ({ fleetId })),
      'empty lists': body('/vehicles/move', ({ fleetId }) => ({ fleetId, ids: [], vins: [] })),
      'an unknown fleet': body('/vehicles/move', ({ vehicleId }) => ({ fleetId: unknownId, ids: [vehicleId] })),
      'no fleet': body('/vehicles/move', ({ vehicleId }) => ({ ids: [vehicleId] })),
      'values of a wrong kind': body('/vehicles/move', ({ fleetId }) => ({ fleetId, vins: [1, true] })),
    },
  },
  'GET /vehicles/:vehicleId': {
    ...query('vehicle', '$by: VehicleBy!', vehicle),
    others: 'VEHICLE_NOT_FOUND',
    cases: one('/vehicles/*', 'vehicleId', 'id', 'by'),
  },
  'DELETE /vehicles/:vehicleId': {
    ...mutation('deleteVehicle', `vehicle { ${vehicle} }`),
    asRest: ({ vehicle: deleted }) => rest(deleted),
    others: 'VEHICLE_NOT_FOUND',
    cases: one('/vehicles/*', 'vehicleId', 'id'),
  },
  'GET /vehicles/eligibility/:vin': {
    ...query('eligibility', '$vin: String!', all('Eligibility')),
    // PENDING and UNSUPPORTED are errors in REST and data in GraphQL: test/slow/parity.test.ts handles both.
    others: 'VEHICLE_NOT_FOUND',
    cases: {
      ...one('/vehicles/eligibility/*', 'otherVin', 'vin', ''),
      'a VIN as people write it': ({ otherVin }) => ({
        path: `/vehicles/eligibility/${encodeURIComponent(` ${otherVin.slice(0, 3)}-${otherVin.slice(3)}`)}`,
        variables: { vin: ` ${otherVin.slice(0, 3)}-${otherVin.slice(3)}` },
      }),
    },
  },
  'POST /vehicles/eligibility/:vin/refresh': {
    ...mutation('verifyEligibility', `eligibilities { ${all('Eligibility')} }`),
    asRest: ({ eligibilities: [first] }) => rest(first),
    refusal: ({ eligibilities }) =>
      eligibilities.length > 0 ? null : { code: 'VEHICLE_NOT_FOUND', faults: [], details: {} },
    cases: Object.fromEntries(
      Object.entries({
        'a vehicle': ({ vin }: World) => vin,
        'an unknown VIN': () => mixed[0] ?? '',
        'a malformed VIN': () => 'SHORT',
      }).map(([what, vinOf]) => [
        what,
        (world: World) => ({
          path: `/vehicles/eligibility/${vinOf(world)}/refresh`,
          variables: { input: { vins: [vinOf(world)] } },
        }),
      ]),
    ),
  },
  'POST /contracts': {
    ...mutation('createContract', `contract { ${contract} } warnings { code message vin }`),
    asRest: ({ contract: made, warnings }) => ({ ...rest(made), ...(warnings.length > 0 && { warnings }) }),
    scope: 'contracts:write',
    others: 'FLEET_NOT_FOUND',
    cases: {
      'a contract': contracted({ name: ' Fuel ', from: '2030-01-01T01:00:00+01:00' }),
      'an overlap': contracted({ pack: 'driving-log', from: '2030-06-01T00:00:00Z', to: '2032-01-01T00:00:00Z' }),
      'an unknown fleet': contracted({ fleetId: unknownId }),
      'an unknown VIN': contracted({ vin: mixed[0] }),
      'a malformed VIN': contracted({ vin: 'SHORT' }),
      'a VIN of another fleet': body('/contracts', (world) =>
        contractFields({ fleetId: world.fleetId, vin: world.elsewhereVin }, { pack: 'fuel' }),
      ),
      'an unknown pack': contracted({ pack: 'gold' }),
      'an end before the beginning': contracted({ to: '2029-01-01T00:00:00Z' }),
      'times without a zone': contracted({ from: '2030-01-01T00:00:00', to: '2031-01-01' }),
      'no date of the calendar': contracted({ from: '2030-02-30T00:00:00Z' }),
      'empty and long texts': contracted({ name: '', description: 'x'.repeat(2001), pack: long }),
      'texts of a wrong kind': contracted({ name: 1, description: [1] }),
      'nothing at all': body('/contracts', () => ({})),
    },
  },
  'POST /contracts/bulk': {
    ...mutation(
      'createContracts',
      `contracts { ${contract} } rejected { vin code message conflicts } warnings { code message vin }`,
    ),
    asRest: ({ contracts, ...others }) => ({ contracts: rest(contracts), ...others }),
    refusal: ({ contracts, rejected }) =>
      refusedList(contracts.length === 0 && rejected, { rejectedContracts: rejected }),
    scope: 'contracts:write',
    others: 'FLEET_NOT_FOUND',
    cases: {
      'vehicles by their VINs': bulk(({ vin, otherVin, elsewhereVin }) => ({
        vins: [vin, ` ${otherVin.toLowerCase()}`, elsewhereVin, 'SHORT', vin],
      })),
      'vehicles by their ids': bulk(({ vehicleId }) => ({ vehicleIds: [vehicleId.toUpperCase(), unknownId, 'no id'] })),
      'an overlap': bulk(({ vin, otherVin }) => ({ vins: [vin, otherVin], pack: 'driving-log' })),
      'all refused': bulk(() => ({ vins: ['SHORT', mixed[0]] })),
      'an unknown fleet': bulk(({ vin }) => ({ fleetId: unknownId, vins: [vin] })),
      'no vehicles': bulk(() => ({})),
      'VINs and ids': bulk(({ vin, vehicleId }) => ({ vins: [vin], vehicleIds: [vehicleId] })),
      'an end before the beginning': bulk(({ vin }) => ({ vins: [vin], to: '2029-01-01T00:00:00Z' })),
      'values of a wrong kind': bulk(() => ({ vins: [1, true], name: 5 })),
    },
  },
  'POST /contracts/:id/activation/refresh': {
    only: 'GraphQL names several contracts at once.',
    scope: 'contracts:write',
    others: 'CONTRACT_NOT_FOUND',
    cases: one('/contracts/*/activation/refresh', 'contractId', 'id', ''),
  },
  'GET /contracts': {
    ...query('contracts', `${page}, $orderBy: ContractOrder`, listed(contract)),
    scope: 'contracts:read',
    asRest: asPage,
    renamed,
    // GraphQL always lists the contracts of the token's company, so it has no invalid conditions.
    cases: {
      ...paging('/contracts?conditions=%7B%22company%22%3A%22<company>%22%7D'),
      ...sortedBy('/contracts?conditions=%7B%22company%22%3A%22<company>%22%7D', ['CREATED_AT', 'FROM', 'TO']),
    },
  },
  'GET /contracts/:id': {
    ...query('contract', '$id: ID!', contract),
    scope: 'contracts:read',
    others: 'CONTRACT_NOT_FOUND',
    cases: one('/contracts/*', 'contractId', 'id', ''),
  },
  'PATCH /contracts/:id': {
    ...mutation('updateContract', `contract { ${contract} }`),
    asRest: ({ contract: changed }) => rest(changed),
    scope: 'contracts:write',
    others: 'CONTRACT_NOT_FOUND',
    cases: Object.fromEntries(
      Object.entries({
        'all fields': { name: ' Fuel ', description: 'Ours', to: '2033-01-01T01:00:00+01:00' },
        'no field': {},
        'an end before the beginning': { to: '2029-01-01T00:00:00Z' },
        'empty and long texts': { name: '', description: 'x'.repeat(2001), to: '2033-01-01' },
        'values of a wrong kind': { name: 5, to: true },
        'values that are null': { name: null, description: null, to: null },
      }).flatMap(([what, fields]) =>
        [(world: World) => world.contractId, () => unknownId].map((idOf, n) => [
          n === 0 ? what : `${what}, of an unknown contract`,
          (world: World) => ({
            path: `/contracts/${idOf(world)}`,
            body: fields,
            variables: { input: { id: idOf(world), ...fields } },
          }),
        ]),
      ),
    ),
  },
  'POST /contracts/:id/end': {
    ...mutation('endContract', `contract { ${contract} }`),
    asRest: ({ contract: ended }) => rest(ended),
    scope: 'contracts:write',
    others: 'CONTRACT_NOT_FOUND',
    cases: one('/contracts/*/end', 'contractId', 'id'),
  },
  'POST /contracts/end': {
    ...mutation('endContracts', `contracts { ${contract} } alreadyEnded notBegun notFound`),
    scope: 'contracts:write',
    cases: {
      ids: body('/contracts/end', ({ contractId }) => ({ ids: [contractId, unknownId, 'no id'] })),
      'a filter': body('/contracts/end', ({ fleetId }) => ({ filter: { fleetId, status: 'ACTIVE' } })),
      'a filter of another status': body('/contracts/end', () => ({ filter: { status: 'ENDED' } })),
      'a filter that is none': body('/contracts/end', () => ({ filter: { vin: 'A' } })),
      'no id': body('/contracts/end', () => ({ ids: [] })),
      'ids and a filter': body('/contracts/end', ({ contractId }) => ({ ids: [contractId], filter: {} })),
      'too many ids': body('/contracts/end', () => ({ ids: Array(1001).fill(unknownId) })),
    },
  },
  'DELETE /contracts': deletionOfContracts('/contracts'),
  'POST /contracts/delete': deletionOfContracts('/contracts/delete'),
  'DELETE /contracts/:id': {
    ...mutation('deleteContract', 'contract { id }'),
    asRest: () => null,
    scope: 'contracts:write',
    others: 'CONTRACT_NOT_FOUND',
    cases: one('/contracts/*', 'contractId', 'id'),
  },
  'GET /imports/:id': {
    ...query('import', '$id: ID!', all('Import')),
    others: 'IMPORT_NOT_FOUND',
    cases: one('/imports/*', 'importId', 'id', ''),
  },
  'GET /imports/:id/events': {
    ...subscription('importProgress', '$importId: ID!', all('Import')),
    judgesImportId: true,
    cases: {
      'an import that has ended': ({ importId }) => ({ path: `/imports/${importId}/events`, variables: { importId } }),
      'a malformed id': () => ({ path: '/imports/none/events', variables: { importId: 'none' } }),
    },
  },
  'GET /imports/:id/rejected.csv': {
    only: 'A file to download is not a value; importVehicles gives the first refused rows.',
    scope: 'fleets:read',
    others: 'IMPORT_NOT_FOUND',
    cases: one('/imports/*/rejected.csv', 'importId', 'id', ''),
  },
  'GET /search': {
    ...query(
      'search',
      '$text: String!, $first: Int',
      `type: __typename ... on Fleet { ${fleet} } ... on Vehicle { ${vehicle} } ... on Contract { ${contract} }`,
    ),
    asRest: (found) => rest(found),
    renamed: { first: 'limit', text: 'q' },
    cases: Object.fromEntries(
      Object.entries({
        'a VIN': ({ vin }: World) => [vin, 10],
        'the end of a VIN': ({ vin }: World) => [vin.slice(-4).toLowerCase(), 50],
        'a part of names': () => ['rIV', 2],
        'nothing that is there': () => ['☃', 10],
        'an empty text': () => [' ', 10],
        'more than there may be': () => ['a', 51],
      }).map(([what, given]) => [
        what,
        (world: World) => {
          const [text, first] = given(world);
          return {
            path: `/search?${new URLSearchParams({ q: `${text}`, limit: `${first}` })}`,
            variables: { text, first },
          };
        },
      ]),
    ),
  },
  'GET /company': {
    ...query(
      'company',
      '',
      `${all('Company', 'eligibilitySummary')} eligibilitySummary { ${all('EligibilitySummary')} }`,
    ),
    cases: { 'the totals': () => ({ path: '/company' }) },
  },
  'GET /company/activity': {
    ...query('company', '', ''),
    document: `query ($from: DateTime!, $by: ActivityUnit! = DAY) {
      company { activity(from: $from, by: $by) { ${all('ActivityCount')} } } }`,
    asRest: ({ activity }) => rest(activity),
    cases: Object.fromEntries(
      ['HOUR', 'DAY'].flatMap((by) =>
        [new Date(Date.now() - 7_200_000).toISOString(), 'yesterday'].map((from) => [
          `by ${by} from ${from.length > 10 ? 'a time' : from}`,
          () => ({ path: `/company/activity?${new URLSearchParams({ from, by })}`, variables: { from, by } }),
        ]),
      ),
    ),
  },
  'GET /history': {
    ...query(
      'history',
      `${page}, $fleetId: ID, $types: [EventType!]`,
      listed(`id type from to actor requestId count vehicleCount fleet { id } manufacturer { id } import { id }
        statuses { ${all('EligibilitySummary')} }`),
    ),
    asRest: ({ nodes, pageInfo }) => {
      const items = nodes.map(({ fleet: of, import: run, ...item }: Json) => ({
        ...item,
        fleetId: of?.id ?? null,
        importId: run?.id ?? null,
      }));
      return asPage({ nodes: items, pageInfo });
    },
    renamed: { ...renamed, 'types.0': 'type.0' },
    cases: {
      ...paging('/history'),
      'of a fleet': ({ fleetId }) => ({
        path: `/history?fleetId=${fleetId}&limit=100`,
        variables: { fleetId, first: 100 },
      }),
    },
  },
  'GET /packs': {
    ...query('packs', '', 'name description isOffered contracts manufacturers { id }'),
    asRest: (packs) =>
      packs.map((one: Json) => ({ ...one, manufacturers: one.manufacturers.map(({ id }: Json) => id) })),
    scope: 'contracts:read',
    cases: { 'the list': () => ({ path: '/packs' }) },
  },
  'GET /manufacturers': {
    ...query('manufacturers', '', all('Manufacturer')),
    cases: { 'the list': () => ({ path: '/manufacturers' }) },
  },
  'GET /providers': {
    ...query('providers', '', all('Provider')),
    cases: { 'the list': () => ({ path: '/providers' }) },
  },
  'GET /events': {
    ...query('events', `${page}, $filter: EventFilter`, listed(all('Event', 'fleet', 'contract'))),
    asRest: asPage,
    renamed: { ...renamed, 'filter.types.0': 'type.0', 'types.0': 'type.0', 'filter.from': 'from' },
    cases: {
      ...pagesOfEvents,
      ...Object.fromEntries(
        Object.entries({
          'of a fleet': ({ fleetId }: World) => [{ fleetId }, { fleetId }],
          'of an unknown fleet': () => [{ fleetId: unknownId }, { fleetId: unknownId }],
          'of a VIN': ({ vin }: World) => [{ vin }, { vin }],
          'of some types': () => [
            { type: 'fleet.created,vehicle.added' },
            { types: ['FLEET_CREATED', 'VEHICLE_ADDED'] },
          ],
          'of an unknown type': () => [{ type: 'nonsense' }, { types: ['nonsense'] }],
          'from a wrong time': () => [{ from: 'yesterday' }, { from: 'yesterday' }],
          'to long ago': () => [{ to: '2001-01-01T00:00:00Z' }, { to: '2001-01-01T00:00:00Z' }],
          'until long ago': () => [{ until: '2001-01-01T00:00:00Z' }, { until: '2001-01-01T00:00:00Z' }],
        }).map(([what, filters]) => [
          what,
          (world: World) => {
            const [search, filter] = filters(world) as [Record<string, string>, Json];
            return { path: `/events?${new URLSearchParams(search)}`, variables: { filter, first: 100 } };
          },
        ]),
      ),
      'after an event’s id': ({ eventId }) => ({ path: `/events?after=${eventId}`, variables: { after: eventId } }),
      'after an unknown event': () => ({ path: `/events?after=${unknownId}`, variables: { after: unknownId } }),
    },
  },
  'GET /events/stream': {
    ...subscription('events', '$after: String, $filter: EventFilter', all('Event', 'fleet', 'contract')),
    others: 'FLEET_NOT_FOUND',
    foreign: ({ fleetId }) => ({ path: `/events/stream?fleetId=${fleetId}`, variables: { filter: { fleetId } } }),
    cases: {
      'of a fleet, after the first event': ({ fleetId, eventId }) => ({
        path: `/events/stream?${new URLSearchParams({ fleetId, after: eventId })}`,
        variables: { after: eventId, filter: { fleetId } },
      }),
      'after the first event': (world) => ({
        path: `/events/stream?after=${world.eventId}`,
        variables: { after: world.eventId },
      }),
      'after an unknown event': () => ({
        path: `/events/stream?after=${unknownId}`,
        variables: { after: unknownId },
      }),
      'of an unknown fleet': () => ({
        path: `/events/stream?fleetId=${unknownId}`,
        variables: { filter: { fleetId: unknownId } },
      }),
    },
  },
  'GET /events/:id': {
    ...query('event', '$id: ID!', all('Event', 'fleet', 'contract')),
    others: 'NOT_FOUND',
    cases: one('/events/*', 'eventId', 'id', ''),
  },
  'POST /webhooks': {
    ...mutation('createWebhook', `webhook { ${all('Webhook')} } secret`),
    asRest: ({ webhook, secret }) => ({ ...rest(webhook), secret }),
    cases: {
      'a webhook': body('/webhooks', () => ({
        url: 'https://example.com/x',
        types: ['fleet.created'],
        description: ' x ',
      })),
      'nothing but an address': body('/webhooks', () => ({ url: 'https://example.com/x' })),
      'no address': body('/webhooks', () => ({ description: 'x' })),
      'an address that is none': body('/webhooks', () => ({ url: 'nowhere' })),
      'an address without TLS': body('/webhooks', () => ({ url: 'http://example.com/' })),
      'an unknown type': body('/webhooks', () => ({ url: 'https://example.com/x', types: ['nonsense'] })),
      'texts of a wrong kind': body('/webhooks', () => ({ url: 5, description: true })),
      'a long description': body('/webhooks', () => ({ url: 'https://example.com/x', description: long })),
    },
  },
  'GET /webhooks': {
    ...query('webhooks', page, listed(all('Webhook'))),
    asRest: asPage,
    renamed,
    cases: paging('/webhooks'),
  },
  'GET /webhooks/:id': {
    ...query('webhook', '$id: ID!', all('Webhook')),
    others: 'WEBHOOK_NOT_FOUND',
    cases: one('/webhooks/*', 'webhookId', 'id', ''),
  },
  'PATCH /webhooks/:id': {
    ...mutation('updateWebhook', `webhook { ${all('Webhook')} }`),
    asRest: ({ webhook }) => rest(webhook),
    others: 'WEBHOOK_NOT_FOUND',
    cases: Object.fromEntries(
      Object.entries({
        'a pause': { state: 'PAUSED' },
        'no field': {},
        'an unknown state': { state: 'GONE' },
        'a state nobody may set': { state: 'DISABLED' },
        'an unknown type': { types: ['nonsense'] },
        'an address that is none': { url: 'nowhere' },
        'fields that are null': { url: null },
      }).map(([what, fields]) => [
        what,
        ({ webhookId }: World) => ({
          path: `/webhooks/${webhookId}`,
          body: fields,
          variables: { input: { id: webhookId, ...withNames(fields) } },
        }),
      ]),
    ),
  },
  'DELETE /webhooks/:id': {
    ...mutation('deleteWebhook', `webhook { ${all('Webhook')} }`),
    asRest: ({ webhook }) => rest(webhook),
    others: 'WEBHOOK_NOT_FOUND',
    cases: one('/webhooks/*', 'webhookId', 'id'),
  },
  'POST /webhooks/:id/rotate': {
    ...mutation('rotateWebhookSecret', `webhook { ${all('Webhook')} } secret`),
    asRest: ({ webhook, secret }) => ({ ...rest(webhook), secret }),
    others: 'WEBHOOK_NOT_FOUND',
    cases: one('/webhooks/*/rotate', 'webhookId', 'id'),
  },
  'POST /webhooks/:id/test': {
    ...mutation('testWebhook', `delivery { ${all('Delivery')} }`),
    asRest: ({ delivery }, { webhookId }) => ({ ...rest(delivery), webhookId }),
    others: 'WEBHOOK_NOT_FOUND',
    cases: one('/webhooks/*/test', 'webhookId', 'id'),
  },
  'GET /webhooks/:id/deliveries': {
    ...query('webhook', '$id: ID!', ''),
    document:
      `query ($id: ID!, ${page}, $state: DeliveryState) { webhook(id: $id) ` +
      `{ deliveries(first: $first, after: $after, state: $state) { ${listed(all('Delivery'))} } } }`,
    asRest({ deliveries }, { webhookId }) {
      const { items, next } = asPage(deliveries);
      return { items: items.map((delivery: Json) => ({ ...delivery, webhookId })), next };
    },
    renamed,
    others: 'WEBHOOK_NOT_FOUND',
    cases: {
      ...paging('/webhooks/<webhookId>/deliveries', ({ webhookId }) => ({ id: webhookId })),
      'those in a state': ({ webhookId }) => ({
        path: `/webhooks/${webhookId}/deliveries?state=FAILED`,
        variables: { id: webhookId, state: 'FAILED' },
      }),
      'those in an unknown state': ({ webhookId }) => ({
        path: `/webhooks/${webhookId}/deliveries?state=LOST`,
        variables: { id: webhookId, state: 'LOST' },
      }),
      'of an unknown webhook': () => ({ path: `/webhooks/${unknownId}/deliveries`, variables: { id: unknownId } }),
    },
  },
  'POST /webhooks/:id/deliveries/:deliveryId/redeliver': {
    ...mutation('redeliverWebhookDelivery', `delivery { ${all('Delivery')} }`),
    asRest: ({ delivery }, { webhookId }) => ({ ...rest(delivery), webhookId }),
    others: 'WEBHOOK_NOT_FOUND',
    cases: Object.fromEntries(
      Object.entries({
        'a delivery': ({ webhookId, deliveryId }: World) => ({ webhookId, deliveryId }),
        'an unknown delivery': ({ webhookId }: World) => ({ webhookId, deliveryId: unknownId }),
        'an unknown webhook': ({ deliveryId }: World) => ({ webhookId: unknownId, deliveryId }),
      }).map(([what, names]) => [
        what,
        (world: World) => {
          const input = names(world);
          return {
            path: `/webhooks/${input.webhookId}/deliveries/${input.deliveryId}/redeliver`,
            variables: { input },
          };
        },
      ]),
    ),
  },
  'Subscription.eligibilityChanged': {
    ...subscription('eligibilityChanged', '$fleetId: ID', 'eligibility { vin status }'),
    only: 'REST clients wait with Prefer: wait, or follow /events/stream.',
    others: 'FLEET_NOT_FOUND',
    cases: { 'of a fleet': ({ fleetId }) => ({ path: '', variables: { fleetId } }) },
  },
  'Subscription.contractChanged': {
    ...subscription('contractChanged', '$fleetId: ID', 'contract { id } activation { state }'),
    only: 'REST clients follow /events/stream.',
    scope: 'contracts:read',
    others: 'FLEET_NOT_FOUND',
    cases: { 'of a fleet': ({ fleetId }) => ({ path: '', variables: { fleetId } }) },
  },
  'Mutation.refreshActivation': {
    ...mutation('refreshActivation', `contracts { ${contract} } notFound`),
    only: 'REST names one contract.',
    scope: 'contracts:write',
    hides: true,
    cases: {
      'some that are there': ({ contractId }) => ({
        path: '',
        variables: { input: { ids: [contractId, unknownId, 'no id'] } },
      }),
    },
  },
  'Mutation.redeliver': {
    ...mutation('redeliver', `delivery { ${all('Delivery')} }`),
    only: 'It is redeliverWebhookDelivery by its former name.',
    others: 'WEBHOOK_NOT_FOUND',
    cases: {
      'a delivery': ({ webhookId, deliveryId }) => ({ path: '', variables: { input: { webhookId, deliveryId } } }),
    },
  },
  'Query.vehicle by its VIN': {
    ...query('vehicle', '$by: VehicleBy!', vehicle),
    only: 'REST has vehicles at their ids, and their eligibilities at their VINs.',
    others: 'VEHICLE_NOT_FOUND',
    cases: { 'a VIN': ({ vin }) => ({ path: '', variables: { by: { vin } } }) },
  },
  'Query.node': {
    ...query('node', '$id: ID!', anyNode),
    only: 'REST has an address for each kind.',
    hides: true,
    cases: Object.fromEntries(
      nodeIds.map((key) => [key, (world: World) => ({ path: '', variables: { id: world[key] } })]),
    ),
  },
  'Query.nodes': {
    ...query('nodes', '$ids: [ID!]!', anyNode),
    only: 'REST has an address for each kind.',
    hides: true,
    cases: {
      'one of each kind': (world) => ({ path: '', variables: { ids: nodeIds.map((key) => world[key]) } }),
      'some that are not there': ({ vehicleId }) => ({
        path: '',
        variables: { ids: [unknownId, 'no id', vehicleId, vehicleId.toUpperCase(), vehicleId] },
      }),
      'more than are told': () => ({ path: '', variables: { ids: Array(101).fill(unknownId) } }),
    },
  },
  'Query.contracts with a filter': {
    ...query('contracts', '$filter: ContractFilter', `totalCount ${listed(contract)}`),
    only: 'REST lists all of them.',
    scope: 'contracts:read',
    cases: filtered({
      'of a fleet': ({ fleetId }) => ({ fleetId }),
      'of a VIN': ({ vin }) => ({ vin }),
      'by states at the manufacturer': () => ({ activation: ['SCHEDULED', 'ACTIVE'] }),
      'by reasons of the state': () => ({ activationReason: ['PACK_NOT_OFFERED', 'OTHER'] }),
      'by a part of the name': () => ({ name: ' LOG' }),
    }),
  },
  'Query.events with a filter': {
    ...query('events', '$filter: EventFilter', `totalCount ${listed(all('Event', 'fleet', 'contract'))}`),
    only: 'REST has fewer filters.',
    cases: filtered({
      'of a vehicle': ({ vehicleId }) => ({ vehicleId }),
      'of a contract': ({ contractId }) => ({ contractId }),
      'of a fleet': ({ fleetId }) => ({ fleetId }),
      'of a VIN': ({ vin }) => ({ vin }),
    }),
  },
};

const entries = Object.entries(operations);
/** Operations of REST, of GraphQL, and of both. */
export const onRest = entries.filter(([name]) => name.includes(' /'));
export const onGraphql = entries.filter((entry): entry is [string, Twin] => entry[1].document !== undefined);
export const paired = onGraphql.filter(([name]) => name.includes(' /'));

const document: Json = openApiDocument();
/** Resolves a reference within openapi.json. */
export const resolve = (ref: string): Json =>
  ref
    .split('/')
    .slice(1)
    .reduce((at: Json, key) => at[key], document);

/** All operations of openapi.json, with the probes; paths as in the document, names as in `operations`. */
export const describedRoutes = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([verb, description]) => {
    const method = verb.toUpperCase();
    return { name: `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, method, path, description };
  }),
);
