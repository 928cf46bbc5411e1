import { z } from 'zod';
import type { ValueField } from '../sql/resource.ts';
import { eventTypes } from './event-data.ts';

const OTHER = 'other';
/** Types as an enumeration. Another version of the gateway may have recorded one that this version does not know. */
export const eventType = z.enum([...eventTypes, OTHER]);
export const eventTypeOf = (type: string) => eventType.catch(OTHER).parse(type);

const known = eventTypes.map((type) => `'${type}'`);
/** `FLEET_CREATED` for `fleet.created`. */
const nameSql = (type: string) =>
  `case when ${type} in (${known}) then upper(replace(${type}, '.', '_')) else '${OTHER.toUpperCase()}' end`;
const typeOf = (name: string) => name.toLowerCase().replaceAll('_', '.');

/** A type in a column, by its name in GraphQL. */
export const typeField = (column: string): ValueField => ({
  kind: 'value',
  value: { sql: nameSql(column), bare: true },
  make: typeOf,
  isText: true,
});

export const typesField = (column: string): ValueField => ({
  kind: 'value',
  value: { sql: `(select coalesce(json_agg(${nameSql('t')}), '[]') from unnest(${column}) t)` },
  make: (names: string[]) => names.map(typeOf),
  isText: true,
});
