import type { Context } from './context.ts';

/**
 * The same caller with an entity manager of its own: what one operation left unsaved is nothing to the next.
 * For requests that hold several operations, and for events of a long stream.
 */
export const renewed = (ctx: Context): Context => ({ ...ctx, em: ctx.em.fork({ useContext: true }) });
