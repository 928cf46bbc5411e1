import DataLoader from 'dataloader';
import { type GraphQLResolveInfo, isNonNullType, responsePathAsArray } from 'graphql';
import { type Context, requireScope } from '../../core/context.ts';
import { domainErrorOf } from '../../core/database-errors.ts';
import { CostExceeded, Unavailable } from '../../core/errors.ts';
import { getCompany } from '../../core/reads/company.ts';
import { NODE_ALIAS, nodeResources } from '../../core/reads/root-fields.ts';
import { type PlanAnswer, readPlanAnswers, rowlessPartJson } from '../../core/sql/answer.ts';
import {
  type AnswerMembers,
  type AnswerPart,
  type FieldArguments,
  idOrNull,
  type ResourceField,
} from '../../core/sql/resource.ts';
import { type AnswerBudget, PlannedObject, type Reads, shown } from '../schema/graphql-context.ts';
import type { DocumentPlan } from './plan.ts';
import type { PreparedOperation } from './prepare-document.ts';
import type { GraphqlVariables } from './selected.ts';

/** The value of a root part; throws the error of a missing row. */
function shownRoot(part: AnswerPart, text: string | null, { reads }: PlanAnswer): unknown {
  const value = shown(part, text === null ? null : JSON.parse(text), reads);
  if (value === null && part.kind === 'one') throw part.field.of().missing((reads[part.read] as FieldArguments).values);
  return value;
}

/** The reads of one operation: one statement for a query, and one for each field of objects that core gave. */
export class OperationReads implements Reads {
  readonly #ctx: Context;
  readonly #plans: PreparedOperation;
  readonly #variables: GraphqlVariables;
  #query: { plan: DocumentPlan; answer: Promise<PlanAnswer> } | null = null;
  readonly #loaders = new Map<string, DataLoader<object, unknown>>();
  #company: DataLoader<string, unknown> | undefined;
  readonly #budget: AnswerBudget;

  constructor(ctx: Context, plans: PreparedOperation, variables: GraphqlVariables, budget: AnswerBudget) {
    this.#budget = budget;
    this.#ctx = ctx;
    this.#plans = plans;
    this.#variables = variables;
  }

  /** Whether the database can write the whole answer to a query. */
  get isText(): boolean {
    return this.#plans.queryPlan(this.#variables).isWhole;
  }

