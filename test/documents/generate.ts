import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLUnionType,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
  validate,
} from 'graphql';
import { type Params, schema } from '../support/reference.ts';

/** A valid document with several requests' variables and operation names. */
export interface RandomDocument {
  query: string;
  sends: Omit<Params, 'query'>[];
}

/** Values by argument name; for ambiguous names, by the type of the field or input that has the argument. */
export type Pools = Readonly<Record<string, readonly unknown[] | Readonly<Record<string, readonly unknown[]>>>>;

/** Pseudo-random numbers in [0, 1), determined by the seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Names with a meaning in JavaScript, or equal to other fields' names. */
const ODD_NAMES = ['then', '__proto__', 'constructor', 'toString', 'id', 'name', 'nodes', 'a', 'b', 'length'];
const SELECTIONS = 30;
const SENDS = 4;

/** Text around a selection set of this type, which makes the set an operation. */
interface Enclosure {
  type: string;
  operation: 'query' | 'mutation';
  open: string;
  close: string;
}
const whole: Enclosure = { type: 'Query', operation: 'query', open: '', close: '' };

/** A valid document, determined by the random numbers. */
export function randomDocument(pools: Pools, random: () => number, around = whole): RandomDocument {
  for (;;) {
    const document = new Writer(pools, random).write(around);
    if (validate(schema, parse(document.query)).length === 0) return document;
  }
}

interface Variable {
  name: string;
  /** The type without the outermost `!`. */
  type: GraphQLInputType;
  /** The argument's name, and the type that has the argument. */
  at: ArgumentOwner;
  /** The position of the variable: null is allowed, needs a default, or is forbidden even with a default. */
  use: 'nullable' | 'required' | 'oneOf';
}
type ArgumentOwner = readonly [name: string, of: string];
interface Definition extends Variable {
  text: string;
  nullable: boolean;
  optional: boolean;
}
interface Fragment {
  name: string;
  type: string;
  text: string;
  used: ReadonlySet<Variable>;
}
interface Head {
  text: string;
  field: GraphQLField<unknown, unknown>;
}
/** State of writing a selection set: variables used so far, and the set's fields by response key. */
interface Scope {
  used: Set<Variable>;
  heads: Map<string, Head>;
  depth: number;
}

class Writer {
  readonly #pools: Pools;
  readonly #random: () => number;
  readonly #variables: Variable[] = [];
  readonly #fragments: Fragment[] = [];
  #left = SELECTIONS;

  constructor(pools: Pools, random: () => number) {
    this.#pools = pools;
    this.#random = random;
  }

