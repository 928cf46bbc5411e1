import { COMPANY, type Seed } from './seed.ts';

export interface Workload {
  name: string;
  goal: number;
  method?: 'GET' | 'POST';
  path: string;
  body?: unknown;
  /** Large answers: fewer connections, and what counts besides is memory and the first byte. */
  large?: boolean;
}

const nodes = 'nodes { id vin eligibility { status eligible } }';
const fields = { name: 'New', companyAddress: 'Main Street 1', email: 'new@example.com', vat: 'DE1' };

/** The same requests for the floor, the gateway, and any peer. */
export const workloads = (seed: Seed): Workload[] => [
  { name: 'W1 REST, 50 fleets', goal: 0.8, path: '/fleets' },
  { name: 'W2 REST, 100 vehicles', goal: 0.85, path: `/fleets/${seed.fleetOf100}/vehicles` },
  { name: 'W2b REST, 1,000 vehicles', goal: 0.85, path: `/fleets/${seed.fleetOf1000}/vehicles` },
  { name: 'W2c REST, 100,000 vehicles', goal: 1, path: `/fleets/${seed.fleetOf100000}/vehicles`, large: true },
  { name: 'W3 REST, eligibility of a VIN', goal: 0.75, path: `/vehicles/eligibility/${seed.vin}` },
  {
    name: 'W4 GraphQL, a fleet with 100 vehicles',
    goal: 0.65,
    path: '/graphql',
    body: {
      query: `query One($id: ID!) { fleet(id: $id) { id name vehicles(first: 100) { ${nodes} } } }`,
      variables: { id: seed.fleetOf100 },
    },
  },
  {
    name: 'W5 GraphQL, 20 fleets × 20 vehicles',
    goal: 0.7,
    path: '/graphql',
    body: { query: `query Nested { fleets(first: 20) { nodes { id name vehicles(first: 20) { ${nodes} } } } }` },
  },
  { name: 'W6 GraphQL, { __typename }', goal: 0.45, path: '/graphql', body: { query: '{ __typename }' } },
  { name: 'W7 create a fleet, REST', goal: 0.5, path: '/fleets', body: fields },
  {
    name: 'W7 create a fleet, GraphQL',
    goal: 0.45,
    path: '/graphql',
    body: {
      query: `mutation Create($input: CreateFleetInput!) { createFleet(input: $input) { fleet {
        id company name companyAddress email vat vehicleCount createdAt updatedAt } } }`,
      variables: { input: fields },
    },
  },
];

/** Writes go to a company of their own, so that what is read stays the same. */
export const companyOf = (workload: Workload): string =>
  workload.name.startsWith('W7') ? `${COMPANY}-writes` : COMPANY;