  /** The data of a query as JSON; null where graphql-js must make it: for resolvers and errors. */
  async text(): Promise<string | null> {
    const plan = this.#plans.queryPlan(this.#variables);
    if (plan.parts.every(([, { kind }]) => kind === 'text')) return plan.isWhole ? textOf(plan, []) : null;
    try {
      this.#query = this.#begin(plan);
      const { texts, reads } = await this.#query.answer;
      if (!plan.isWhole || texts.includes(null) || reads.some((read) => read instanceof Error)) return null;
      return textOf(plan, texts);
    } catch (error) {
      const known = domainErrorOf(error);
      if (known instanceof CostExceeded) throw known;
      // graphql-js puts the error at its path; without a database it still answers the parts that need none.
      const some = plan.parts.some(([, part]) => rowlessPartJson(this.#ctx, part) !== null);
      if (known && (some || !(known instanceof Unavailable))) return null;
      throw error;
    }
  }

  async root({ path }: GraphQLResolveInfo): Promise<unknown> {
    this.#query ??= this.#begin(this.#plans.queryPlan(this.#variables));
    const { plan, answer } = this.#query;
    const at = plan.parts.findIndex(([name]) => name === path.key);
    const part = plan.parts[at]?.[1] as AnswerPart;
    const own = rowlessPartJson(this.#ctx, part);
    if (own !== null) return shown(part, JSON.parse(own), []);
    const found = await answer;
    return shownRoot(part, found.texts[at] ?? null, found);
  }

  /** Reads a plan for each of `rows`; wrong arguments and missing scopes leave an error in their place. */
  async #read(plan: DocumentPlan, rows: Parameters<typeof readPlanAnswers>[3] = null): Promise<PlanAnswer[]> {
    const reads = plan.given.map((readArguments, at) => {
      try {
        const read = readArguments(this.#variables);
        requireScope(this.#ctx, plan.fields[at]?.of().scope ?? 'fleets:read');
        return read;
      } catch (error) {
        return error as Error;
      }
    });
    const answers = await readPlanAnswers(this.#ctx, plan, reads, rows);
    for (const text of answers.flatMap(({ texts }) => texts)) this.#budget.hold(text?.length ?? 0);
    return answers;
  }

  #begin(plan: DocumentPlan) {
    const answer = this.#read(plan).then(([one]) => one as PlanAnswer);
    // The field that awaits the answer gets its error.
    answer.catch(() => {});
    return { plan, answer };
  }

  /** A member of the company: those that an operation selects are counted once, by one statement. */
  companyMember(name: string): Promise<unknown> {
    this.#company ??= new DataLoader(async (names: readonly string[]) => {
      const company: Readonly<Record<string, unknown>> = await getCompany(this.#ctx, names);
      return names.map((one) => company[one]);
    });
    return this.#company.load(name);
  }

  /** The company's nodes with these ids, in their order; null for an unknown id. */
  async nodes(ids: readonly string[], info: GraphQLResolveInfo): Promise<(PlannedObject | null)[]> {
    const { parentType, fieldNodes } = info;
    const plan = this.#plans.planAt(placeOf(info), this.#variables, (planner) => planner.node(parentType, fieldNodes));
    const answers = await this.#read(plan, { alias: NODE_ALIAS, columns: { id: ids.map(idOrNull) } });
    return answers.map(({ texts, reads }) => {
      for (const [at, [type, part]] of plan.parts.entries()) {
        const json = JSON.parse(`${texts[at] ?? null}`);
        if (json && part.kind === 'one') return new PlannedObject(part.members, json, reads, type);
      }
      return null;
    });
  }

  /** Reads a field of an object from core, batched for all objects of this turn. */
  async of(source: object, info: GraphQLResolveInfo): Promise<unknown> {
    const place = placeOf(info);
    const loader = this.#loaders.get(place) ?? this.#loaderOf(place, info);
    this.#loaders.set(place, loader);
    return loader.load(source);
  }

  #loaderOf(place: string, { parentType: type, fieldName, fieldNodes, returnType }: GraphQLResolveInfo) {
    if (this.#loaders.size === MOST_LOADERS) throw new CostExceeded(TOO_MANY);
    const field = nodeResources[type.name]?.fields?.[fieldName] as ResourceField;
    const plan = this.#plans.planAt(place, this.#variables, (planner) => planner.field(field, type, fieldNodes));
    const [[, part]] = plan.parts as [AnswerMembers[number]];
    const { id = '', lookups = {} } = nodeResources[type.name] ?? {};
    const [alias = ''] = id.split('.');
    return new DataLoader<object, unknown>(
      async (sources) => {
        const object = sources.length === 1 ? sources[0] : undefined;
        const answers = await this.#read(plan, { alias, lookups, columns: columnsOf(sources), object });
        return answers.map((answer) => {
          try {
            if (isNonNullType(returnType)) return shownRoot(part, answer.texts[0] ?? null, answer);
            return shown(part, JSON.parse(answer.texts[0] ?? 'null'), answer.reads);
          } catch (error) {
            return error as Error;
          }
        });
      },
      // Reads wait for the end of the turn: work that is resumed in it adds its own (schema/counted.ts). Another event of a stream may have
      // the same object in another state.
      { cache: false, batchScheduleFn: setImmediate },
    );
  }
}

/** The path of a field in the answer without positions in lists. */
const placeOf = ({ path }: GraphQLResolveInfo): string =>
  responsePathAsArray(path)
    .filter((one) => typeof one === 'string')
    .join('.');

const textOf = ({ parts }: DocumentPlan, texts: readonly (string | null)[]): string =>
  `{${parts.map(([name, part], at) => `"${name}":${part.kind === 'text' ? part.text : texts[at]}`)}}`;

/** Each loader sends one statement; fragments can multiply loaders. */
const MOST_LOADERS = 100;
const TOO_MANY = `At most ${MOST_LOADERS} lists and related objects are read of what an operation gives back.`;

const columns = { id: 'id', fleetId: 'fleet_id', vehicleId: 'vehicle_id', contractId: 'contract_id' };
function columnsOf(sources: readonly object[]): Record<string, unknown[]> {
  const known = Object.entries(columns).filter(([name]) => name in (sources[0] ?? {}));
  return Object.fromEntries(known.map(([name, column]) => [column, sources.map((source) => source[name as never])]));
}
