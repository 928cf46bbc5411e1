import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { Client } from './support/client.ts';
import { databaseEnv } from './support/database.ts';
import { fleetFields } from './support/factories.ts';
import { bearer, identityOf, runGateway, spawnGateway, startGateway, testIssuer } from './support/gateway.ts';
import { startIssuer } from './support/identity-provider.ts';

const issuer = await testIssuer();
const env = await databaseEnv();

describe('the start of a process', () => {
  test('fails in one sentence if AUTH_ISSUER is not the name of the issuer', async () => {
    const { exited, output } = runGateway({ ...env, ...identityOf(issuer), AUTH_ISSUER: `${issuer.issuer}/` });
    expect(await exited).toBe(1);
    const sentence = `AUTH_ISSUER is "${issuer.issuer}/", but the issuer there calls itself "${issuer.issuer}", as its tokens do.`;
    expect(output().trim().split('\n').slice(1)).toEqual([sentence]);
  });

  test('waits for an issuer that is out of reach; the log has the cause of each 503', async () => {
    const away = await startIssuer();
    await away.stop();
    const gateway = await spawnGateway({ ...env, LOG_FORMAT: 'json' }, { issuer: away });
    expect(gateway.output()).toMatch(new RegExp(`The issuer ${away.issuer} cannot be read \\(connect ECONNREFUSED`));
    const client = gateway.as('acme');
    const headers = { 'x-request-id': 'by-rest' };
    expect(await client.get('/fleets', headers)).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    const query = '{ fleets { totalCount } }';
    expect((await client.post('/graphql', { query }, { 'x-request-id': 'by-graphql' })).status).toBe(503);
    expect((await client.get('/events/stream', { 'x-request-id': 'by-stream' })).status).toBe(503);
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: client.headers })));
    expect((await once(socket, 'close'))[0]).toBe(1013);
    const causes = () =>
      gateway
        .output()
        .split('\n')
        .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
        .filter(({ msg, err }) => /issuer.*out of reach/.test(msg) && /ECONNREFUSED/.test(JSON.stringify(err)))
        .map(({ requestId }) => requestId);
    await expect.poll(causes).toEqual(['by-rest', 'by-graphql', 'by-stream', undefined]);

    await away.start();
    await expect.poll(async () => (await client.get('/fleets')).status).toBe(200);
    await away.stop();
  });
});

describe('claims of providers, by REST and GraphQL', async () => {
  const settings = {
    AUTH_SCOPES: 'on',
    CONTRACTS_AUTH: 'required',
    AUTH_ISSUER: issuer.issuer,
    AUTH_AUDIENCE: 'https://one.example,two',
    AUTH_CLIENT_IDS: 'fleets-app',
    AUTH_COMPANY_CLAIM: 'organization.id',
  };
  const gateway = await startGateway({ settings });
  const as = (claims: Record<string, unknown>) =>
    new Client(
      gateway.url,
      bearer(issuer.sign({ aud: 'two', company: undefined, organization: { id: 'acme' }, ...claims })),
    );
  const query = (client: Client) => client.post('/graphql', { query: '{ fleets { totalCount } }' });

  test.each<Record<string, unknown>>([
    { scope: 'openid fleets:read' },
    { scope: ['fleets:read'] },
    { scp: 'fleets:read profile' },
    { scp: ['fleets:read'] },
    { permissions: ['fleets:read'] },
    { roles: ['fleets:read'] },
    { scope: 'fleets:read', permissions: ['fleets:read', 'fleets:write'] },
    { scope: 'fleets:read fleets:write', permissions: ['fleets:read'] },
    { scp: 'fleets:read', roles: ['fleets:read', 'fleets:write'] },
  ])('%j may read fleets alone', async (claims) => {
    const client = as(claims);
    expect(await client.get('/fleets')).toMatchObject({ status: 200 });
    expect((await query(client)).body.data).toMatchObject({ fleets: { totalCount: expect.any(Number) } });
    expect(await client.post('/fleets', fleetFields)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    const input = { ...fleetFields, companyAddress: 'x' };
    const mutation = 'mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id } } }';
    expect(JSON.stringify((await client.post('/graphql', { query: mutation, variables: { input } })).body)).toMatch(
      /FORBIDDEN/,
    );
  });

  test('a role gives an app nothing that the user has not granted to it', async () => {
    const app = as({ scp: 'fleets:read', roles: ['fleets:write'] });
    for (const answer of [await app.post('/fleets', fleetFields), await app.get('/fleets')]) {
      expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    }
    expect(JSON.stringify((await query(app)).body)).toContain('FORBIDDEN');
  });

  test('permissions and roles of a machine add up, and the company is at the end of a path', async () => {
    const writer = as({ permissions: ['fleets:read'], roles: ['fleets:write'] });
    expect(await writer.post('/fleets', fleetFields)).toMatchObject({ status: 201, body: { company: 'acme' } });
    const other = as({ scope: 'fleets:read', organization: { id: 'globex' } });
    expect((await other.get('/fleets')).body).toEqual([]);
    for (const organization of ['acme', ['acme'], { id: ['acme'] }, {}]) {
      const none = as({ scope: 'fleets:read', organization });
      expect(await none.get('/fleets')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      expect(JSON.stringify((await query(none)).body)).toContain('FORBIDDEN');
    }
  });

  test.each<[string, Record<string, unknown>, number]>([
    ['the first audience', { aud: 'https://one.example' }, 200],
    ['one of several', { aud: ['three', 'two'] }, 200],
    ['no audience and a known client', { aud: undefined, client_id: 'fleets-app' }, 200],
    ['no audience and a known authorized party', { aud: undefined, azp: 'fleets-app' }, 200],
    ['no audience and another client', { aud: undefined, client_id: 'another' }, 401],
    ['another audience and a known client', { aud: 'three', client_id: 'fleets-app' }, 401],
    ['the known client as audience', { aud: 'fleets-app' }, 401],
    ['nothing', { aud: undefined }, 401],
  ])('%s', async (_, claims, status) => {
    const client = as({ scope: 'fleets:read', ...claims });
    expect((await client.get('/fleets')).status).toBe(status);
    expect(JSON.stringify((await query(client)).body).includes('UNAUTHENTICATED')).toBe(status === 401);
  });
});
