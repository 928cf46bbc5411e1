import { z } from 'zod';
import { type Context, renewContext, type Scope } from '../../core/context.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { idSchema } from '../../core/input.ts';
import { schemaBuilder } from './builder.ts';
import { type GraphqlInput, inputTypeOf, type Overrides, objectTypeOf } from './described.ts';
import type { GraphqlContext } from './graphql-context.ts';

interface Mutation<Read extends z.ZodObject, Payload extends z.ZodObject> {
  description: string;
  /** By default `fleets:write`. */
  scope?: Scope;
  /** The errors beside those of all mutations. */
  errors: readonly ErrorCode[];
  input: Read;
  payload: Payload;
  change(ctx: Context, input: GraphqlInput<Read>, context: GraphqlContext): Promise<z.output<Payload>>;
}

/** Adds a mutation, with the types `<Name>Input` and `<Name>Payload`. */
export function addMutation<Read extends z.ZodObject, Payload extends z.ZodObject>(
  name: string,
  { description, input, payload, change, ...extensions }: Mutation<Read, Payload>,
  except: { input?: Overrides<Read>; payload?: Overrides<Payload> } = {},
): void {
  const type = name.replace(/^./, (letter) => letter.toUpperCase());
  const Payload = objectTypeOf(`${type}Payload`, payload, except.payload);
  const Input = inputTypeOf(`${type}Input`, input, except.input);
  schemaBuilder.mutationField(name, (t) =>
    t.field({
      description,
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
