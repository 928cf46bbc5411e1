import { hash } from 'node:crypto';
import { type Insertable, sql } from 'kysely';
import { type Context, hasScope } from '../context.ts';
import { transaction } from '../database.ts';
import { domainErrorOf } from '../database-errors.ts';
import {
  DomainError,
  type ErrorCode,
  Forbidden,
  IdempotencyAnswerGone,
  IdempotencyInProgress,
  IdempotencyKeyReused,
  WebhookNotFound,
} from '../errors.ts';
import { db, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { boundKeptAnswers } from './kept-answers.ts';

interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

type Work = () => Promise<StoredAnswer>;

/** The outcome of a request; `repeated`: of an earlier request with the same key. */
type IdempotentOutcome = { outcome: StoredAnswer | DomainError; repeated: boolean };

export const IDEMPOTENCY_HOURS = 24;

/** `former`: the digest that 0.4.0 stored, which is found until a day after the upgrade. */
interface RequestDigest {
  request: string;
  former: string;
}

/** A digest of JSON values, the same for members in any order. Goes through them without recursion: they may be deep. */
export function digestOfValues(...values: unknown[]): string {
  const text: string[] = [];
  const rest = values;
  while (rest.length > 0) {
    const value = rest.pop();
    if (Array.isArray(value)) {
      text.push(`[${value.length}`);
      for (const item of value) rest.push(item);
    } else if (typeof value === 'object' && value !== null) {
      const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
      text.push(`{${members.length}`);
      for (const [name, member] of members) rest.push(member, name);
    } else text.push(typeof value === 'number' ? String(value) : JSON.stringify(value));
  }
  return hash('sha256', text.join('\n'));
}

/**
 * Does `work` once for each key of a company, and stores its outcome in the same transaction; a repetition within 24
 * hours gets that outcome. Throws IdempotencyKeyReused, IdempotencyInProgress, and errors that may pass (mayPass), which
 * undo everything.
 */
export async function runOncePerKey(ctx: Context, key: string, { request, former }: RequestDigest, work: Work) {
  const answerKey = answerKeyOf(ctx, key, request);
  const formerKey = answerKeyOf(ctx, key, former).key;
  return transaction(ctx, async () => {
    // Held until the transaction ends; a killed process leaves no lock.
    const [lock] = await lockKey(ctx, { name: JSON.stringify(['answer', answerKey.company, answerKey.key]) });
    if (!lock?.free) throw new IdempotencyInProgress();
    const [before] = await recall(ctx, { ...answerKey, formerKey, after: answerExpiryTime(ctx) });
    if (before && before.request !== request && before.request !== former) throw new IdempotencyKeyReused();
    if (before) return again(ctx, before);
    const outcome = await attempt(ctx, work);
    await remember(ctx, answerKey, request, outcome);
    return { outcome, repeated: false };
  });
}

/** The key as stored: callers without a token share no keys, so their requests are part of it. */
const answerKeyOf = ({ caller }: Context, key: string, request: string) =>
  caller ? { company: caller.company, key } : { company: '', key: `${key} ${request}` };
type AnswerKey = ReturnType<typeof answerKeyOf>;

/** A nested transaction: a rejected request is rolled back, but its error is stored. */
async function attempt(ctx: Context, work: Work): Promise<StoredAnswer | DomainError> {
  try {
    return await transaction(ctx, work);
  } catch (error) {
    const domainError = domainErrorOf(error);
    if (!domainError || mayPass(domainError)) throw error;
    return domainError;
  }
}

/** Whether the same request may have another outcome next time, by its caller or the state of the service. */
const mayPass = ({ code, retryAfter }: DomainError): boolean =>
  retryAfter !== undefined || code === 'UNAUTHENTICATED' || code === 'FORBIDDEN';

/** Replaces a secret in a stored body. JSON escapes this character. */
const SECRET = '\u0001';

const lockKey = prepare((p: { name: string }) =>
  db.selectNoFrom(sql<boolean>`pg_try_advisory_xact_lock(hashtextextended(${p.name}, 0))`.as('free')),
);

/** The stored outcome of a key, with the current secret of the webhook that the answer showed. */
const recall = prepare((p: AnswerKey & { formerKey: string; after: string }) =>
  db
    .selectFrom('idempotency_key as k')
    .leftJoin('webhook as w', (on) => on.onRef('w.id', '=', 'k.secret_of').onRef('w.company', '=', 'k.company'))
    .select(['k.request', 'k.status', 'k.headers', 'k.body', 'k.scopes', 'k.secret_of', 'w.secret'])
    .where('k.company', '=', p.company)
    .where('k.key', 'in', [p.key, p.formerKey])
    .where('k.created_at', '>', p.after),
);
type Remembered = Awaited<ReturnType<typeof recall>>[number];

/** Outcomes stored before this time are deleted. */
export const answerExpiryTime = (ctx: Context): string =>
  new Date(ctx.now().getTime() - IDEMPOTENCY_HOURS * 3_600_000).toISOString();

/** A caller with fewer scopes than the first one gets Forbidden. An answer without its body was let go. */
function again(ctx: Context, { status, headers, body, scopes, secret_of, secret }: Remembered): IdempotentOutcome {
  const missing = scopes.find((scope) => !hasScope(ctx, scope));
  if (missing) return { outcome: new Forbidden(`The token lacks the scope ${missing}.`, missing), repeated: false };
  if (body === null) return { outcome: new IdempotencyAnswerGone(), repeated: false };
  if (status === null) return { outcome: new RememberedError(JSON.parse(body)), repeated: true };
  if (secret_of !== null && secret === null) return { outcome: new WebhookNotFound(), repeated: false };
  const text = secret === null ? body : body.replaceAll(SECRET, secret);
  return { outcome: { status, headers: headers ?? {}, body: text }, repeated: true };
}

async function remember(ctx: Context, answerKey: AnswerKey, request: string, outcome: IdempotentOutcome['outcome']) {
  const refused = outcome instanceof DomainError;
  const { scopes, secret } = ctx.disclosure;
  const text = refused ? JSON.stringify(membersOf(outcome)) : outcome.body;
  const shown = secret && text.includes(secret.text) ? secret : null;
  const head = refused ? { status: null, headers: null } : { ...outcome, headers: JSON.stringify(outcome.headers) };
  const body = shown ? text.replaceAll(shown.text, SECRET) : text;
  const disclosed = { scopes: [...scopes], secret_of: shown?.webhookId ?? null };
  await keep(ctx, { ...answerKey, ...head, ...disclosed, request, body, created_at: ctx.now() });
  await boundKeptAnswers(ctx, answerKey.company, answerKey.key, body);
}

const keep = prepare((p: Insertable<Tables['idempotency_key']>) => {
  const { company, key, request, status, headers, body, scopes, secret_of, created_at } = p;
  const outcome = { request, status, headers, body, scopes, secret_of, created_at };
  // An expired outcome may still be stored.
  const excluded = Object.keys(outcome).map((column) => [column, sql.ref<never>(`excluded.${column}`)]);
  return db
    .insertInto('idempotency_key')
    .values({ company, key, ...outcome })
    .onConflict((conflict) => conflict.columns(['company', 'key']).doUpdateSet(Object.fromEntries(excluded)));
});

class RememberedError extends DomainError {
  declare readonly code: ErrorCode;
  constructor({ message, ...members }: ReturnType<typeof membersOf>) {
    super(message, members);
  }
}

/** The members of any error that its caller sees. */
function membersOf(domainError: DomainError) {
  const { cause: _, ...members } = domainError;
  return { ...members, message: domainError.message };
}
