import { TransactionContext } from '@mikro-orm/core';
import { CompiledQuery } from 'kysely';
import type { Context } from '../context.ts';
import type { Send } from './prepare.ts';

// Where prepared statements go. Inside the open transaction all of them belong to it.

/** The primary. */
export const onPrimary = (ctx: Context): Send => inTransaction(ctx) ?? ctx.services.database.send;

/** A replica if there is one, else the primary: for short reads (at most a page), which share a few connections. */
export const onReplica = (ctx: Context): Send => inTransaction(ctx) ?? ctx.services.database.read;

/** The primary, on shared connections: for short statements that add rows and wait for nobody else's. */
export const append = (ctx: Context): Send => inTransaction(ctx) ?? ctx.services.database.add;

function inTransaction(ctx: Context): Send | undefined {
  if (!TransactionContext.currentTransactionContext()) return undefined;
  return async (text, values) => (await ctx.em.getKysely().executeQuery(CompiledQuery.raw(text, [...values]))).rows;
}
