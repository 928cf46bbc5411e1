import { Lexer, parse, Source, specifiedRules, TokenKind, validate } from 'graphql';
import { expect, test } from 'vitest';
import { isPlainlyValid } from '../../src/graphql/execution/validity.ts';
import { schema } from '../../src/graphql/schema/schema.ts';
import { type Pools, randomDocument, randomFrom } from '../documents/generate.ts';

const { VALIDITY_COUNT = '150', VALIDITY_SEED = '1' } = process.env;
const DOCUMENTS = Number(VALIDITY_COUNT);
const MUTANTS = 25;

const numbers = { first: [1, 5], last: [2, 3] };
/** Validity knows no rows, so that any text will do. */
const pools = new Proxy<Pools>(numbers, { get: (known, name) => known[name as never] ?? ['x', ''] });

/** Names that a document may come to have in place of its own. */
const names = [
  ...Object.keys(schema.getTypeMap()),
  ...[
    'id',
    'vin',
    'nodes',
    'name',
    'fleet',
    'vehicles',
    'eligibility',
    'first',
    'after',
    'filter',
    'by',
    'orderBy',
    'vat',
  ],
  ...[
    'on',
    'query',
    'mutation',
    'subscription',
    'fragment',
    'include',
    'skip',
    'deprecated',
    'if',
    'true',
    'null',
    'F0',
    'F1',
  ],
  ...[
    '__typename',
    '__schema',
    '__type',
    'Query',
    'v0',
    'v1',
    'PENDING',
    'ASC',
    'constructor',
    '__proto__',
    'toString',
  ],
];

function tokensOf(text: string): string[] {
  const lexer = new Lexer(new Source(text));
  const tokens: string[] = [];
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance())
    tokens.push(text.slice(token.start, token.end));
  return tokens;
}

/** The document with one to three changes: pieces left out, doubled, put elsewhere, or replaced. */
function mutant(tokens: readonly string[], random: () => number): string {
  const below = (bound: number) => Math.floor(random() * bound);
  const changed = [...tokens];
  for (let changes = 1 + below(3); changes > 0; changes--) {
    const at = below(changed.length);
    const piece = changed.slice(at, at + 1 + below(4));
    const kinds = [
      () => changed.splice(at, piece.length),
      () => changed.splice(at, 0, ...piece),
      () => changed.splice(below(changed.length), 0, ...piece),
      () => changed.splice(at, 1, changed[below(changed.length)] ?? ''),
      () => changed.splice(at, 1, names[below(names.length)] ?? ''),
      () => changed.splice(at, 1, ['1', '"x"', '!', '[', '$', 'null', '{', '}', '[1]', '{}'][below(10)] ?? ''),
    ];
    kinds[below(kinds.length)]?.();
  }
  return changed.join(' ');
}

const parsed = (text: string) => {
  try {
    return parse(text);
  } catch {
    return null;
  }
};

test(`what is plainly valid is so by all rules of GraphQL: ${DOCUMENTS} documents with seed ${VALIDITY_SEED}`, {
  timeout: 60_000 + DOCUMENTS * 200,
}, () => {
  const seen = { valid: 0, plainly: 0, mutants: 0, wrong: 0 };
  for (let at = 0; at < DOCUMENTS; at++) {
    const random = randomFrom(Number(VALIDITY_SEED) + at);
    const { query } = randomDocument(pools, random);
    const tokens = tokensOf(query);
    seen.valid += 1;
    seen.plainly += Number(isPlainlyValid(schema, parse(query)));
    for (let made = 0; made < MUTANTS; made++) {
      const text = mutant(tokens, random);
      const tree = parsed(text);
      if (!tree) continue;
      const errors = validate(schema, tree, specifiedRules, { maxErrors: 1 });
      seen.mutants += 1;
      seen.wrong += Number(errors.length > 0);
      if (isPlainlyValid(schema, tree)) expect(errors, text).toEqual([]);
    }
  }
  // Neither side may say the same of everything.
  expect(seen.plainly / seen.valid).toBeGreaterThan(0.5);
  expect(seen.wrong / seen.mutants).toBeGreaterThan(0.3);
  expect(seen.mutants).toBeGreaterThan(DOCUMENTS);
});

test.each([
  '{ __typename }',
  '{ fleets(first: 3) { nodes { id name } pageInfo { hasNextPage } } }',
  'query ($id: ID!) { fleet(id: $id) { ...F ... on Fleet @include(if: true) { vat } } } fragment F on Fleet { id }',
  'query ($vin: String!) { vehicle(by: { vin: $vin }) { id } }',
  'query ($first: Int = 3) { a: fleets(first: $first) { nodes { id } nodes { name } } }',
  '{ node(id: "x") { __typename id ... on Fleet { name } } }',
  'mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id } } }',
])('%s is plainly valid', (text) => {
  expect(isPlainlyValid(schema, parse(text))).toBe(true);
});

/** What small changes seldom lead to. */
test.each([
  'query A { fleets { totalCount } } query A { fleets { totalCount } }',
  '{ fleets { totalCount } } query A { fleets { totalCount } }',
  'query ($id: ID!, $id: ID!) { fleet(id: $id) { id } }',
  'query ($id: ID!, $by: Fleet) { fleet(id: $id) { id } }',
  '{ fleets { nodes { v: vehicles(first: 1) { totalCount } v: vehicles(first: 2) { totalCount } } } }',
  '{ fleets { nodes { ...F } } } fragment F on Fleet { v: vehicles(first: 1) { totalCount } ...G } fragment G on Fleet { v: vehicles { totalCount } }',
  '{ fleets { ...F } } fragment F on FleetConnection { ...F }',
  '{ fleets { ...F } } fragment F on FleetConnection { ...G } fragment G on FleetConnection { ...F totalCount }',
  '{ fleets { ...F } } fragment F on FleetConnection { totalCount } fragment F on FleetConnection { nodes { id } }',
  '{ fleets { totalCount @skip(if: true) @skip(if: false) } }',
  '{ fleets { totalCount @skip(if: true, if: false) } }',
  '{ fleets { totalCount @deprecated } }',
  '{ fleets(first: 1, first: 2) { totalCount } }',
  '{ fleets(first: null, after: 3) { totalCount } }',
  '{ fleet(id: null) { id } }',
  '{ fleet { id } }',
  '{ vehicle(by: { vin: null }) { id } }',
  '{ vehicle(by: { vin: "x", id: "y" }) { id } }',
  '{ vehicle(by: {}) { id } }',
  'query ($id: ID = null) { fleet(id: $id) { id } }',
  'query ($id: ID! = null) { fleet(id: $id) { id } }',
  '{ fleets(filter: { vat: "x", vat: "y" }) { totalCount } }',
  'mutation { createFleet(input: { name: "x" }) { fleet { id } } }',
  'mutation ($vins: [String]!) { addVehicles(input: { fleetId: "x", vins: $vins }) { fleet { id } } }',
  '{ node(id: "x") { ... on Fleet { x: name } ... on Vehicle { x: id } } }',
  '{ node(id: "x") { ... on FleetConnection { totalCount } } }',
  'subscription { eligibilityChanged { vehicle { id } } fleetEvents { id } }',
])('%s is not', (text) => {
  const tree = parse(text);
  expect(validate(schema, tree, specifiedRules)).not.toEqual([]);
  expect(isPlainlyValid(schema, tree)).toBe(false);
});
