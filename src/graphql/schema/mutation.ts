import { z } from 'zod';
import { type Context, renewed } from '../../core/context.ts';
import { id } from '../../core/input.ts';
import type { GraphqlContext, Needs } from '../execution/context.ts';
import { builder } from './builder.ts';
import { type Except, type Input, inputOf, objectOf } from './described.ts';

interface Mutation<Read extends z.ZodObject, Payload extends z.ZodObject> {
  description: string;
  input: Read;
  /** The description of the argument `input`; by default that of its type. */
  inputMeaning?: string;
  payload: Payload;
  extensions?: Needs;
  /** One core call. */
  change(ctx: Context, input: Input<Read>, context: GraphqlContext): Promise<z.output<Payload>>;
}

/** Adds a mutation with its input and its payload, whose types are called after it. */
export function addMutation<Read extends z.ZodObject, Payload extends z.ZodObject>(
  name: string,
  { input, inputMeaning = input.description, payload, change, ...options }: Mutation<Read, Payload>,
  except: { input?: Except<Read>; payload?: Except<Payload> } = {},
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
      // Each field of a request has a context of its own, so that a failed one leaves nothing behind for the next.
      resolve: ((_root: unknown, { input }: { input: Input<Read> }, context: GraphqlContext) =>
        change(renewed(context.ctx), input, context)) as never,
    }),
  );
}

/** The input of a mutation that needs no more than to know which one. */
export const idOf = (description: string) => z.object({ id: id.describe('Its id.') }).describe(description);
