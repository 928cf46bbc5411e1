// Kills three processes eight times while they verify.
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import { databaseConfig, databaseEnv } from '../support/database.ts';
import { addVehicles, newVins } from '../support/factories.ts';
import { askingAt, spawnGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { eligible, slow, UpstreamServer, vinOf } from '../support/upstream.ts';

const KILLS = 8;
/** Vehicles added before each kill. */
const ADDED = 60;

const env = await databaseEnv();

test.runIf(env.DATABASE_URL)(
  'after eight kills among three processes, only calls under way are repeated, without a long delay',
  async () => {
    const issuer = await testIssuer();
    const upstream = await UpstreamServer.start();
    upstream.always('eligibility', slow(300, eligible()));
    const start = () => spawnGateway({ ...env, ...askingAt(upstream) }, { issuer });
    const gateways = [await start(), await start(), await start()];
    const database = await openDatabase(databaseConfig(env));
    const rows = (statement: string) => database.orm.em.fork().execute<{ vin: string }[]>(statement);
    const asked = () =>
      Map.groupBy(
        upstream.received.filter(({ endpoint }) => endpoint === 'eligibility').map((one) => vinOf(one)),
        (vin) => vin,
      );
    /** How often a call about a vehicle was under way when a process was killed. */
    const underWay = new Map<string, number>();

    const all: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const vins = newVins(ADDED);
      all.push(...vins);
      const [victim, other] = [gateways[kill % 3], gateways[(kill + 1) % 3]];
      if (!victim || !other) throw new Error('three processes run');
      await addVehicles(other.as('acme'), vins);
      await until(() => vins.some((vin) => asked().has(vin)));
      await victim.stop('SIGKILL');
      const known = asked();
      for (const { vin } of await rows('select vin from vehicle where claimed_by is not null'))
        if (known.has(vin)) underWay.set(vin, (underWay.get(vin) ?? 0) + 1);
      gateways[kill % 3] = await start();
    }
    // A claim that no process takes over ends after two minutes, longer than this wait.
    await until(async () => (await rows(`select vin from vehicle where status = 'PENDING'`)).length === 0);

    const times = asked();
    expect(times.size).toBe(all.length);
    expect(all.filter((vin) => (times.get(vin)?.length ?? 0) > 1 + (underWay.get(vin) ?? 0))).toEqual([]);
    expect(underWay.size).toBeGreaterThan(0);
    await Promise.all(gateways.map((gateway) => gateway.stop('SIGKILL')));
    await database.close();
    await upstream.close();
  },
);
