// PgBouncer as documented: a restart, PAUSE and RESUME. Left out without PgBouncer 1.21 or newer (`TEST_PGBOUNCER` names one).
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { createFleet, newVins } from '../support/factories.ts';
import { bearer, spawnGateway, testIssuer } from '../support/gateway.ts';
import { Load } from '../support/load.ts';
import { hasPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { durable, type Server, startServer } from '../support/postgres-server.ts';
import { until } from '../support/until.ts';

/** Within this time everything is served again: less than PgBouncer's own pause after a failed log-in, which is 15 s. */
const AGAIN_MS = 10_000;
/** No request waits longer. */
const LONGEST_MS = 15_000;

const { kind, folder } = inject('database');
const issuer = await testIssuer();

describe.runIf(kind === 'postgresql' && hasPgbouncer)(
  'Behind PgBouncer as it is documented, with a password',
  async () => {
    const isAsked = kind === 'postgresql' && hasPgbouncer;
    const server = isAsked ? await startServer(durable, { tls: false }) : ({} as Server);
    afterAll(() => server.stop?.());
    const pooler = isAsked ? await startPgbouncer(server) : ({} as Awaited<ReturnType<typeof startPgbouncer>>);

    async function underLoad() {
      const settings = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: server.direct, DATA_DIR: folder };
      const gateway = await spawnGateway(settings, { issuer });
      const load = new Load(gateway.url, () => bearer(issuer.sign({ company: 'acme' })));
      onTestFinished(() => load.stop());
      await until(() => load.sent.length > 200);
      return { acme: gateway.as('acme'), load };
    }

    /** Nothing but 503 with Retry-After meanwhile, everything afterwards, and no acknowledged write is lost. */
    async function expectServedAgain(load: Load, returned: number): Promise<void> {
      const isServed = () => {
        const since = load.since(returned);
        return ['GET /fleets', 'POST /fleets', 'GraphQL query', 'GraphQL mutation'].every((what) =>
          since.some((one) => one.what === what && one.status > 0 && one.status < 300),
        );
      };
      await until(isServed, AGAIN_MS);
      const works = performance.now() + 1_000;
      await until(() => load.since(works).length > 100);
      await load.stop();
      const kinds = new Set(load.sent.map(({ status, code }) => `${status} ${code ?? ''}`.trim()));
      expect(['200', '201', '503 UNAVAILABLE', '429 RATE_LIMITED']).toEqual(expect.arrayContaining([...kinds]));
      expect(load.sent.filter(({ status, retryAfter }) => status >= 300 && !retryAfter)).toEqual([]);
      expect(load.since(works).filter(({ status }) => status >= 300)).toEqual([]);
      expect(load.sent.filter(({ began, ended }) => ended - began > LONGEST_MS)).toEqual([]);
      expect(await load.missing(server.admin)).toEqual([]);
    }

    test('all requests are answered', async () => {
      const { load } = await underLoad();
      await until(() => load.sent.length > 1_000);
      await load.stop();
      expect(load.sent.filter(({ status }) => status >= 300)).toEqual([]);
      expect(await load.missing(server.admin)).toEqual([]);
    });

    test('they are again after a restart of PostgreSQL', async () => {
      const { load } = await underLoad();
      await server.end('SIGINT');
      await delay(1_000);
      await server.start();
      await expectServedAgain(load, performance.now());
    });

    test('they are again after PAUSE and RESUME, and vehicles of that time are verified', async () => {
      const { acme, load } = await underLoad();
      const fleet = await createFleet(acme);
      const vins = newVins(100);
      await acme.post('/vehicles', { fleetId: fleet.id, vins });
      const pausing = pooler.command('pause');
      await delay(4_000);
      await pausing;
      await pooler.command('resume');
      await expectServedAgain(load, performance.now());
      const { eligibilitySummary } = await until(async () => {
        const query = `{ fleet(id: "${fleet.id}") { eligibilitySummary { pending } } }`;
        const { body } = await acme.post('/graphql', { query });
        return body.data.fleet.eligibilitySummary.pending === 0 && body.data.fleet;
      });
      expect(eligibilitySummary).toEqual({ pending: 0 });
    });
  },
);
