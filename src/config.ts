import { isIP } from 'node:net';
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { addressFault } from './database/address.ts';
import { clearanceBrands } from './manufacturers/index.ts';
import { trustedDocuments } from './trusted-documents.ts';

const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, `must be ${new Intl.ListFormat('en', { type: 'disjunction' }).format(values)}`);
const onOff = oneOf(['on', 'off']).transform((value) => value === 'on');
const list = z
  .string()
  .transform((value) => value.split(',').flatMap((part) => part.trim() || []))
  .refine((items) => items.length > 0, 'must have an item');
const http = z.url({ protocol: /^https?$/, error: 'must be an address such as https://id.example.com' });
const url = http.transform((value) => value.replace(/\/$/, ''));
const postgres = z.string().superRefine((value, { addIssue }) => {
  const fault = addressFault(value);
  if (fault) addIssue(fault);
});
/** Addresses for Express's `trust proxy`. */
const proxy = z
  .string()
  .refine(isProxy, 'must have addresses, networks such as 10.0.0.0/8, loopback, linklocal or uniquelocal');
/** The path with which addresses begin behind a proxy. */
const path = z.string().regex(/^(?:\/(?!\.\.?(?:\/|$))[\w.~-]+)+\/?$/, 'must be a path such as /api/fleet');
/** An origin as browsers send it. */
const origin = z
  .string()
  .refine((value) => URL.parse(value)?.origin === value, 'must have origins such as https://app.example.com');
/** A pack with the numbers of its services. */
const pack = z
  .string()
  .regex(/^[^:]+:\w+(\+\w+)*$/, 'must have packs such as basic:1001+1002')
  .transform((value): [string, string[]] => {
    const [name = '', services = ''] = value.split(':');
    return [name.trim(), services.split('+')];
  });
/** Installations, each with an address. */
const installations = (address: RegExp, example: string) =>
  list
    .pipe(z.array(z.string().regex(address, `must have installations such as a=${example}`)))
    .transform((all) =>
      Object.fromEntries(all.map((one): [string, string] => [one.split('=')[0] ?? '', one.replace(/^.*?=|\/$/g, '')])),
    );

const scope = z.string().regex(/(?:^| )openid(?: |$)/, 'must name openid');

function whole(min: number, max = Number.MAX_SAFE_INTEGER) {
  const most = max === Number.MAX_SAFE_INTEGER ? 'or more' : `to ${max}`;
  const error = `must be a whole number: ${min} ${most}`;
  const digits = z.string().regex(/^\d+$/, error);
  return digits.transform(Number).pipe(z.int(error).min(min, error).max(max, error));
}

