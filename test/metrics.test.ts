import { readFile } from 'node:fs/promises';
import { createClient } from 'graphql-ws';
import { describe, expect, test } from 'vitest';
import { addVehicle, createFleet, newVin, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const token = 'a-token-for-the-scraper';
const gateway = await startGateway({ settings: { METRICS_TOKEN: token } });
const acme = await gateway.as('acme');

async function scrape(): Promise<string> {
  const response = await fetch(new URL('/metrics', gateway.url), { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  return response.text();
}

const sampleOf = (metrics: string, series: string): number =>
  Number(
    metrics
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  );

describe('/metrics', () => {
  test('METRICS_TOKEN, if set, is required', async () => {
    for (const headers of [new Headers(), new Headers({ authorization: 'Bearer another' })]) {
      const response = await fetch(new URL('/metrics', gateway.url), { headers });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ code: 'UNAUTHENTICATED' });
    }
  });

  test('counts requests by operation, status and code, and times them', async () => {
    const { id } = await createFleet(acme);
    await acme.get(`/fleets/${id}`);
    await acme.get('/fleets/unknown');
    const metrics = await scrape();
    const series = (rest: string) => `fleet_gateway_requests_total{operation="GET /fleets/:fleetId",${rest}}`;
    expect(sampleOf(metrics, series('status="200",code=""'))).toBe(1);
    expect(sampleOf(metrics, series('status="404",code="FLEET_NOT_FOUND"'))).toBe(1);
    expect(sampleOf(metrics, 'fleet_gateway_request_duration_seconds_count{operation="GET /fleets/:fleetId"}')).toBe(2);
  });

  test('names GraphQL operations by their fields', async () => {
    await acme.post('/graphql', { query: 'query Mine { fleets { totalCount } }' });
    const series = 'fleet_gateway_requests_total{operation="query fleets",status="200",code=""}';
    expect(sampleOf(await scrape(), series)).toBe(1);
  });

  test('counts operations on WebSockets', async () => {
    const client = createClient({
      url: `${gateway.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: acme.headers.authorization },
    });
    const ask = (query: string) => client.iterate({ query }).next();
    await ask('{ manufacturers { id } }');
    await ask('{ nothing }').catch(() => {});
    await client.dispose();
    const metrics = await scrape();
    const series = (outcome: string) => `fleet_gateway_websocket_operations_total{outcome="${outcome}"}`;
    expect(sampleOf(metrics, series('OK'))).toBe(1);
    expect(sampleOf(metrics, series('GRAPHQL_VALIDATION_FAILED'))).toBe(1);
  });

  test('counts a request whose client left before the answer as 499', async () => {
    const leaving = new AbortController();
    const { vin } = await addVehicle(acme);
    await gateway.execute(`update vehicle set due_at = now() + interval '1 hour' where vin = '${vin}'`);
    const url = new URL(`/vehicles/eligibility/${vin}`, gateway.url);
    const headers = { ...acme.headers, prefer: 'wait=20' };
    const left = fetch(url, { headers, signal: leaving.signal }).catch(() => 'left');
    await acme.get('/livez');
    leaving.abort();
    expect(await left).toBe('left');
    const series = 'fleet_gateway_requests_total{operation="GET /vehicles/eligibility/:vin",status="499",code=""}';
    await expect.poll(async () => sampleOf(await scrape(), series)).toBe(1);
  });

  test('counts GraphQL operations without a name', async () => {
    const before = await scrape();
    await acme.post('/graphql', { query: '{ manufacturers { id } }' });
    await acme.post('/graphql', { query: 'query Makers { manufacturers { id } }' });
    const series = 'fleet_gateway_anonymous_operations_total{operation="query manufacturers"}';
    expect(sampleOf(before, series)).toBeNaN();
    expect(sampleOf(await scrape(), series)).toBe(1);
  });

  test('shows what is due and for how long it has been waiting', async () => {
    const { id } = await createFleet(acme);
    await acme.post('/vehicles', { fleetId: id, vins: [newVin(), newVin()] });
    await gateway.execute(`update vehicle set due_at = now() - interval '1 hour' where fleet_id = '${id}'`);
    // Gauges that need a query are read every two seconds at most.
    await expect
      .poll(async () => sampleOf(await scrape(), 'fleet_gateway_due_rows{kind="vehicle"}'))
      .toBeGreaterThanOrEqual(2);
    const metrics = await scrape();
    expect(sampleOf(metrics, 'fleet_gateway_due_oldest_seconds{kind="vehicle"}')).toBeGreaterThan(3500);
    expect(sampleOf(metrics, 'fleet_gateway_database_up')).toBe(1);
  });

  test('counts deliveries that wait, without those that wait for a failing receiver', async () => {
    for (const failing of [false, true]) {
      const { body: webhook } = await acme.post('/webhooks', { url: 'https://example.com/hook' });
      const ago = failing ? '3 hours' : '2 hours';
      await gateway.execute(`update webhook set failing = ${failing} where id = '${webhook.id}';
        insert into delivery (company, webhook_id, event_id, due_at, created_at)
        select 'acme', '${webhook.id}', id, now() - interval '${ago}', now() from event where company = 'acme' limit 2`);
    }
    await expect.poll(async () => sampleOf(await scrape(), 'fleet_gateway_due_rows{kind="delivery"}')).toBe(2);
    const series = 'fleet_gateway_due_oldest_seconds{kind="delivery"}';
    expect(sampleOf(await scrape(), series)).toBeLessThan(3 * 3600 - 60);
  });

  test('shows whether the process is ready', async () => {
    expect(sampleOf(await scrape(), 'fleet_gateway_ready')).toBe(1);
    await gateway.execute(`update mikro_orm_migrations set name = 'was ' || name`);
    await expect.poll(async () => sampleOf(await scrape(), 'fleet_gateway_ready')).toBe(0);
    await gateway.execute(`update mikro_orm_migrations set name = substr(name, 5)`);
    await expect.poll(async () => sampleOf(await scrape(), 'fleet_gateway_ready')).toBe(1);
  });

  test('shows the state of each provider', async () => {
    const metrics = await scrape();
    expect(sampleOf(metrics, 'fleet_gateway_provider_held_seconds{provider="sandbox"}')).toBe(0);
    expect(sampleOf(metrics, 'fleet_gateway_provider_state{provider="sandbox",state="CLOSED"}')).toBe(1);
    expect(sampleOf(metrics, 'fleet_gateway_provider_state{provider="sandbox",state="OPEN"}')).toBe(0);
  });

  test('names no company, fleet or vehicle', async () => {
    const { id } = await createFleet(acme);
    await acme.get(`/fleets/${id}/vehicles`);
    const vin = newVin();
    await acme.get(`/vehicles/eligibility/${vin}`);
    const metrics = await scrape();
    for (const secret of ['acme', id, vin]) expect(metrics).not.toContain(secret);
  });
});

interface Panel {
  targets?: { expr: string }[];
  panels?: Panel[];
}

test('outcomes of imports, verifications and deliveries are counted, from zero', async () => {
  const metrics = await scrape();
  for (const [name, outcomes] of Object.entries({
    fleet_gateway_imports_total: ['COMPLETED', 'FAILED'],
    fleet_gateway_import_rows_total: ['created', 'existing', 'rejected'],
    fleet_gateway_verifications_total: ['ELIGIBLE', 'NO_ANSWER'],
    fleet_gateway_delivery_attempts_total: ['SUCCEEDED', 'FAILED'],
  })) {
    for (const outcome of outcomes) expect(sampleOf(metrics, `${name}{outcome="${outcome}"}`)).toBe(0);
  }
  const { id } = await createFleet(acme);
  const [first, second] = [newVin(), newVin()];
  await acme.post('/vehicles/file', uploadForm(id, `vin\n${first}\n${second}\n${first}\nWBA\n`));
  expect((await acme.post('/vehicles/file', uploadForm(id, 'vin\nWBA\n'))).status).toBe(400);
  expect((await acme.post('/vehicles/file', uploadForm(id, 'plate\nB-X 1\n'))).status).toBe(400);
  const after = await scrape();
  expect(sampleOf(after, 'fleet_gateway_imports_total{outcome="COMPLETED"}')).toBe(1);
  expect(sampleOf(after, 'fleet_gateway_imports_total{outcome="FAILED"}')).toBe(2);
  expect(sampleOf(after, 'fleet_gateway_import_rows_total{outcome="created"}')).toBe(2);
  expect(sampleOf(after, 'fleet_gateway_import_rows_total{outcome="existing"}')).toBe(1);
  expect(sampleOf(after, 'fleet_gateway_import_rows_total{outcome="rejected"}')).toBe(2);
});

test('every metric of the dashboard and the alerts exists', async () => {
  const dashboard: { panels: Panel[] } = JSON.parse(await readFile('docs/grafana.json', 'utf8'));
  const panels = dashboard.panels.flatMap((panel) => panel.targets ?? []).map(({ expr }) => expr);
  const alerts = (await readFile('deploy/alerts.yaml', 'utf8')).split('- alert:').slice(1);
  const queries = [...panels, ...alerts.map((alert) => /expr:(.*?)\n +(?:for|labels):/s.exec(alert)?.[1] ?? '')];
  expect(queries.length).toBeGreaterThan(8);
  const metrics = await scrape();
  const known = new Set(
    [...metrics.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
  const namesIn = (query: string) => query.match(/\b(?:fleet_gateway|nodejs|process)_\w+/g) ?? [];
  // These queries have no metrics of the gateway.
  expect(queries.filter((query) => namesIn(query).length === 0).map((query) => query.trim())).toEqual([
    'up{job="fleet-gateway"} == 0',
    'absent(up{job="fleet-gateway"} == 1)',
  ]);
  const asked = queries.flatMap(namesIn);
  const labels = queries.flatMap((query) => query.match(/\b(?:kind|outcome)=~?"[^"]+"/g) ?? []);
  const missing = labels.flatMap((label) => {
    const [name = '', values = ''] = label.replace('"', '').replace('"', '').split(/=~?/);
    return values.split('|').filter((value) => !metrics.includes(`${name}="${value}"`));
  });
  expect(labels).not.toEqual([]);
  expect(missing).toEqual([]);
  expect([...new Set(asked)].filter((name) => !known.has(name))).toEqual([]);
});
