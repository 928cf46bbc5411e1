import { z } from 'zod';
import { type Context, renewContext, type Scope } from '../../core/context.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { eventTypes } from '../../core/events/event-data.ts';
import { schemaDescription, schemaKind, unwrapSchema } from '../../core/fields.ts';
import { idSchema, standardSchemaOf } from '../../core/input.ts';
import { addModeSchema } from '../../core/vehicles/vin-lists.ts';
import { type SchemaTypes, schemaBuilder } from './builder.ts';
import type { GraphqlContext } from './graphql-context.ts';
import { nodeInterfaces } from './node.ts';

type Members<Schema extends z.ZodObject> = keyof z.output<Schema> & string;

/** GraphQL's types of core's enumerations and objects, by zod's `def`, which `.describe()` keeps. */
const known = new WeakMap<object, unknown>();

const scalars: Readonly<Record<string, string>> = {
  uuid: 'ID',
  time: 'DateTime',
  number: 'Int',
  boolean: 'Boolean',
  record: 'JSON',
  string: 'String',
};

/** The type of a field. Ids are known by their names, since core reads them as any text. */
function typeOf(name: string, schema: z.core.$ZodType): unknown {
  const plain = unwrapSchema(schema);
  const made = known.get(plain.def);
  if (made) return made;
  if ('element' in plain) return [typeOf(name, plain.element as z.ZodType)];
  const scalar = /^ids?$|Ids?$/.test(name) ? 'ID' : scalars[schemaKind(plain)];
  if (!scalar) throw new Error(`${name} has no type in GraphQL`);
  return scalar;
}

const nameOfValue = (value: string) => value.toUpperCase().replaceAll('.', '_');
/** Values of core's that GraphQL names otherwise. */
const renamed = new Set<string>([...eventTypes, ...addModeSchema.options]);
/** A text that both interfaces have, with these values as GraphQL names them. */
const ownWords = (text = '') =>
  text.replaceAll(/`([\w.]+)`/g, (whole, value) => (renamed.has(value) ? `\`${nameOfValue(value)}\`` : whole));

/** Options of a field that do not follow from its schema; `false` leaves it out, `name` renames it. */
type FieldOptions =
  | false
  | {
      name?: string;
      type?: 'ID' | 'String' | 'Upload' | object;
      nullable?: boolean;
      description?: string | undefined;
      deprecationReason?: string;
      defaultValue?: unknown;
      extensions?: object;
      resolve?: object;
    };
type Overrides<Schema extends z.ZodObject> = { readonly [Name in Members<Schema>]?: FieldOptions };

function optionsOf({ shape }: z.ZodObject, except: Readonly<Record<string, FieldOptions | undefined>>) {
  return Object.entries(shape as Record<string, z.ZodType>).flatMap(([member, schema]) => {
    const own = except[member];
    if (own === false) return [];
    const { name = member, type = typeOf(member, schema), ...options } = own ?? {};
    const { replacedBy } = schema.meta() ?? {};
    const deprecation = replacedBy ? { deprecationReason: `Use \`${replacedBy}\`.` } : {};
    return [
      {
        member,
        name,
        schema,
        options: { description: ownWords(schemaDescription(schema)), type, ...deprecation, ...options },
      },
    ];
  });
}

export function objectTypeOf<Schema extends z.ZodObject>(name: string, schema: Schema, except: Overrides<Schema> = {}) {
  const ref = schemaBuilder.objectRef<z.output<Schema>>(name);
  known.set(schema.def, ref);
  schemaBuilder.objectType(ref, {
    description: ownWords(schema.description),
    interfaces: nodeInterfaces(name) as never[],
    fields: (t) =>
      Object.fromEntries(
        optionsOf(schema, except).map(({ member, name, schema, options: own }) => {
          const options = { nullable: schema.safeParse(null).success, ...own };
          return [name, 'resolve' in own ? t.field(options as never) : t.expose(member as never, options as never)];
        }),
      ),
  });
  return ref;
}