/** Every setting, with its default. A test compares the table in docs/reference.md with it. */
export const settings = z.object({
  PORT: whole(0, 65_535).default(4000),
  HOST: z.string().default('127.0.0.1'),
  TRUST_PROXY: list.pipe(z.array(proxy)).default([]),
  BASE_PATH: path.transform((value) => value.replace(/\/$/, '')).optional(),
  DATABASE_URL: postgres.optional(),
  DATABASE_DIRECT_URL: postgres.optional(),
  DATABASE_READ_URLS: list.pipe(z.array(postgres)).default([]),
  INSTALLATION: z
    .string()
    .regex(/^[\w-]+$/, 'must be a plain name')
    .optional(),
  INSTALLATIONS: installations(/^[\w-]+=https?:\/\/[^/]/, 'https://a.example.com').optional(),
  DATABASE_ADMIN_URLS: installations(/^[\w-]+=postgres(?:ql)?:\/\/./, 'postgresql://admin@a.example.com/gateway')
    .pipe(z.record(z.string(), postgres))
    .optional(),
  DATA_DIR: z.string().min(1).default('.data'),
  AUTH_ISSUER: http.optional(),
  AUTH_AUDIENCE: list.optional(),
  AUTH_CLIENT_IDS: list.optional(),
  AUTH_JWKS_URI: url.optional(),
  AUTH_COMPANY_CLAIM: z.string().min(1).default('company'),
  AUTH_SCOPES: onOff.default(false),
  CONTRACTS_AUTH: oneOf(['open', 'required']).default('open'),
  PACKS: list.transform(catalogueOf).optional(),
  CONTRACTS_ACTIVATION: onOff.optional(),
  ACTIVATION_GAP_MINUTES: whole(0, 43_200).default(60),
  LIMIT_VINS: whole(1).default(10_000),
  LIMIT_FILE_BYTES: whole(1).default(256 * 1024 * 1024),
  LIMIT_FILE_SECONDS: whole(1).default(60),
  LIMIT_JSON_BYTES: whole(1).default(1024 * 1024),
  LIMIT_REJECTED_ROWS: whole(0).default(100_000),
  LIMIT_UPLOADS: whole(1).default(4),
  LIMIT_CONNECTIONS: whole(1).default(10_000),
  // Enough for the largest page that REST gives by default: 50 events, each with 1,000 vehicles.
  LIMIT_GRAPHQL_COST: whole(1).default(60_000),
  LIMIT_STATEMENT_SECONDS: whole(1).default(5),
  LIMIT_GRAPHQL_SECONDS: whole(1, 86_400).default(30),
  RATE_LIMIT_PER_MINUTE: whole(0).default(0),
  HIGH_MOBILITY_URL: url.optional(),
  HIGH_MOBILITY_CLIENT_ID: z.string().min(1).optional(),
  HIGH_MOBILITY_CLIENT_SECRET: z.string().min(1).optional(),
  HIGH_MOBILITY_WEBHOOK_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  HIGH_MOBILITY_BRANDS: list.pipe(z.array(oneOf(clearanceBrands))).optional(),
  MERCEDES_URL: url.optional(),
  MERCEDES_TOKEN_URL: url.optional(),
  MERCEDES_CLIENT_ID: z.string().min(1).optional(),
  MERCEDES_CLIENT_SECRET: z.string().min(1).optional(),
  MERCEDES_SCOPE: scope.default('openid'),
  MERCEDES_PACKS: list
    .pipe(z.array(pack))
    .transform(Object.fromEntries<string[]>)
    .optional(),
  RECHECK_ELIGIBLE_DAYS: whole(1, 3650).default(30),
  RECHECK_INELIGIBLE_DAYS: whole(1, 3650).default(7),
  RECHECK_FAILED_DAYS: whole(1, 3650).default(1),
  EVENTS_KEEP_DAYS: whole(1, 36_500).default(400),
  IMPORTS_KEEP_DAYS: whole(1, 36_500).default(90),
  WEBHOOK_LOOPBACK: onOff.optional(),
  // A setting of Node's own, by which fetch and telemetry use the proxy.
  NODE_USE_ENV_PROXY: oneOf(['0', '1'])
    .transform((value) => value === '1')
    .optional(),
  SANDBOX: onOff.optional(),
  PROVIDER_CONCURRENCY: whole(1, 1000).default(16),
  PROVIDER_TIMEOUT_SECONDS: whole(1, 300).default(30),
  WORKERS: onOff.default(true),
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_FORMAT: oneOf(['json', 'pretty']).optional(),
  CORS_ORIGINS: list.pipe(z.array(origin)).default([]),
  CONSOLE: onOff.optional(),
  CONSOLE_CLIENT_ID: z.string().min(1).optional(),
  CONSOLE_SCOPE: scope.default('openid'),
  GRAPHIQL: onOff.default(true),
  INTROSPECTION: onOff.default(true),
  TRUSTED_DOCUMENTS: trustedDocuments.optional(),
  METRICS_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
});

/** Packs such as `fuel` or `fuel: Fuel level and range`: their descriptions by their names. */
function catalogueOf(items: readonly string[]): ReadonlyMap<string, string | null> {
  const parts = items.map((item) => item.split(/:(.*)/).map((part) => part.trim()));
  return new Map(parts.map(([name = '', description]) => [name, description || null]));
}

function isProxy(value: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(value)) return true;
  const [address = '', bits, ...rest] = value.split('/');
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  return longest > 0 && rest.length === 0 && (bits === undefined || (/^[1-9]\d*$/.test(bits) && +bits <= longest));
}

/** All errors of the environment at once, one line each. */
export class ConfigError extends Error {
  constructor(errors: readonly string[]) {
    super(`The settings are not right:\n${errors.map((error) => `  - ${error}`).join('\n')}`);
  }
}

type Name = keyof typeof settings.shape;
const highMobility: Name[] = ['HIGH_MOBILITY_URL', 'HIGH_MOBILITY_CLIENT_ID', 'HIGH_MOBILITY_CLIENT_SECRET'];
const mercedes: Name[] = ['MERCEDES_URL', 'MERCEDES_TOKEN_URL', 'MERCEDES_CLIENT_ID', 'MERCEDES_CLIENT_SECRET'];

