import dns, { type LookupAddress } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import ipaddr from 'ipaddr.js';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openWebhookSender } from '../../src/core/webhooks/sender.ts';
import { isReachableAddress } from '../../src/core/webhooks/webhook.ts';
import special from '../fixtures/special-addresses.json' with { type: 'json' };
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
