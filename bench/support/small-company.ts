import { setTimeout as delay } from 'node:timers/promises';
import { vehicleOf } from '../import-files.ts';
import type { openImportWorld } from '../import-world.ts';
import { cpuMicroseconds, serverMicroseconds } from './measure.ts';
import { report, type SmallRequests, sendDuring, type Times } from './neighbours.ts';

type ImportWorld = Awaited<ReturnType<typeof openImportWorld>>;

/** A kind of VINs that no upload uses. */
const OWN = 2;

/** A small company with a fleet of 200 vehicles that sends small requests, `pace` milliseconds apart. */
export async function openSmallCompany(world: ImportWorld, pace: number) {
  const headers = world.headersOf('beside');
  const call = (method: string, path: string, body?: unknown) =>
    fetch(`${world.url}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const fields = { name: 'Small', companyAddress: 'There 2', email: 'a@beside.example', vat: 'DE2' };
  const fleet = (await (await call('POST', '/fleets', fields)).json()) as { id: string };
  let added = 0;
  const small: SmallRequests = {
    'GET a page of 50 vehicles': () => call('GET', `/fleets/${fleet.id}/vehicles?limit=50`),
    'GET an eligibility': () => call('GET', `/vehicles/eligibility/${vehicleOf(added - 1, OWN).vin}`),
    'PATCH the fleet': () => call('PATCH', `/fleets/${fleet.id}`, { vat: `DE${added}` }),
    'POST one vehicle': () => call('POST', '/vehicles', { fleetId: fleet.id, vins: [vehicleOf(added++, OWN).vin] }),
  };
  for (let at = 0; at < 200; at++)
    for (const request of Object.values(small).toReversed()) await (await request()).arrayBuffer();
  return {
    /** Sends requests while `work` runs, or for `work` seconds; reports their times and the CPU use. */
    async during(when: string, work: number | (() => Promise<unknown>), usual?: Times): Promise<Times> {
      const began = performance.now();
      const before = cpuOf(world);
      const times = await sendDuring(typeof work === 'number' ? () => delay(work * 1000) : work, small, pace);
      const seconds = (performance.now() - began) / 1000;
      const [gateway, server] = cpuOf(world).map((after, at) => (after - (before[at] ?? 0)) / 10_000 / seconds);
      const shares = `of a core: gateway ${gateway?.toFixed(0)} %, PostgreSQL ${server?.toFixed(0)} %`;
      report(`${when}   ${seconds.toFixed(0)} s, ${shares}`, times, usual ?? times);
      return times;
    },
  };
}

const cpuOf = ({ pid, data }: ImportWorld): number[] => [cpuMicroseconds(pid), serverMicroseconds(data)];