/** With one of the causes set, all of the others are required. */
const requirements: [causes: Name[], required: Name[]][] = [
  [[...highMobility, 'HIGH_MOBILITY_BRANDS'], highMobility],
  [mercedes, mercedes],
  [['DATABASE_URL', 'CONSOLE_CLIENT_ID'], ['AUTH_ISSUER']],
  [['DATABASE_URL'], ['CONTRACTS_AUTH']],
  [['DATABASE_DIRECT_URL'], ['DATABASE_URL']],
  [['DATABASE_READ_URLS'], ['DATABASE_URL']],
  [['INSTALLATION'], ['INSTALLATIONS', 'DATABASE_URL']],
  [['INSTALLATIONS'], ['INSTALLATION']],
];

function missing(given: NodeJS.ProcessEnv): string[] {
  return requirements.flatMap(([causes, required]) => {
    const cause = causes.find((name) => name in given);
    const absent = cause ? required.filter((name) => !(name in given)) : [];
    return absent.map((name) => `${name}: is required, because ${cause} is set`);
  });
}

/** Values that hold a password or a token are not repeated. */
const SECRET = /^DATABASE_|SECRET$|TOKEN$/;

/** A sentence for each setting that is wrong. */
function wrong(error: z.ZodError, given: NodeJS.ProcessEnv): string[] {
  const sentences = error.issues.map(({ path: [name], message }) => {
    const value = SECRET.test(String(name)) ? '' : `, not "${given[String(name)]}"`;
    return `${String(name)}: ${message}${value}`;
  });
  return [...new Set(sentences)];
}

/** Reads the settings of a part of the schema; an empty value counts as unset. Throws ConfigError naming every error. */
export function readSettings<Part extends z.ZodType>(
  env: NodeJS.ProcessEnv,
  part: Part,
  missing = (_: NodeJS.ProcessEnv): string[] => [],
): z.output<Part> {
  const given = Object.fromEntries(Object.entries(env).filter(([name, value]) => name in settings.shape && value));
  const { success, data, error } = part.safeParse(given);
  const errors = [...(success ? [] : wrong(error, given)), ...missing(given)];
  if (!success || errors.length > 0) throw new ConfigError(errors);
  return data;
}

export type Config = ReturnType<typeof readConfig>;

/** Reads all settings. Throws ConfigError naming every error. */
export function readConfig(env: NodeJS.ProcessEnv) {
  const data = readSettings(env, settings, missing);
  /** Without a database and an issuer, the gateway issues its own tokens. */
  const developmentIdentity = !data.DATABASE_URL && !data.AUTH_ISSUER;
  /** Where DATABASE_URL is set, the sandbox's answers could be taken for real ones. */
  const SANDBOX = data.SANDBOX ?? !data.DATABASE_URL;
  return {
    ...data,
    /** People at a terminal read lines, programs JSON. */
    LOG_FORMAT: data.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json'),
    SANDBOX,
    PACKS: data.PACKS ?? new Map<string, string | null>(),
    /** What manufacturers carry out costs money, except in the sandbox. */
    CONTRACTS_ACTIVATION: data.CONTRACTS_ACTIVATION ?? (SANDBOX && !data.HIGH_MOBILITY_URL && !data.MERCEDES_URL),
    CONSOLE: data.CONSOLE ?? developmentIdentity,
    /** Webhooks may go to this machine itself, and there over plain http: for trying them out. */
    WEBHOOK_LOOPBACK: data.WEBHOOK_LOOPBACK ?? developmentIdentity,
    /** Origins whose pages may call. */
    origins: [...data.CORS_ORIGINS, ...(developmentIdentity ? [THIS_MACHINE] : [])],
    developmentIdentity,
  };
}

/** Origins of pages that this machine serves, such as those of a frontend's development server. */
const THIS_MACHINE = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Names as short as HOME are close to everything. */
const SHORTEST_MISTAKE = 8;

/** A warning for each variable that is no setting, but is written nearly like one. */
export function mistakenNames(env: NodeJS.ProcessEnv): string[] {
  const known = Object.keys(settings.shape);
  return Object.keys(env).flatMap((name) => {
    if (name in settings.shape || name.length < SHORTEST_MISTAKE) return [];
    const meant = closest(name.toUpperCase(), known);
    return distance(name.toUpperCase(), meant) <= 2 ? [`${name} is no setting: do you mean ${meant}?`] : [];
  });
}
