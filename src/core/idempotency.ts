import { sql } from 'kysely';
import { type Context, hasScope, type Scope } from './context.ts';
import { domainErrorOf } from './database-errors.ts';
import {
  DomainError,
  type ErrorCode,
  Forbidden,
  IdempotencyInProgress,
  IdempotencyKeyReused,
  WebhookNotFound,
} from './errors.ts';
import { execute, onPrimary } from './sql/send.ts';

/** An answer as it went out, so that it can go out again. */
export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** What a request came to; `repeated` for what an earlier one with its key came to. */
export interface Outcome {
  outcome: StoredAnswer | DomainError;
  repeated: boolean;
}

export const IDEMPOTENCY_HOURS = 24;

/**
 * Does `work` once for each key of a company, in one transaction with remembering its outcome, be it an answer or a
 * error; a repetition within 24 hours gets that outcome, provided that it may see what the first caller saw. `request`
 * is a digest of what was asked. Throws IdempotencyKeyReused for another request, IdempotencyInProgress while the first
 * still runs, and what says nothing of the request: then nothing was done, and nothing is remembered.
 */
export async function once(
  ctx: Context,
  key: string,
  request: string,
  work: () => Promise<StoredAnswer>,
): Promise<Outcome> {
  const place = placeOf(ctx, key, request);
  return ctx.em.transactional(async () => {
    // Held until the transaction ends, however it ends; a killed process leaves nothing behind.
    const [lock] = await execute<{ free: boolean }>(
      onPrimary(ctx),
      sql`select pg_try_advisory_xact_lock(hashtextextended(${JSON.stringify([place.company, place.key])}, 0)) as free`,
    );
    if (!lock?.free) throw new IdempotencyInProgress();
    const before = await recall(ctx, place);
    if (before && before.request !== request) throw new IdempotencyKeyReused();
    if (before) return again(ctx, before);
    const outcome = await attempt(ctx, work);
    await remember(ctx, place, request, outcome);
    return { outcome, repeated: false };
  });
}

/** Where a key is kept: callers without a token know nothing of each other, so theirs are told apart by what they ask. */
const placeOf = ({ caller }: Context, key: string, request: string) =>
  caller ? { company: caller.company, key } : { company: '', key: `${key} ${request}` };
type Place = ReturnType<typeof placeOf>;

/** In a transaction within the other: what a rejected request has done is undone, and its error remembered all the same. */
async function attempt(ctx: Context, work: () => Promise<StoredAnswer>): Promise<StoredAnswer | DomainError> {
  try {
    return await ctx.em.transactional(work);
  } catch (error) {
    const domainError = domainErrorOf(error);
    if (!domainError || mayPass(domainError)) throw error;
    return domainError;
  }
}

/** Whether the same request may be answered otherwise next time, by its caller or by the state of the service. */
const mayPass = ({ code, retryAfter }: DomainError): boolean =>
  retryAfter !== undefined || code === 'UNAUTHENTICATED' || code === 'FORBIDDEN';

interface Remembered {
  request: string;
  /** null: it was an error, whose members are the body. */
  status: number | null;
  headers: Record<string, string> | null;
  body: string;
  scopes: Scope[];
  secret_of: string | null;
  /** The secret of that webhook as it is now; null when the webhook is gone. */
  secret: string | null;
}

/** Stands for a secret in a stored body. JSON has no such character: it escapes it. */
const SECRET = '\u0001';

async function recall(ctx: Context, { company, key }: Place): Promise<Remembered | undefined> {
  const [row] = await execute<Remembered>(
    onPrimary(ctx),
    sql`select k.request, k.status, k.headers, k.body, k.scopes, k.secret_of, w.secret from idempotency_key k
        left join webhook w on w.id = k.secret_of and w.company = k.company
        where k.company = ${company} and k.key = ${key}
          and k.created_at > ${ctx.now()}::timestamptz - make_interval(hours => ${IDEMPOTENCY_HOURS})`,
  );
  return row;
}

/** Another caller may repeat a request: with less rights than the first one it gets nothing that these had opened. */
function again(ctx: Context, { status, headers, body, scopes, secret_of, secret }: Remembered): Outcome {
  const missing = scopes.find((scope) => !hasScope(ctx, scope));
  if (missing) return { outcome: new Forbidden(`The token lacks the scope ${missing}.`, missing), repeated: false };
  if (status === null) return { outcome: new RememberedError(JSON.parse(body)), repeated: true };
  if (secret_of !== null && secret === null) return { outcome: new WebhookNotFound(), repeated: false };
  const text = secret === null ? body : body.replaceAll(SECRET, secret);
  return { outcome: { status, headers: headers ?? {}, body: text }, repeated: true };
}

async function remember(ctx: Context, { company, key }: Place, request: string, outcome: Outcome['outcome']) {
  const refused = outcome instanceof DomainError;
  const { scopes, secret } = ctx.disclosure;
  const text = refused ? JSON.stringify(membersOf(outcome)) : outcome.body;
  const shown = secret && text.includes(secret.text) ? secret : null;
  const [status, headers] = refused ? [null, null] : [outcome.status, JSON.stringify(outcome.headers)];
  await execute(
    onPrimary(ctx),
    sql`insert into idempotency_key as k (company, key, request, status, headers, body, scopes, secret_of, created_at)
        values (${company}, ${key}, ${request}, ${status}, ${headers}::jsonb,
          ${shown ? text.replaceAll(shown.text, SECRET) : text}, ${[...scopes]}::text[], ${shown?.webhookId ?? null}::uuid,
          ${ctx.now()}::timestamptz)
        on conflict (company, key) do update set request = excluded.request, status = excluded.status,
          headers = excluded.headers, body = excluded.body, scopes = excluded.scopes, secret_of = excluded.secret_of,
          created_at = excluded.created_at`,
  );
}

/** An error as it was told the first time. */
class RememberedError extends DomainError {
  declare readonly code: ErrorCode;
  constructor({ message, ...members }: ReturnType<typeof membersOf>) {
    super(message);
    Object.assign(this, members);
  }
}

/** Whatever an error tells its caller, whichever class it is of. */
function membersOf(domainError: DomainError) {
  const { cause: _, ...members } = domainError;
  return { ...members, message: domainError.message };
}
