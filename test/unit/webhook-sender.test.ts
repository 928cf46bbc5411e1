import dns, { type LookupAddress } from 'node:dns';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openWebhookSender } from '../../src/core/webhooks/sender.ts';
import { isReachableAddress } from '../../src/core/webhooks/webhook.ts';
import special from '../fixtures/special-addresses.json' with { type: 'json' };
import { ConnectProxy, startTls } from '../support/connect-proxy.ts';
import { holdDeadlines, takeTurns } from '../support/deadlines.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

describe('An address', () => {
  test.each(['8.8.8.8', '93.184.215.14', '2606:4700::6810:84e5', '2a00:1450:4001:82a::200e'])(
    '%s may be reached',
    (address) => expect(isReachableAddress(address, { loopback: false })).toBe(true),
  );

  test.each([
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '192.0.0.192',
    '192.168.1.1',
    '198.18.0.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b:1::a00:1',
    '2001:db8::1',
    '2002:7f00:1::',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    'not an address',
  ])('%s may not', (address) => expect(isReachableAddress(address, { loopback: false })).toBe(false));

  test.each(special.blocks)('of the special-purpose block %s may not', (block) => {
    const { IPv4, IPv6 } = ipaddr;
    const ofBlock = block.includes(':') ? IPv6 : IPv4;
    const [first, last] = [ofBlock.networkAddressFromCIDR(block), ofBlock.broadcastAddressFromCIDR(block)];
    const reached = [first, last].filter((one) => isReachableAddress(one.toString(), { loopback: false }));
    expect(reached.map(String)).toEqual([]);
  });

  test.each(['127.0.0.1', '::1'])('%s may where loopback is allowed', (address) =>
    expect(isReachableAddress(address, { loopback: true })).toBe(true),
  );

  test('that is private may not, even if loopback is allowed', () =>
    expect(isReachableAddress('10.0.0.1', { loopback: true })).toBe(false));
});

