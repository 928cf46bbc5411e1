import { AsyncLocalStorage } from 'node:async_hooks';
import type { MikroORM } from '@mikro-orm/postgresql';

/** An open transaction, as those see it who are called within. */
interface Transaction {
  open: boolean;
  after: (() => void)[];
}

const current = new AsyncLocalStorage<Transaction>();

export const isInsideTransaction = (): boolean => current.getStore()?.open ?? false;

/** Calls back when the open transaction has committed, and never if it rolls back; at once where none is open. */
export function afterCommit(act: () => void): void {
  const transaction = current.getStore();
  if (transaction?.open) transaction.after.push(act);
  else act();
}

/** Makes the transactions of the unit of work known to those two. */
export function watchTransactions(orm: MikroORM): void {
  const connection = orm.em.getConnection();
  const transactional = connection.transactional.bind(connection);
  connection.transactional = async (body, settings) => {
    // A savepoint belongs to the transaction around it. What it announced wakes somebody in vain if it was rolled back.
    if (settings?.ctx) return transactional(body, settings);
    const transaction: Transaction = { open: true, after: [] };
    const result = await transactional((trx) => current.run(transaction, () => body(trx)), settings).finally(() => {
      transaction.open = false;
    });
    for (const act of transaction.after) act();
    return result;
  };
}
