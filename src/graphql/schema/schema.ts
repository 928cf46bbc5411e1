import './company.ts';
import './contract-ends.ts';
import './contracts.ts';
import './eligibility.ts';
import './events.ts';
import './fleets.ts';
import './imports.ts';
import './manufacturers.ts';
import './search.ts';
import './vehicles.ts';
import './webhooks.ts';
import { schemaBuilder } from './builder.ts';
import { withAnswerBudget } from './counted.ts';
import { withScopeChecks } from './graphql-context.ts';

/** The whole GraphQL API as one schema; `schema.graphql` is its print. */
export const graphqlSchema = withScopeChecks(withAnswerBudget(schemaBuilder.toSchema()));