describe('A sender', async () => {
  const receiver = await WebhookReceiver.start();
  const port = new URL(receiver.url('/')).port;
  const open = (options: Partial<Parameters<typeof openWebhookSender>[0]>) => {
    const sender = openWebhookSender({ loopback: false, ...options });
    afterAll(() => sender.close());
    return sender;
  };
  /** A name server with these answers, one per lookup. */
  const naming =
    (...answers: LookupAddress[][]) =>
    (_name: string, _options: unknown, callback: (error: null, addresses: LookupAddress[]) => void) =>
      callback(null, answers.shift() ?? []);

  test('connects to no internal address, by any answer of the name server', async () => {
    const inside = { address: '127.0.0.1', family: 4 };
    const outside = { address: '93.184.215.14', family: 4 };
    for (const addresses of [[inside], [outside, inside], [{ address: '::ffff:127.0.0.1', family: 6 }], []]) {
      const sender = open({ lookup: naming(addresses) });
      expect(await sender.send(`https://rebound.example:${port}/inside`, {}, '{}')).toMatchObject({
        status: null,
        error: 'The host is not on the public internet.',
      });
    }
    expect(receiver.at('/inside')).toEqual([]);
  });

  describe('behind a proxy', async () => {
    const proxy = await ConnectProxy.start();
    const tls = await startTls(['receiver.example'], Number(port));
    const known = getCACertificates('default');
    setDefaultCACertificates([...known, readFileSync(tls.certificate, 'utf8')]);
    afterAll(() => setDefaultCACertificates(known));
    const outside = { address: '93.184.215.14', family: 4 };
    const inside = { address: '10.0.0.7', family: 4 };
    beforeEach(() => {
      vi.stubEnv('HTTPS_PROXY', proxy.url);
      proxy.asked.length = 0;
    });
    afterEach(() => vi.unstubAllEnvs());

    test('has it connect to the address that was checked, and speaks to the name', async () => {
      proxy.routes.set('93.184.215.14:443', tls.port);
      proxy.routes.set('[2606:4700::6810:84e5]:8443', tls.port);
      const sender = open({
        byProxy: true,
        lookup: naming([outside], [{ address: '2606:4700::6810:84e5', family: 6 }]),
      });
      for (const url of ['https://receiver.example/four', 'https://receiver.example:8443/six'])
        expect(await sender.send(url, {}, '{}')).toMatchObject({ status: 204, error: null });
      expect(proxy.asked).toEqual(['CONNECT 93.184.215.14:443', 'CONNECT [2606:4700::6810:84e5]:8443']);
      expect(receiver.received.slice(-2).map(({ path, headers }) => [path, headers.host])).toEqual([
        ['/four', 'receiver.example'],
        ['/six', 'receiver.example:8443'],
      ]);
    });

    test('asks it for no internal address, by any answer of the name server, nor by a literal one', async () => {
      for (const addresses of [[inside], [outside, inside], []]) {
        const sender = open({ byProxy: true, lookup: naming(addresses) });
        expect(await sender.send('https://receiver.example/inside', {}, '{}')).toMatchObject({
          status: null,
          error: 'The host is not on the public internet.',
        });
      }
      const sender = open({ byProxy: true });
      for (const url of ['https://10.0.0.7/inside', 'https://[::1]/inside', 'https://localhost/inside'])
        expect(await sender.send(url, {}, '{}')).toMatchObject({ error: expect.stringMatching(/^The URL must/) });
      expect(proxy.asked).toEqual([]);
    });

    test('asks it for a literal address as it is, and believes no certificate of another name', async () => {
      proxy.routes.set('93.184.215.14:443', tls.port);
      const error = 'The request failed (ERR_TLS_CERT_ALTNAME_INVALID).';
      const sender = open({ byProxy: true, lookup: naming([outside]) });
      for (const url of ['https://93.184.215.14/other', 'https://other.example/other'])
        expect(await sender.send(url, {}, '{}')).toMatchObject({ status: null, error });
      expect(proxy.asked).toEqual(['CONNECT 93.184.215.14:443', 'CONNECT 93.184.215.14:443']);
      expect(receiver.at('/other')).toEqual([]);
    });

    test('connects itself to what NO_PROXY names, to no internal address either, and to all unless it is told', async () => {
      vi.stubEnv('NO_PROXY', 'receiver.example');
      const refused = { status: null, error: 'The host is not on the public internet.' };
      const sender = open({ byProxy: true, lookup: naming([inside]) });
      expect(await sender.send('https://receiver.example/inside', {}, '{}')).toMatchObject(refused);
      vi.unstubAllEnvs();
      vi.stubEnv('HTTPS_PROXY', proxy.url);
      const direct = open({ lookup: naming([inside]) });
      expect(await direct.send('https://receiver.example/inside', {}, '{}')).toMatchObject(refused);
      expect(proxy.asked).toEqual([]);
    });

    test('says so if it refuses', async () => {
      const sender = open({ byProxy: true, lookup: naming([outside]) });
      proxy.credentials = 'Basic other';
      expect(await sender.send('https://receiver.example/refused', {}, '{}')).toMatchObject({
        status: null,
        error: expect.stringMatching(/^The request failed/),
      });
      proxy.credentials = undefined;
    });
  });

  test("resolves names without the system's resolver, which the database needs", async () => {
    const lookup = vi.spyOn(dns, 'lookup');
    syncBuiltinESMExports();
    onTestFinished(() => {
      lookup.mockRestore();
      syncBuiltinESMExports();
    });
    const sender = open({});
    expect(await sender.send('https://receiver.invalid/hook', {}, '{}')).toMatchObject({
      status: null,
      error: 'The host name cannot be resolved.',
    });
    expect(lookup).not.toHaveBeenCalled();
  });

  test('connects to no literal internal address, and not over plain http', async () => {
    const sender = open({});
    for (const url of [
      receiver.url('/inside'),
      `https://127.0.0.1:${port}/inside`,
      `https://localhost:${port}/inside`,
    ]) {
      expect(await sender.send(url, {}, '{}')).toMatchObject({
        status: null,
        error: expect.stringMatching(/The URL must/),
      });
    }
    expect(receiver.at('/inside')).toEqual([]);
  });

  test('connects to this machine if allowed, by name, too', async () => {
    const sender = open({ loopback: true, lookup: naming([{ address: '127.0.0.1', family: 4 }]) });
    expect(await sender.send(receiver.url('/local'), {}, '{}')).toMatchObject({ status: 204, error: null });
    expect(await sender.send(`http://localhost:${port}/local`, {}, '{}')).toMatchObject({ status: 204 });
  });

  test('waits at most its time-out, for a response or for the rest of one', async () => {
    const sender = open({ loopback: true });
    const deadlines = holdDeadlines();
    receiver.always('/hang', () => deadlines.pass());
    receiver.always('/stall', (response) => void response.writeHead(500).write('half'));
    expect(await sender.send(receiver.url('/hang'), {}, '{}')).toMatchObject({
      status: null,
      error: 'No answer within 15 s.',
    });
    const stalling = sender.send(receiver.url('/stall'), {}, '{}');
    await receiver.some('/stall');
    await takeTurns();
    deadlines.pass();
    expect(await stalling).toMatchObject({ status: 500 });
    expect(new Set(deadlines.given)).toEqual(new Set([15_000]));
  });

  test('reports why there was no response, without the address of a name', async () => {
    const sender = open({ loopback: true });
    receiver.always('/reset', (response) => void response.destroy());
    expect((await sender.send(receiver.url('/reset'), {}, '{}')).error).toBe(
      'The connection was closed before an answer.',
    );
    expect((await sender.send('http://127.0.0.1:1/', {}, '{}')).error).toBe('The connection was refused.');
    expect((await sender.send('https://name.invalid/', {}, '{}')).error).toBe('The host name cannot be resolved.');
  });
});
