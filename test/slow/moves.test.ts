// Kills the command that moves companies at any step, behind HAProxy as deployed. Left out without HAProxy.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, inject, test } from 'vitest';
import { difference, writeAll } from '../support/acknowledged-writes.ts';
import { openStream } from '../support/event-stream.ts';
import { addVehicles, contractFields, createFleet, newVins, uploadForm } from '../support/factories.ts';
import { bearer } from '../support/gateway.ts';
import { hasHaproxy } from '../support/haproxy.ts';
import { type InstallationName, twoInstallations } from '../support/installations.ts';
import { until } from '../support/until.ts';

describe.skipIf(!hasHaproxy || inject('database').kind === 'embedded')('two installations behind HAProxy', async () => {
  const { issuer, receiver, pools, open, fill, rowsOf, settled, moved, pick, tallyOf } = await twoInstallations();

  test('a company moves with everything it has, and is served there alone', async () => {
    const { first, second, other, proxy, as, companies } = await open();
    const acme = as('acme corp & co');
    await fill(acme, 'acme');
    await fill(as('beta'), 'beta');
    await until(() => settled('a', 'acme corp & co'));
    const before = await rowsOf('a', 'acme corp & co');
    for (const table of [
      'company',
      'fleet',
      'vehicle',
      'contract',
      'activation',
      'import',
      'import_rejection',
      'event',
    ])
      expect([table, before[table]?.length]).not.toEqual([table, 0]);

    const { code, output } = await companies('move', 'acme corp & co', 'b').ended;
    expect([code, output]).toEqual([0, expect.stringContaining('acme corp & co is in b')]);
    const after = await rowsOf('b', 'acme corp & co');
    expect(pick(after, moved)).toEqual(pick(before, moved));
    expect(tallyOf(after)).toEqual(tallyOf(before));
    const left = await rowsOf('a', 'acme corp & co');
    expect(Object.entries(left).flatMap(([table, rows]) => (rows.length > 0 ? [table] : []))).toEqual(['placement']);

    expect((await acme.get('/fleets')).status).toBe(200);
    expect((await as('beta').get('/fleets')).status).toBe(200);
    for (const { url } of [first, second]) {
      const { status, body } = await as('acme corp & co', url).get('/fleets');
      expect([status, body.address]).toEqual([421, 'https://b.example.com']);
    }
    expect((await as('acme corp & co', other.url).get('/fleets')).status).toBe(200);
    // Work goes on there: new rows take numbers that no row has.
    const [fleet] = (await acme.get('/fleets')).body;
    await addVehicles(acme, newVins(30), fleet);
    await until(() => settled('b', 'acme corp & co'));
    const { rows } = await pools.b.query(
      `select pubname as name from pg_publication union all select subname from pg_subscription`,
    );
    expect(rows).toEqual([]);
    expect((await pools.a.query('select slot_name from pg_replication_slots')).rows).toEqual([]);
    expect(await companies('list').ended).toMatchObject({
      code: 0,
      output: expect.stringMatching(/acme corp & co.*'b'/),
    });

    // Back again, over what the first move has left.
    expect((await companies('move', 'acme corp & co', 'a').ended).code).toBe(0);
    expect((await acme.get('/fleets')).body).toHaveLength(1);
    expect(proxy.url).toBeTruthy();
  });

  test('a move that cannot be, or is given up, changes nothing', async () => {
    const { second, as, companies } = await open();
    const refused = async (...args: string[]) => {
      const { code, output } = await companies(...args).ended;
      expect([code, output]).toEqual([1, expect.any(String)]);
      return output;
    };
    const [stays, fresh] = [as('stays'), as('fresh')];
    await fill(stays, 'stays');
    expect(await refused('move', 'nobody', 'b')).toContain('place it');
    expect(await refused('move', 'stays', 'c')).toContain('There is no installation c');
    expect(await refused('move', 'stays', 'b', '--abort')).toContain('not on its way');
    expect(await refused('place', 'stays', 'b')).toContain('has rows in a: move it');
    expect((await stays.get('/fleets')).status).toBe(200);

    expect(await refused('move', 'stays', 'b', '--socket', '/nowhere')).toContain('/nowhere cannot be reached');
    expect((await rowsOf('b', 'stays')).placement).toEqual([]);

    expect((await companies('place', 'fresh', 'b').ended).code).toBe(0);
    await createFleet(fresh);
    expect([(await rowsOf('a', 'fresh')).fleet, (await rowsOf('b', 'fresh')).fleet?.length]).toEqual([[], 1]);

    await pools.a.query(`insert into activation (company, id, vin, provider, program, brand, asked, changed_at)
      values ('stays', gen_random_uuid(), 'WBA00000000000001', 'high-mobility', '', 'bmw', true, now())`);
    expect(await refused('move', 'stays', 'b')).toContain('programs at high-mobility');
    await pools.a.query(`delete from activation where provider = 'high-mobility'`);

    const move = companies('move', 'stays', 'b');
    await move.says('copying');
    move.kill();
    await move.ended;
    expect((await companies('move', 'stays', 'b', '--abort').ended).code).toBe(0);
    expect((await stays.get('/fleets')).status).toBe(200);
    await createFleet(stays);
    const there = Object.entries(await rowsOf('b', 'stays')).flatMap(([table, rows]) =>
      rows.length > 0 ? [table] : [],
    );
    expect(there).toEqual(['placement']);
    const left = `select pubname as name from pg_publication union all select subname from pg_subscription
      union all select slot_name from pg_replication_slots`;
    for (const pool of Object.values(pools)) expect((await pool.query(left)).rows).toEqual([]);

    // A process that says nothing any more is waited for, and no longer than until it must have noticed.
    await second.stop('SIGKILL');
    expect((await companies('move', 'stays', 'b').ended).code).toBe(0);
    expect((await stays.get('/fleets')).body).toHaveLength(2);
  });

  test('a company moves to an installation with one migration more, and back when the other has it, too', async () => {
    const { as, companies } = await open();
    const migration = [
      `alter table contract add note text, add level text not null default 'plain'`,
      'create table remark (company text, id uuid, primary key (company, id))',
      `insert into mikro_orm_migrations (name) values ('Migration20261201000000_since_0_4_0')`,
    ];
    const migrate = async (name: InstallationName) => {
      for (const statement of migration) await pools[name].query(statement);
    };
    const acme = as('migrated');
    const fleet = await fill(acme, 'migrated');
    await migrate('b');
    await pools.b.query(`alter table deleted_contract add owner text not null`);
    expect(await companies('move', 'migrated', 'b').ended).toEqual({
      code: 1,
      output: expect.stringContaining('b needs deleted_contract.owner'),
    });
    await pools.b.query(`alter table deleted_contract drop owner`);

    expect(await companies('move', 'migrated', 'b').ended).toMatchObject({ code: 0 });
    const contracts = `select note, level from contract where company = 'migrated'`;
    expect((await pools.b.query(contracts)).rows).toEqual(Array(5).fill({ note: null, level: 'plain' }));
    await addVehicles(acme, newVins(5), fleet);
    await pools.b.query(`update contract set note = 'kept' where company = 'migrated'`);
    await pools.b.query(`insert into remark values ('migrated', gen_random_uuid())`);
    const { code, output } = await companies('move', 'migrated', 'a').ended;
    expect([code, output]).toEqual([1, expect.stringMatching(/a has no contract\.note, contract\.level, remark/)]);
    expect((await acme.get('/fleets')).status).toBe(200);

    await migrate('a');
    expect(await companies('move', 'migrated', 'a').ended).toMatchObject({ code: 0 });
    expect((await pools.a.query(contracts)).rows).toEqual(Array(5).fill({ note: 'kept', level: 'plain' }));
    expect((await pools.a.query('select company from remark')).rows).toHaveLength(1);
    expect((await pools.b.query('select company from remark')).rows).toEqual([]);
  });

  // Twenty kills.
  test.each(['first', 'second', 'third', 'fourth', 'fifth'])(
    'nothing is lost or doubled by moves that are killed while clients write: %s run',
    async (company) => {
      const { as, companies, proxy } = await open();
      const fleet = await fill(as(company), company);
      let writing = true;
      const written: Awaited<ReturnType<typeof writeAll>>[] = [];
      const keep = async (of: string, into?: typeof written) => {
        for (const end = () => !writing; !end(); ) {
          const headers = () => bearer(issuer.sign({ company: of }));
          const some = await writeAll({ url: proxy.url, headers, writes: 20, writers: 3 });
          expect(some.faults).toEqual([]);
          into?.push(some);
        }
      };
      const client = as(company);
      /** Uploads files, each again until it is stored. */
      let uploaded = 0;
      const upload = async (fleetId: string) => {
        while (writing) {
          const [csv, importId] = [`vin\n${newVins(50).join('\n')}\n`, randomUUID()];
          const send = () => client.post(`/vehicles/file?importId=${importId}`, uploadForm(fleetId, csv));
          for (let answer = await send(); answer.status !== 201; answer = await send()) {
            expect([409, 503]).toContain(answer.status);
            await delay(100);
          }
          uploaded += 50;
        }
      };
      /** Follows the events, and comes back after the last one where a stream ends. */
      const followed: string[] = [];
      let stream = null as Awaited<ReturnType<typeof openStream>> | null;
      const follow = async (after: string) => {
        while (writing) {
          const last = followed.at(-1) ?? after;
          stream = await openStream(client, '/events/stream', { 'last-event-id': last }).catch(() => null);
          for (let more = stream !== null; more && writing; )
            more = await (stream?.next() ?? Promise.reject()).then(
              ({ id }) => Boolean(followed.push(id)),
              () => false,
            );
          stream?.close();
          await delay(100);
        }
      };
      const [first] = (await client.get('/events?limit=1')).body;
      const began = await addVehicles(client, newVins(12), fleet);
      for (const [at, vehicle] of began.entries()) {
        const from = new Date(Date.now() + 2_000 * (at + 1)).toISOString();
        expect((await client.post('/contracts', contractFields(vehicle, { from }))).status).toBe(201);
      }
      const writers = Promise.all([
        keep(company, written),
        keep(`beside ${company}`),
        upload(fleet.id),
        follow(first.id),
      ]);
      for (const target of ['b', 'a']) {
        // Killed twice, at any step; then it goes on to its end.
        for (const longest of [1_000, 5_000]) {
          const move = companies('move', company, target);
          const ended = await Promise.race([move.ended, delay(Math.random() * longest, null)]);
          if (ended) expect(ended).toMatchObject({ code: 0 });
          move.kill();
          await move.ended;
        }
        expect(await companies('move', company, target).ended).toMatchObject({ code: 0 });
      }
      writing = false;
      stream?.close();
      await writers;
      const begun = `select count(*) = (select count(*) from contract where company = $1) as all
      from event where company = $1 and type = 'contract.started'`;
      await until(async () => (await pools.a.query(begun, [company])).rows[0].all);
      await until(() => settled('a', company));
      const { rows: fleets } = await pools.a.query('select id, name from fleet where company = $1', [company]);
      for (const one of written) expect(difference(one, fleets)).toEqual({ missing: 0, twice: 0, changed: 0 });
      const { rows: log } = await pools.a.query(
        `select id, position::int, type, data->>'name' as name, contract_id as contract from event where company = $1 order by position`,
        [company],
      );
      expect(log.map(({ position }) => position)).toEqual(log.map((_, at) => at + 1));
      const created = log.filter(({ type }) => type === 'fleet.created');
      expect(created.map(({ name }) => name).toSorted()).toEqual(fleets.map(({ name }) => name).toSorted());
      const sent = Map.groupBy(
        receiver.received.filter(({ path }) => path === `/${company}`),
        ({ event }) => event.id,
      );
      const ids: string[] = log.map(({ id }) => id);
      expect([...sent.keys()].toSorted()).toEqual(ids.toSorted());
      // As often as it was attempted: on a busy machine an answer may come too late.
      const { rows: deliveries } = await pools.a.query<{ id: string; attempts: number }>(
        'select event_id as id, attempts from delivery where company = $1',
        [company],
      );
      const attempts = new Map(deliveries.map(({ id, attempts }) => [id, attempts]));
      expect(ids.filter((id) => (sent.get(id)?.length ?? 0) > (attempts.get(id) ?? 0))).toEqual([]);
      const start = ids.indexOf(first.id) + 1;
      expect(followed).toEqual(ids.slice(start, start + followed.length));
      expect(followed.length).toBeGreaterThan(0);
      const started = log.filter(({ type }) => type === 'contract.started').map(({ contract }) => contract);
      const { rows: contracts } = await pools.a.query('select id from contract where company = $1', [company]);
      expect(started.toSorted()).toEqual(contracts.map(({ id }) => id).toSorted());
      const { rows: vehicles } = await pools.a.query('select count(*)::int from vehicle where company = $1', [company]);
      expect(vehicles[0].count).toBe(60 + 40 + began.length + uploaded);
      const { rows: tallies } = await pools.a.query(
        'select sum(delta)::int as count from vehicle_tally where company = $1',
        [company],
      );
      expect(tallies).toEqual(vehicles);
      expect(
        Object.entries(await rowsOf('b', company)).flatMap(([table, rows]) => (rows.length > 0 ? [table] : [])),
      ).toEqual(['placement']);
    },
  );
});
