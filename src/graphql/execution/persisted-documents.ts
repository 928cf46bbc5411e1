import { hash } from 'node:crypto';
import { GraphQLError, stripIgnoredCharacters } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Context } from '../../core/context.ts';
import { ValidationFailed } from '../../core/errors.ts';
import { documentBounds } from './guards.ts';

/** Documents of companies by their hash. A client sends the text again when it was dropped. */
const textsByCompany = new LRUCache<string, LRUCache<string, string>>({
  max: 64,
  // A cache for each company, so that a busy company evicts only its own documents.
  memoMethod: () => new LRUCache({ max: 1000, maxSize: 256 * 1024, sizeCalculation: ({ length }) => length + 1 }),
});

/** The text of a document, sent or kept by its hash (Apollo's way). Throws GraphQLError and ValidationFailed. */
export function documentText(
  { query: sent, extensions }: { query?: string | null | undefined; extensions?: Record<string, unknown> | null },
  { caller, services }: Context,
): string | undefined {
  const { TRUSTED_DOCUMENTS: trusted } = services.config;
  const query = sent || undefined;
  const id = hashIn(extensions?.persistedQuery);
  if (trusted) return trustedText(query, id, trusted);
  if (id === undefined) return query;
  if (query === undefined) return knownText(id);
  if (query.length > documentBounds.characters) return query;
  if (hash('sha256', query) !== id) throw new ValidationFailed([], 'provided sha does not match query');
  // Only documents of callers with a token are kept.
  if (caller) textsByCompany.memo(caller.company).set(id, query);
  return query;
}

function hashIn(persistedQuery: unknown): string | undefined {
  if (typeof persistedQuery !== 'object' || persistedQuery === null) return undefined;
  const { version, sha256Hash } = persistedQuery as { version?: unknown; sha256Hash?: unknown };
  if (version === 1 && typeof sha256Hash === 'string') return sha256Hash;
  throw new ValidationFailed([], 'Unsupported persisted query version');
}

function knownText(id: string): string {
  const texts = textsByCompany.values().map((own) => own.get(id));
  const text = texts.find((one) => one !== undefined);
  if (text === undefined) throw refused('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND');
  return text;
}

/** Trusted texts without ignored characters: a client that was refused once sends texts from then on. */
const trustedTexts = new WeakMap<ReadonlyMap<string, string>, Set<string>>();

function trustedText(query: string | undefined, id: string | undefined, trusted: ReadonlyMap<string, string>): string {
  const text = query ?? trusted.get(id ?? '');
  if (text === undefined || (query !== undefined && !isTrusted(query, trusted))) {
    throw refused('PersistedQueryNotSupported', 'PERSISTED_QUERY_NOT_SUPPORTED');
  }
  return text;
}

function isTrusted(text: string, trusted: ReadonlyMap<string, string>): boolean {
  if (text.length > documentBounds.characters) return false;
  const texts = trustedTexts.get(trusted) ?? new Set([...trusted.values()].map(stripped));
  trustedTexts.set(trusted, texts);
  return texts.has(stripped(text));
}

/** The text without ignored characters; a malformed one as it is. */
function stripped(text: string): string {
  try {
    return stripIgnoredCharacters(text);
  } catch {
    return text;
  }
}

/** Apollo's messages and codes, which clients understand. */
const refused = (message: string, code: string) => new GraphQLError(message, { extensions: { code } });
