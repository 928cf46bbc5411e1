import { z } from 'zod';
import { type Context, renewed } from '../../core/context.ts';
import { id } from '../../core/input.ts';
import type { GraphqlContext, Needs } from '../execution/context.ts';
import { builder } from './builder.ts';
import { type Except, type Input, inputOf, objectOf } from './described.ts';

/**
 * The resolver of a mutation: its `input` to one core call. Each field of a request works with a context of its own,
 * so that a failed one leaves nothing behind for the next.
 */
export const mutate =
  <Input, Payload>(change: (ctx: Context, input: Input, context: GraphqlContext) => Promise<Payload>) =>
  (_root: unknown, { input }: { input: Input }, context: GraphqlContext): Promise<Payload> =>
    change(renewed(context.ctx), input, context);

interface Mutation<Read extends z.ZodObject, Payload extends z.ZodObject> {
  description: string;
  input: Read;
  payload: Payload;
  extensions?: Pick<Needs, keyof Needs>;
  change(ctx: Context, input: Input<Read>): Promise<z.output<Payload>>;
}

/** Adds a mutation with its input and its payload, whose types are called after it; gives the latter. */
export function addMutation<Read extends z.ZodObject, Payload extends z.ZodObject>(
  name: string,
  { input, payload, change, ...options }: Mutation<Read, Payload>,
  except: { input?: Except<Read>; payload?: Except<Payload> } = {},
) {
  const type = name.replace(/^./, (letter) => letter.toUpperCase());
  const Payload = objectOf(`${type}Payload`, payload, except.payload);
  const Input = inputOf(`${type}Input`, input, except.input);
  builder.mutationField(name, (t) =>
    t.field({
      ...options,
      type: Payload,
      nullable: true,
      args: { input: t.arg({ type: Input, required: true, description: input.description }) },
      resolve: mutate(change) as never,
    }),
  );
  return Payload;
}

/** The input of a mutation that needs no more than to know which one. */
export const idOf = (description: string) => z.object({ id: id.describe('Its id.') }).describe(description);
