import { AsyncLocalStorage } from 'node:async_hooks';
import { type EventSubscriber, TransactionContext, type TransactionEventArgs } from '@mikro-orm/core';

/** Runs a function that has no part in a transaction: MikroORM's context would hold a committed one for all that it starts. */
const outside = AsyncLocalStorage.snapshot();

/** An open transaction. MikroORM hands its subscribers down to its savepoints. */
class OpenTransaction implements EventSubscriber {
  readonly after: (() => void)[] = [];
  readonly #transaction: unknown;
  isOpen = true;

  constructor(transaction: unknown) {
    this.#transaction = transaction;
  }

  /** MikroORM calls this for savepoints, too. */
  afterTransactionCommit({ transaction }: TransactionEventArgs): void {
    if (transaction !== this.#transaction) return;
    this.isOpen = false;
    for (const act of this.after) outside(act);
  }

  beforeTransactionRollback({ transaction }: TransactionEventArgs): void {
    if (transaction === this.#transaction) this.isOpen = false;
  }
}

/** Has MikroORM note each transaction that begins. */
export const transactions: EventSubscriber = {
  afterTransactionStart({ em, transaction }) {
    const isSavepoint = transaction !== undefined && 'savepointName' in (transaction as object);
    if (!isSavepoint) em.getEventManager().registerSubscriber(new OpenTransaction(transaction));
  },
};

export function openTransaction(): OpenTransaction | undefined {
  const em = TransactionContext.getEntityManager();
  const subscribers = em?.getEventManager().getSubscribers() ?? [];
  return [...subscribers].findLast((one) => one instanceof OpenTransaction && one.isOpen) as
    | OpenTransaction
    | undefined;
}

/** Calls back when the open transaction has committed, and never if it rolls back; at once where none is open. */
export function afterCommit(act: () => void): void {
  const open = openTransaction();
  if (open) open.after.push(act);
  else act();
}
