/**
 * Counts the writes that are lost when the primary dies under load and its standby takes over at the same address.
 * Run:  npx node bench/failover.ts [--seconds 10] [--lag 150]
 * Read: for asynchronous and synchronous replication, writes acknowledged before the primary was killed with -9, the
 * number of them that the promoted standby lacks, and the time from its promotion until the gateway served writes again
 * by itself. The replication network delays every chunk by `lag` milliseconds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Load } from '../test/support/load.ts';
import { TcpProxy } from '../test/support/tcp-proxy.ts';
import { openWorld, sql } from './support/world.ts';

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, lag: { type: 'string', default: '150' } },
});

await failover('asynchronous', {});
await failover('synchronous', { synchronous_standby_names: 'standby' });

async function failover(name: string, replication: Record<string, string>): Promise<void> {
  await using world = await openWorld({ server: replication });
  const primary = world.server;
  await primary.end('SIGINT');
  // Replication uses its own network, which has a delay.
  const replicationNetwork = await TcpProxy.start(primary.url);
  const standby = await primary.standby({ synchronous_standby_names: '' }, replicationNetwork.through(primary.url));
  await primary.start();
  while ((await sql(primary.admin, `select from pg_stat_replication where state = 'streaming'`)).length === 0)
    await delay(100);
  const network = await TcpProxy.start(primary.url);
  const gateway = await world.gateway({ DATABASE_URL: network.through(primary.url) });
  const load = new Load(gateway.url, () => world.headers('failover'), 16);
  try {
    replicationNetwork.delayMs = Number(options.lag);
    await delay(Number(options.seconds) * 1000);
    await primary.end('SIGKILL');
    replicationNetwork.cut();
    await delay(1_000);
    const promoted = performance.now();
    await sql(standby.admin, 'select pg_promote(true, 60)');
    // The address fails over, as a DNS name or a proxy does.
    network.target = addressOf(standby.url);
    network.cut();
    await delay(4_000);
    await load.stop();
    const back = load.sent.find(
      ({ what, status, began }) => what === 'POST /fleets' && status === 201 && began > promoted,
    );
    const others = load.sent.filter(({ status }) => ![200, 201, 503].includes(status)).length;
    const slowest = Math.max(...load.sent.map(({ began, ended }) => ended - began));
    const missing = await load.missing(standby.admin);
    console.log(
      `${name.padEnd(12)} ${load.acknowledged.length} acknowledged writes, ${missing.length} missing after the failover; ` +
        `writes again ${back ? `${Math.round(back.ended - promoted)} ms` : 'never'} after the promotion began; ` +
        `longest answer ${Math.round(slowest)} ms; answers other than 2xx and 503: ${others}`,
    );
    if (!back || others > 0 || (name === 'synchronous' && missing.length > 0)) process.exitCode = 1;
  } finally {
    await load.stop();
    await gateway.stop('SIGKILL');
    await network.close();
    await replicationNetwork.close();
    await standby.stop();
  }
}

function addressOf(url: string) {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
