import './scalars.ts';
import './contracts.ts';
import './eligibility.ts';
import './events.ts';
import './fleets.ts';
import './imports.ts';
import './manufacturers.ts';
import './vehicles.ts';
import './webhooks.ts';
import { type GraphQLSchema, isObjectType } from 'graphql';
import { builder } from './builder.ts';

/** The whole GraphQL face as one schema; `schema.graphql` is its print. */
export const schema = withoutNeedlessResolvers(builder.toSchema());

/** A field that only hands out the member of its own name needs no resolver: both executors are faster without. */
function withoutNeedlessResolvers(whole: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(whole.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      if (field.extensions.pothosExposedField === field.name) delete field.resolve;
    }
  }
  return whole;
}