/** The input from GraphQL, whose optional members may be null. */
type GraphqlInput<Schema extends z.ZodObject> = {
  [Name in Members<Schema>]: undefined extends z.input<Schema>[Name]
    ? z.input<Schema>[Name] | null
    : z.input<Schema>[Name];
};
type InputFields<Schema extends z.ZodObject> = {
  [Name in keyof GraphqlInput<Schema>]: PothosSchemaTypes.InputFieldRef<SchemaTypes, GraphqlInput<Schema>[Name]>;
};

/** The input type of a schema of core's, which validates it as an argument. */
export const inputTypeOf = <Schema extends z.ZodObject>(name: string, schema: Schema, except: Overrides<Schema> = {}) =>
  schemaBuilder.inputType(name, {
    description: ownWords(schema.description),
    validate: standardSchemaOf(schema),
    fields: (t) =>
      Object.fromEntries(
        optionsOf(schema, except).map(({ name, schema, options }) => [
          name,
          t.field({ required: !schema.safeParse(undefined).success, ...options } as never),
        ]),
      ) as InputFields<Schema>,
  });

/** The meaning of a value `OTHER`, which stands for those that another version stored. */
export const unknownIn = (what: string, more: string) =>
  `${what} that this version of the gateway does not know, since another one stored it; ${more}.`;

export function enumTypeOf<Value extends string>(
  name: string,
  schema: z.ZodEnum<{ [V in Value]: V }>,
  description: string,
  meanings: Readonly<Record<Value, string>>,
): PothosSchemaTypes.EnumRef<SchemaTypes, Value> {
  const values = schema.options.map((value) => [nameOfValue(value), { value, description: meanings[value] }]);
  const ref = schemaBuilder.enumType(name, { description, values: Object.fromEntries(values) });
  known.set(schema.def, ref);
  return ref as PothosSchemaTypes.EnumRef<SchemaTypes, Value>;
}

interface Mutation<Read extends z.ZodObject, Payload extends z.ZodObject> {
  description: string;
  /** By default `fleets:write`. */
  scope?: Scope;
  /** The errors beside those of all mutations. */
  errors: readonly ErrorCode[];
  /** An input, with values as REST has them. */
  example: Readonly<Record<string, unknown>>;
  input: Read;
  payload: Payload;
  change(ctx: Context, input: GraphqlInput<Read>, context: GraphqlContext): Promise<z.output<Payload>>;
  deprecationReason?: string;
}

/** The variables of a mutation, as JSON. */
const variablesOf = (input: object) =>
  JSON.stringify({ input }, (_, value) => (renamed.has(value) ? nameOfValue(value) : value));

/** Adds a mutation, with the types `<Name>Input` and `<Name>Payload`. */
export function addMutation<Read extends z.ZodObject, Payload extends z.ZodObject>(
  name: string,
  { description, example, input, payload, change, deprecationReason, ...extensions }: Mutation<Read, Payload>,
  except: { input?: Overrides<Read>; payload?: Overrides<Payload> } = {},
): void {
  const type = name.replace(/^./, (letter) => letter.toUpperCase());
  const Payload = objectTypeOf(`${type}Payload`, payload, except.payload);
  const Input = inputTypeOf(`${type}Input`, input, except.input);
  schemaBuilder.mutationField(name, (t) =>
    t.field({
      description: `${description} Example of variables: \`${variablesOf(example)}\`.`,
      ...(deprecationReason && { deprecationReason }),
      extensions,
      type: Payload,
      nullable: true,
      args: { input: t.arg({ type: Input, required: true, description: input.description }) },
      // A context for each field of the request: a failed one must not affect the next.
      resolve: ((_root: unknown, { input }: { input: GraphqlInput<Read> }, context: GraphqlContext) =>
        change(renewContext(context.ctx), input, context)) as never,
    }),
  );
}

export const idInputSchema = (noun: string, description: string) =>
  z.object({ id: idSchema.describe(`The id of the ${noun}.`) }).describe(description);

/** The payload of a mutation: what has resulted from it. */
export const resultOf = <Shape extends z.ZodRawShape>(change: string, shape: Shape) =>
  z.object(shape).describe(`The result of ${change}.`);
