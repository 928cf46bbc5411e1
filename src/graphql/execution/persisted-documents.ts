import { hash } from 'node:crypto';
import { GraphQLError, stripIgnoredCharacters } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Context } from '../../core/context.ts';
import { ValidationFailed } from '../../core/errors.ts';
import { bounds } from './guards.ts';

/** Documents of companies by the hash that clients may send in their place; clients send the text again when it is gone. */
const kept = new LRUCache<string, LRUCache<string, string>>({ max: 64 });
/** Documents of one company, so that a company cannot evict another's. */
const ofCompany = () =>
  new LRUCache<string, string>({ max: 1000, maxSize: 256 * 1024, sizeCalculation: ({ length }) => length + 1 });

/**
 * The text of the document in a request, which its hash (or id) in `extensions.persistedQuery` may stand for: as sent, or as
 * kept for its hash (Apollo's automatic persisted queries), or as trusted. With TRUSTED_DOCUMENTS, every other document is
 * refused. Without a token nothing is kept. Throws GraphQLError and ValidationFailed.
 */
export function textOf(
  { query: sent, extensions }: { query?: string | null | undefined; extensions?: Record<string, unknown> | null },
  { caller, services }: Context,
): string | undefined {
  const { TRUSTED_DOCUMENTS: trusted } = services.config;
  const query = sent || undefined;
  const asked = hashIn(extensions?.persistedQuery);
  if (trusted) return trustedText(query, asked, trusted);
  if (asked === undefined) return query;
  if (query === undefined) return knownText(asked);
  // A text that is too long is refused for that.
  if (query.length > bounds.characters) return query;
  if (hash('sha256', query) !== asked) throw wrong('provided sha does not match query');
  if (caller) keep(caller.company, asked, query);
  return query;
}

function hashIn(persistedQuery: unknown): string | undefined {
  if (typeof persistedQuery !== 'object' || persistedQuery === null) return undefined;
  const { version, sha256Hash } = persistedQuery as { version?: unknown; sha256Hash?: unknown };
  if (version === 1 && typeof sha256Hash === 'string') return sha256Hash;
  throw wrong('Unsupported persisted query version');
}

function keep(company: string, asked: string, text: string): void {
  const own = kept.get(company) ?? ofCompany();
  kept.set(company, own);
  own.set(asked, text);
}

/** The text kept for a hash, whichever company has sent it. */
function knownText(asked: string): string {
  const holder = kept.values().find((own) => own.has(asked));
  const text = holder?.get(asked);
  if (text === undefined) throw refused('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND');
  return text;
}

/** Trusted texts without what GraphQL ignores: a client that was refused once sends texts from then on. */
const trustedTexts = new WeakMap<ReadonlyMap<string, string>, Set<string>>();

function trustedText(query: string | undefined, id: string | undefined, trusted: ReadonlyMap<string, string>): string {
  const text = query ?? trusted.get(id ?? '');
  if (text === undefined || (query !== undefined && !isTrusted(query, trusted))) {
    throw refused('PersistedQueryNotSupported', 'PERSISTED_QUERY_NOT_SUPPORTED');
  }
  return text;
}

function isTrusted(text: string, trusted: ReadonlyMap<string, string>): boolean {
  if (text.length > bounds.characters) return false;
  const texts = trustedTexts.get(trusted) ?? new Set([...trusted.values()].map(stripped));
  trustedTexts.set(trusted, texts);
  return texts.has(stripped(text));
}

/** Nothing of what cannot be read is ignored. */
function stripped(text: string): string {
  try {
    return stripIgnoredCharacters(text);
  } catch {
    return text;
  }
}

/** In Apollo's words, by which clients know what to do. */
const refused = (message: string, code: string) => new GraphQLError(message, { extensions: { code } });
const wrong = (message: string) => new ValidationFailed([], message);
