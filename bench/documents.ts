import type { Seed } from './seed.ts';

export interface Document {
  query: string;
  variables?: Record<string, unknown>;
}

const summary = 'eligibilitySummary { eligible ineligible pending unsupported failed }';
const contract = 'id name description pack from to status';
const event =
  'id type timestamp actor vehicles { vehicleId vin } data { ... on EligibilityChangedData { fromStatus toStatus manufacturer } }';
const eligibility =
  'eligibility { status eligible dataDelivery connectivityStatus primaryUserAssigned reason { code message actor retryable } attempts verifiedAt nextAttemptAt }';

/** Documents that clients send; the first ones are those of our examples. */
export const documents = {
  'README’s': `{ fleets { totalCount nodes { name eligibilitySummary { eligible pending } vehicles(first: 3) { nodes {
    vin manufacturer { name } eligibility { status reason { message } } } } } } }`,
  'GraphiQL’s first tab': `query ExploreFleets { fleets(first: 10) { totalCount nodes { id name eligibilitySummary { eligible pending }
    vehicles(first: 5) { totalCount nodes { vin manufacturer { name } eligibility { status reason { message } } } } } } }`,
  'the demo’s':
    '{ fleets { nodes { name vehicleCount eligibilitySummary { eligible ineligible pending unsupported } } } }',
  'the home page’s': '{ fleets { totalCount nodes { id name vehicleCount } } }',
  '20 fleets with summaries and counts': `{ fleets(first: 20) { totalCount nodes { id name ${summary} vehicles { totalCount } } } }`,
  'a fleet’s failed vehicles': `query Failed($fleet: ID!) { fleet(id: $fleet) { name vehicles(first: 100, filter: { eligibility: FAILED }) {
    nodes { id vin manufacturer { id name } eligibility { status reason { code message actor retryable } } } } } }`,
  '100 vehicles with their contracts': `query Contracts($fleet100: ID!) { fleet(id: $fleet100) { name vehicles(first: 100) {
    nodes { id vin contracts(first: 5) { nodes { ${contract} } } } } } }`,
  '100 contracts with fleet and vehicle': `{ contracts(first: 100) { totalCount nodes { ${contract}
    fleet { id name } vehicle { id vin eligibility { status } } } } }`,
  'last 50 events of a fleet': `query Timeline($fleet100: ID!) { fleet(id: $fleet100) { name timeline(last: 50) { nodes { ${event} } } } }`,
  'an import': `query Import($import: ID!) { import(id: $import) { id state received created existing rejectedCount startedAt finishedAt
    fleet { id name } } }`,
  'webhooks with failed deliveries': `{ webhooks { nodes { id url state deliveries(first: 20, state: FAILED) {
    totalCount nodes { id eventId type attempts status answer error attemptedAt } } } } }`,
  'everything of a vehicle': `query Everything($vin: String!) { vehicle(by: { vin: $vin }) { id vin warnings createdAt fleet { id name }
    manufacturer { id name provider supported } ${eligibility}
    contracts { totalCount nodes { ${contract} } } timeline(last: 50) { totalCount nodes { ${event} } } } }`,
  'vehicles with a status that none has': `query Missing { vehicles(first: 50, filter: { eligibility: [UNSUPPORTED] }) {
    nodes { id vin } } }`,
} satisfies Record<string, string>;

export type DocumentName = keyof typeof documents;

/** More than most lists have. */
export const ABOVE = 101;
/** More events than a fleet has, and few enough that each may have its 1,000 vehicles. */
export const ABOVE_EVENTS = 59;

/** The document with lists that their limits do not fill, as people ask: but for those of fleets that have a limit. */
export const unfilled = (query: string): string =>
  query
    .replaceAll(/(?<!fleets)\(first: \d+/g, `(first: ${ABOVE}`)
    .replaceAll(/\(last: \d+/g, `(last: ${ABOVE_EVENTS}`)
    .replaceAll(/fleets \{/g, `fleets(first: ${ABOVE}) {`);

/** A document with its variables. */
export function documentOf(query: string, seed: Seed): Document {
  const values = { fleet: seed.fleetOf1000, fleet100: seed.fleetOf100, import: seed.importId, vin: seed.vin };
  const variables = Object.fromEntries(Object.entries(values).filter(([key]) => query.includes(`$${key}:`)));
  return { query, variables };
}

const nodes = (vin: string) => `nodes { id ${vin} eligibility { status eligible } }`;

/** Documents of W4 to W6; `alias` makes a document unique. */
export const oneFleet = (alias = 'vin') =>
  `query One($id: ID!) { fleet(id: $id) { id name vehicles(first: 100) { ${nodes(alias === 'vin' ? 'vin' : `${alias}: vin`)} } } }`;
export const twentyFleets = (alias = 'vin') =>
  `query Nested { fleets(first: 20) { nodes { id name vehicles(first: 20) { ${nodes(alias === 'vin' ? 'vin' : `${alias}: vin`)} } } } }`;
export const typename = (alias = '__typename') =>
  alias === '__typename' ? '{ __typename }' : `{ ${alias}: __typename }`;
