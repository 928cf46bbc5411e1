import { expect, test } from 'vitest';
import { ConnectProxy, startTls } from './support/connect-proxy.ts';
import { databaseEnv } from './support/database.ts';
import { addVehicle, newVin } from './support/factories.ts';
import { askingAt, spawnGateway, testIssuer } from './support/gateway.ts';
import { until } from './support/until.ts';
import { UpstreamServer } from './support/upstream.ts';
import { WebhookReceiver } from './support/webhook-receiver.ts';

const issuer = await testIssuer();
const env = await databaseEnv();
const portOf = (url: string) => Number(new URL(url).port);

test('the issuer, providers and webhooks are reached by the proxy of HTTPS_PROXY, but what NO_PROXY names', async () => {
  const [proxy, upstream, receiver] = [
    await ConnectProxy.start(),
    await UpstreamServer.start(),
    await WebhookReceiver.start(),
  ];
  const manufacturer = await startTls(['manufacturer.invalid'], portOf(upstream.url));
  proxy.routes.set('manufacturer.invalid:443', manufacturer.port);
  proxy.credentials = `Basic ${btoa('gateway:p@ss')}`;
  const address = proxy.url.replace('//', '//gateway:p%40ss@');
  const gateway = await spawnGateway(
    {
      ...env,
      ...askingAt(upstream),
      HIGH_MOBILITY_URL: 'https://manufacturer.invalid',
      SANDBOX: 'off',
      WEBHOOK_LOOPBACK: 'on',
      NODE_USE_ENV_PROXY: '1',
      HTTPS_PROXY: address,
      HTTP_PROXY: address,
      NO_PROXY: 'localhost, elsewhere.example',
      NODE_EXTRA_CA_CERTS: manufacturer.certificate,
    },
    { issuer },
  );
  const acme = gateway.as('acme');
  const through = receiver.url('/through');
  for (const url of [through, receiver.url('/past').replace('127.0.0.1', 'localhost')])
    expect(await acme.post('/webhooks', { url, types: ['vehicle.added'] })).toMatchObject({ status: 201 });
  const { vin } = await addVehicle(acme, newVin());
  await until(async () => (await acme.get(`/vehicles/eligibility/${vin}`)).status === 200);
  await receiver.some('/through');
  await receiver.some('/past');

  const issuers = proxy.asked.filter((one) => one.includes(new URL(issuer.jwksUri).host));
  expect(issuers.length).toBeGreaterThan(0);
  expect(proxy.asked).toContain('CONNECT manufacturer.invalid:443');
  expect(proxy.asked).toContain(`CONNECT ${new URL(through).host}`);
  expect(proxy.asked.filter((one) => one.includes('localhost'))).toEqual([]);
});

test('the sandbox, which is in the process, is reached without the proxy', async () => {
  const gateway = await spawnGateway(
    {
      ...(await databaseEnv()),
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: 'http://127.0.0.1:9',
      NO_PROXY: new URL(issuer.issuer).host,
    },
    { issuer },
  );
  const acme = gateway.as('acme');
  const { vin } = await addVehicle(acme, newVin());
  await until(async () => (await acme.get(`/vehicles/eligibility/${vin}`)).status === 200);
});
