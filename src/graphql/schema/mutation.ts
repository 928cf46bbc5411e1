import { z } from 'zod';
import { type Context, renewed } from '../../core/context.ts';
import { id } from '../../core/input.ts';
import type { GraphqlContext, Needs } from '../execution/context.ts';
import { builder } from './builder.ts';
import { type Input, inputOf, type Overrides, objectOf } from './described.ts';

interface Mutation<Read extends z.ZodObject, Payload extends z.ZodObject> {
  description: string;
  input: Read;
  /** The description of the argument `input`; by default that of its type. */
  inputMeaning?: string;
  payload: Payload;
  extensions?: Needs;
  change(ctx: Context, input: Input<Read>, context: GraphqlContext): Promise<z.output<Payload>>;
}

/** Adds a mutation, with the types `<Name>Input` and `<Name>Payload`. */
export function addMutation<Read extends z.ZodObject, Payload extends z.ZodObject>(
  name: string,
  { input, inputMeaning = input.description, payload, change, ...options }: Mutation<Read, Payload>,
  except: { input?: Overrides<Read>; payload?: Overrides<Payload> } = {},
): void {
  const type = name.replace(/^./, (letter) => letter.toUpperCase());
  const Payload = objectOf(`${type}Payload`, payload, except.payload);
  const Input = inputOf(`${type}Input`, input, except.input);
  builder.mutationField(name, (t) =>
    t.field({
      ...options,
      type: Payload,
      nullable: true,
      args: { input: t.arg({ type: Input, required: true, description: inputMeaning }) },
      // A context for each field of the request: a failed one must not affect the next.
      resolve: ((_root: unknown, { input }: { input: Input<Read> }, context: GraphqlContext) =>
        change(renewed(context.ctx), input, context)) as never,
    }),
  );
}

export const idOf = (description: string) => z.object({ id: id.describe('Its id.') }).describe(description);