  write({ type, operation, open, close }: Enclosure): RandomDocument {
    const root = schema.getType(type) as GraphQLObjectType;
    const count = this.#chance(0.15) ? 2 + this.#below(2) : 1;
    const operations = Array.from({ length: count }, (_, at) => {
      const used = new Set<Variable>();
      const set = this.#set(root, { used, heads: new Map(), depth: 0 });
      const variables = [...used].map((one) => this.#define(one));
      const head = variables.length > 0 ? `(${variables.map(({ text }) => text).join(', ')})` : '';
      const name = count > 1 || this.#chance(0.5) ? ` Q${at}` : '';
      return { name: name.trim(), variables, text: `${operation}${name}${head} ${open}${set}${close}` };
    });
    const fragments = this.#fragments.map(({ name, type, text }) => `fragment ${name} on ${type} ${text}`);
    const query = this.#shuffled([...operations.map(({ text }) => text), ...fragments]).join('\n');
    return { query, sends: Array.from({ length: SENDS }, () => this.#send(operations)) };
  }

  #send(operations: { name: string; variables: Definition[] }[]): RandomDocument['sends'][number] {
    const { name, variables } = this.#one(operations);
    const given: [string, unknown][] = [];
    for (const { name, type, at, use, optional, nullable } of variables) {
      const rarely = this.#chance(0.01);
      if (this.#chance(0.2) && (optional || rarely)) continue;
      const value =
        this.#chance(use === 'nullable' ? 0.2 : 0.07) && (nullable || rarely)
          ? null
          : this.#value(type, at, null, !nullable);
      given.push([name, rarely ? this.#one<unknown>([value, null, 'x', 7, [value], {}]) : value]);
    }
    if (this.#chance(0.1)) given.push(['unknown', 1]);
    return {
      ...(given.length > 0 && { variables: Object.fromEntries(given) }),
      ...(name && (operations.length > 1 ? this.#chance(0.97) : this.#chance(0.7)) && { operationName: name }),
    };
  }

  /** The definition of a variable in one operation. */
  #define({ name, type, at, use }: Variable): Definition {
    const byDefault = use !== 'oneOf' && this.#chance(0.4);
    const nullable = use === 'nullable' ? this.#chance(0.7) : use === 'required' && byDefault && this.#chance(0.6);
    const value = byDefault && print(this.#value(type, at, null, !nullable || use !== 'nullable'), type);
    const text = `$${name}: ${type}${nullable ? '' : '!'}${byDefault ? ` = ${value}` : ''}`;
    return { name, type, at, use, text, nullable, optional: nullable || byDefault };
  }
  #set(type: GraphQLObjectType, scope: Scope): string {
    const parts = Array.from({ length: 1 + this.#below(scope.depth === 0 ? 3 : 4) }, () =>
      this.#selection(type, scope),
    );
    return `{ ${parts.join(' ')} }`;
  }

  #selection(type: GraphQLObjectType, scope: Scope): string {
    this.#left -= 1;
    const kind = this.#left > 0 && scope.depth < 9 ? this.#random() : 1;
    if (kind < 0.06) return `__typename${this.#directives(scope)}`;
    if (kind < 0.16) {
      const on = this.#chance(0.6) ? ` on ${type.name}` : '';
      const directives = this.#directives(scope);
      return `...${on}${directives} ${this.#set(type, { ...scope, depth: scope.depth + 1 })}`;
    }
    if (kind < 0.3) return this.#spread(type, scope);
    const again = kind < 0.5 ? this.#again(scope) : undefined;
    const { text, field } = again ?? this.#head(type, scope);
    // Repeated fields are often skipped by a directive, so that responses need different members of the same field.
    return `${text}${this.#directives(scope, again ? 0.3 : 0.09)}${this.#under(field, scope)}`;
  }

  /** A field of the set to repeat, preferably with subfields: the repetition may select others. */
  #again({ heads }: Scope): Head | undefined {
    const all = [...heads.values()];
    const deep = all.filter(({ field }) => !isLeafType(getNamedType(field.type)));
    return this.#one(deep.length > 0 ? deep : all);
  }

  #under(field: GraphQLField<unknown, unknown>, scope: Scope): string {
    const type = getNamedType(field.type);
    const below = { used: scope.used, heads: new Map(), depth: scope.depth + 1 };
    if (isObjectType(type)) return ` ${this.#set(type, below)}`;
    return isAbstractType(type) ? ` ${this.#abstractSet(type, below)}` : '';
  }

  /** Selects some common fields of an abstract type, and some of a few of its types. */
  #abstractSet(type: GraphQLInterfaceType | GraphQLUnionType, scope: Scope): string {
    const types = this.#shuffled([...schema.getPossibleTypes(type)]).slice(0, this.#below(4));
    const parts = types.map((one) =>
      this.#chance(0.3)
        ? this.#spread(one, scope)
        : `... on ${one.name}${this.#directives(scope)} ${this.#set(one, { ...scope, heads: new Map() })}`,
    );
    const some = isInterfaceType(type) ? 'id' : '__typename';
    const own = [some, '__typename', `... on ${type.name} { ${some} }`].filter(() => this.#chance(0.6));
    return `{ ${this.#shuffled([...own, ...parts, ...(own.length + parts.length > 0 ? [] : [some])]).join(' ')} }`;
  }

  #spread(type: GraphQLObjectType, scope: Scope): string {
    const known = this.#fragments.filter((one) => one.type === type.name);
    const fragment = known.length > 0 && this.#chance(0.6) ? this.#one(known) : this.#fragment(type, scope.depth);
    for (const variable of fragment.used) scope.used.add(variable);
    return `...${fragment.name}${this.#directives(scope)}`;
  }

  #fragment(type: GraphQLObjectType, depth: number): Fragment {
    const used = new Set<Variable>();
    const text = this.#set(type, { used, heads: new Map(), depth: depth + 1 });
    const fragment = { name: `F${this.#fragments.length}`, type: type.name, text, used };
    this.#fragments.push(fragment);
    return fragment;
  }

  /** A field with alias and arguments, under a new key or the key of the same field. */
  #head(type: GraphQLObjectType, scope: Scope): Head {
    const all = Object.values(type.getFields());
    const leaves = all.filter((field) => isLeafType(getNamedType(field.type)));
    const lists = all.filter((field) => field.args.some(({ name }) => name === 'first'));
    // Lists are chosen more often: most faults are in lists.
    const others = [...all.filter((field) => !leaves.includes(field)), ...lists, ...lists];
    const deep = this.#left > 0 && scope.depth < 9;
    const field = this.#one(deep && this.#chance(0.8) ? others : leaves) ?? this.#one(all);
    const args = field.args.flatMap((arg) => {
      if (!isNonNullType(arg.type) && !this.#chance(arg.name === 'first' ? 0.6 : 0.3)) return [];
      const at: ArgumentOwner = [arg.name, getNamedType(field.type).name];
      return `${arg.name}: ${print(this.#value(arg.type, at, scope.used), arg.type)}`;
    });
    const call = `${field.name}${args.length > 0 ? `(${args.join(', ')})` : ''}`;
    const alias = this.#chance(0.3) ? this.#one(ODD_NAMES) : field.name;
    for (let key = alias, n = 0; ; key = `${alias}${n++}`) {
      const head = { text: key === field.name ? call : `${key}: ${call}`, field };
      const before = scope.heads.get(key);
      if (before && before.text !== head.text) continue;
      scope.heads.set(key, head);
      return head;
    }
  }

  #directives({ used }: Scope, share = 0.09): string {
    const type = schema.getDirective('include')?.args[0]?.type as GraphQLInputType;
    return ['include', 'skip']
      .filter(() => this.#chance(share))
      .map((name) => ` @${name}(if: ${print(this.#value(type, ['if', name], used), type)})`)
      .join('');
  }

  /** A value of this type; `used` permits variables in a document and collects them. */
  #value(type: GraphQLInputType, at: ArgumentOwner, used: Set<Variable> | null, inOneOf = false): unknown {
    const inner = getNullableType(type) as GraphQLInputType;
    const required = isNonNullType(type) || inOneOf;
    if (used && this.#chance(at[0] === 'if' ? 0.7 : 0.35)) return this.#variable(inner, at, required, inOneOf, used);
    if (!required && this.#chance(0.08)) return null;
    if (isListType(inner)) {
      const items = Array.from({ length: this.#below(3) }, () => this.#value(inner.ofType, at, used));
      return items.length === 1 && items[0] !== null && this.#chance(0.3) ? items[0] : items;
    }
    if (isEnumType(inner)) return this.#one(inner.getValues()).name;
    if (isInputObjectType(inner)) {
      const members = Object.values(inner.getFields());
      const chosen = inner.isOneOf ? [this.#one(members)] : members.filter(() => this.#chance(0.4));
      return Object.fromEntries(
        chosen.map(({ name, type: of }) => [name, this.#value(of, [name, inner.name], used, inner.isOneOf)]),
      );
    }
    if (inner.name === 'Boolean') return this.#chance(0.5);
    const pool = this.#pools[at[0]];
    const values = Array.isArray(pool) ? pool : (pool as Record<string, readonly unknown[]> | undefined)?.[at[1]];
    if (!values) throw new Error(`there are no values for ${at.join(' of ')}`);
    return this.#one(values);
  }

  #variable(
    type: GraphQLInputType,
    at: ArgumentOwner,
    required: boolean,
    inOneOf: boolean,
    used: Set<Variable>,
  ): Variable {
    const same = this.#variables.filter((one) => String(one.type) === String(type) && String(one.at) === String(at));
    const use = inOneOf ? 'oneOf' : required ? 'required' : 'nullable';
    const known = same.length > 0 && this.#chance(0.6) ? this.#one(same.filter((one) => one.use === use)) : undefined;
    const taken = new Set(this.#variables.map(({ name }) => name));
    const odd = this.#chance(0.3) ? ODD_NAMES.find((name) => !taken.has(name)) : undefined;
    const variable: Variable = known ?? { name: odd ?? `v${this.#variables.length}`, type, at, use };
    if (!known) this.#variables.push(variable);
    used.add(variable);
    return variable;
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #one<T>(all: readonly T[]): T {
    return all[this.#below(all.length)] as T;
  }

  #shuffled<T>(all: T[]): T[] {
    return all
      .map((one) => [this.#random(), one] as const)
      .toSorted(([a], [b]) => a - b)
      .map(([, one]) => one);
  }
}

/** The literal of a value. */
function print(value: unknown, type: GraphQLInputType): string {
  const inner = getNullableType(type) as GraphQLInputType;
  if (value === null) return 'null';
  if (isVariable(value)) return `$${value.name}`;
  if (isListType(inner)) {
    if (!Array.isArray(value)) return print(value, inner.ofType);
    return `[${value.map((item) => print(item, inner.ofType)).join(', ')}]`;
  }
  if (isInputObjectType(inner)) {
    const members = Object.entries(value as object).map(([name, member]) => {
      const of = inner.getFields()[name]?.type as GraphQLInputType;
      return `${name}: ${print(member, of)}`;
    });
    return `{ ${members.join(', ')} }`;
  }
  return isEnumType(inner) ? String(value) : JSON.stringify(value);
}

const isVariable = (value: unknown): value is Variable => typeof value === 'object' && value !== null && 'use' in value;
