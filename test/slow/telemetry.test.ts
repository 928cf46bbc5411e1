// Traces, metrics and logs, also with a collector that never answers.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { wantedSignals } from '../../src/telemetry/telemetry.ts';
import type { Client } from '../support/client.ts';
import { Collector, type ReceivedSpan } from '../support/collector.ts';
import { databaseEnv } from '../support/database.ts';
import { openStream } from '../support/event-stream.ts';
import { createFleet, newVin } from '../support/factories.ts';
import { spawnGateway, testIssuer } from '../support/gateway.ts';

const env = await databaseEnv();
const issuer = await testIssuer();
const collector = await Collector.start();
afterAll(() => collector.close());

const settings = {
  ...env,
  LOG_LEVEL: 'info',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '200',
  OTEL_METRIC_EXPORT_INTERVAL: '1000',
};

/** Sends with the headers of a tracing caller; returns the ids of its trace and span. */
async function asCaller(send: (headers: { traceparent: string }) => Promise<unknown>) {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  await send({ traceparent: `00-${traceId}-${spanId}-01` });
  return { traceId, spanId };
}

const query = 'query Mine { fleets { totalCount nodes { id } } }';
/** GraphQL requests by their method. */
const ways: [string, (acme: Client, headers: Record<string, string>) => Promise<unknown>][] = [
  ['POST', (acme, headers) => acme.post('/graphql', { query }, headers)],
  ['GET', (acme, headers) => acme.get(`/graphql?query=${encodeURIComponent(query)}`, headers)],
];

const attributesOf = (name: string, metric: string) =>
  collector.points.filter((point) => point.metric === metric).flatMap(({ attributes }) => attributes[name]);

