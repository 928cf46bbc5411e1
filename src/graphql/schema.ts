import './scalars.ts';
import './contracts.ts';
import './eligibility.ts';
import './fleets.ts';
import './imports.ts';
import './manufacturers.ts';
import './vehicles.ts';
import { builder } from './builder.ts';

/** The whole GraphQL face as one schema; `schema.graphql` is its print. */
export const schema = builder.toSchema();
