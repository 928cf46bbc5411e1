import { type Context, renewed } from '../../core/context.ts';
import type { GraphqlContext } from '../execution/context.ts';

/**
 * The resolver of a mutation: its `input` to one core call. Each field of a request works with a context of its own,
 * so that one that was refused leaves nothing behind for the next.
 */
export const mutate =
  <Input, Payload>(change: (ctx: Context, input: Input, context: GraphqlContext) => Promise<Payload>) =>
  (_root: unknown, { input }: { input: Input }, context: GraphqlContext): Promise<Payload> =>
    change(renewed(context.ctx), input, context);