describe('OpenTelemetry', () => {
  test('requests, operations, statements, jobs and calls are traced and measured, without personal data', async () => {
    const gateway = await spawnGateway(settings, { issuer });
    const acme = gateway.as('acme');
    const fleet = await createFleet(acme);
    const asked = [];
    for (const [method, send] of ways) {
      asked.push({
        method,
        ...(await asCaller((traceparent) => send(acme, { ...traceparent, 'x-request-id': 'mine' }))),
      });
    }
    await acme.post('/graphql', { query: '{ fleets { totalCount } }' });
    const vin = newVin();
    const added = await asCaller((traceparent) =>
      acme.post('/vehicles', { fleetId: fleet.id, vins: [vin] }, { ...traceparent, 'x-request-id': vin }),
    );
    await acme.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=15' });
    await acme.post('/graphql', { query: `query VIN_${vin} { __typename }` });
    await acme.post('/graphql', { query: `query ${vin} { vehicle(by: { vin: "${vin}" }) { id } }` });
    const stream = await openStream(
      acme,
      `/graphql?query=${encodeURIComponent('subscription Live { events { id } }')}`,
      {
        accept: 'text/event-stream',
      },
    );
    await createFleet(acme);
    await stream.next();
    stream.close();
    await acme.get('/livez');
    // Unsent data is sent before the exit.
    expect(await gateway.stop()).toBe(0);

    for (const { method, traceId, spanId } of asked) {
      const spans = collector.trace(traceId);
      const named = (name: string) => spans.find((span) => span.name === name) as ReceivedSpan;
      const request = named(`${method} /graphql`);
      expect(request).toMatchObject({
        parentSpanId: spanId,
        attributes: {
          'http.request.method': method,
          'http.route': '/graphql',
          'http.response.status_code': 200,
          'fleet_gateway.request_id': 'mine',
          'fleet_gateway.company': 'acme',
        },
      });
      const operation = named('query fleets');
      expect(operation).toMatchObject({
        parentSpanId: request.spanId,
        attributes: { 'graphql.operation.type': 'query', 'graphql.operation.name': 'Mine' },
      });
      const statements = spans.filter(({ parentSpanId }) => parentSpanId === operation.spanId);
      expect(statements).toContainEqual(
        expect.objectContaining({
          name: 'SELECT fleet',
          attributes: expect.objectContaining({
            'db.system.name': 'postgresql',
            'db.query.text': expect.stringMatching(/\$1/),
          }),
        }),
      );
    }

    const statements = collector.trace(added.traceId).map(({ name }) => name);
    expect(statements).toEqual(expect.arrayContaining(['POST /vehicles', 'INSERT vehicle']));
    // Statements of the unit of work, and others.
    expect(collector.spans.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['BEGIN', 'COMMIT', 'UPDATE vehicle']),
    );

    const turn = collector.spans.filter(({ name }) => name === 'job vehicle');
    expect(turn.length).toBeGreaterThan(0);
    const call = collector.spans.find(({ name }) => name === 'ask sandbox');
    expect(call).toMatchObject({
      attributes: { 'fleet_gateway.manufacturer': 'bmw', 'fleet_gateway.vin': `WBA…${vin.slice(-4)}` },
    });
    expect(turn.map(({ traceId }) => traceId)).toContain(call?.links[0]?.traceId);
    const exchanges = collector.trace(call?.traceId ?? '').filter(({ parentSpanId }) => parentSpanId === call?.spanId);
    expect(exchanges).toContainEqual(
      expect.objectContaining({
        name: 'POST',
        attributes: expect.objectContaining({ 'http.response.status_code': 200 }),
      }),
    );

    expect(attributesOf('http.route', 'http.server.request.duration')).toEqual(
      expect.arrayContaining(['/graphql', '/fleets', '/vehicles/eligibility/:vin']),
    );
    expect(attributesOf('fleet_gateway.anonymous', 'fleet_gateway.graphql.operation.duration')).toEqual(
      expect.arrayContaining([true, false]),
    );
    expect(attributesOf('fleet_gateway.provider', 'fleet_gateway.provider.call.duration')).toContain('sandbox');
    expect(attributesOf('fleet_gateway.job', 'fleet_gateway.job.duration')).toContain('vehicle');
    expect(attributesOf('kind', 'fleet_gateway.due_rows')).toContain('vehicle');
    expect(attributesOf('outcome', 'fleet_gateway.verifications')).toContain('ELIGIBLE');
    expect(collector.resources[0]).toMatchObject({ 'service.name': 'fleet-gateway' });

    expect(collector.spans).toContainEqual(
      expect.objectContaining({
        name: 'subscription events',
        attributes: expect.objectContaining({ 'graphql.operation.name': 'Live' }),
      }),
    );
    expect(collector.spans.filter(({ name }) => name.includes('livez'))).toEqual([]);
    const { name, companyAddress, email, vat } = fleet;
    const leaked = [vin, name, companyAddress, email, vat].filter((value) => collector.received.includes(value));
    expect(leaked).toEqual([]);
    expect(collector.spans.map(({ name }) => name)).toContain('INSERT fleet');
    const texts = collector.spans.map(({ attributes }) => String(attributes['db.query.text']));
    expect(texts.filter((text) => /\[(VIN|e-mail|token)\]/.test(text))).toEqual([]);
    expect(collector.received).not.toMatch(/eyJ[\w-]+\.|Bearer/);
  });

  test('a collector that never answers delays neither requests nor the exit for long', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const gateway = await spawnGateway({ ...settings, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, { issuer });
    expect((await gateway.as('acme').get('/fleets')).status).toBe(200);
    const start = performance.now();
    expect(await gateway.stop()).toBe(0);
    expect(performance.now() - start).toBeLessThan(8_000);
    silent.close();
    silent.closeAllConnections();
  });

  test('without a collector none of the SDK is loaded', async () => {
    const trap = `import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) {
        if (/opentelemetry.sdk|opentelemetry\\.ts/.test(name)) throw new Error('loaded: ' + name);
        return next(name, context);
      } });`;
    const command = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(trap)}`, 'src/main.ts'];
    const gateway = await spawnGateway({ ...settings, OTEL_SDK_DISABLED: 'true' }, { issuer, command });
    expect((await gateway.as('acme').get('/fleets')).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    await expect(spawnGateway(settings, { issuer, command })).rejects.toThrow('loaded: ');
  });
});

test('each signal is sent if its endpoint is set', () => {
  const endpoint = 'http://collector:4318';
  expect(wantedSignals({})).toEqual([]);
  expect(wantedSignals({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toEqual([]);
  expect(wantedSignals({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })).toEqual(['TRACES', 'METRICS']);
  expect(wantedSignals({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint })).toEqual(['TRACES']);
  expect(wantedSignals({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint })).toEqual(['METRICS']);
  expect(wantedSignals({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'TRUE' })).toEqual([]);
});
