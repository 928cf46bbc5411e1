import type { Client, Json } from './client.ts';
import { addVehicles, createContract, createFleet, newVin, newVins, uploadForm } from './factories.ts';
import type { Gateway } from './gateway.ts';

/** One company with an object of every kind. */
export interface World {
  company: string;
  client: Client;
  fleetId: string;
  vehicleId: string;
  vin: string;
  otherId: string;
  otherVin: string;
  /** A vehicle in another fleet of the company. */
  elsewhereVin: string;
  contractId: string;
  importId: string;
  eventId: string;
  webhookId: string;
  deliveryId: string;
}

const names = [
  ...['company', 'fleetId', 'vehicleId', 'vin', 'otherId', 'otherVin', 'elsewhereVin'],
  ...['contractId', 'importId', 'eventId', 'webhookId', 'deliveryId'],
];

/** VINs for a world; two worlds with the same VINs differ only in ids and times. */
export const worldVins = () => [...newVins(3), newVin(0, 'ZFF')];

const claims = { scope: 'fleets:read fleets:write contracts:read contracts:write' };

/** Makes an object of every kind for an empty company. No vehicle is verified and no event published. */
export async function newWorld(gateway: Gateway, company: string, vins = worldVins()): Promise<World> {
  const client = await gateway.as(company, claims);
  const [vin = '', otherVin = '', elsewhereVin = '', unsupported = ''] = vins;
  const fleet = await createFleet(client);
  const [vehicle, other] = await addVehicles(client, [vin, otherVin, unsupported], fleet);
  await addVehicles(client, [elsewhereVin]);
  const contract = await createContract(client, vehicle);
  const file = uploadForm(fleet.id, `vin\n${vin}\nSHORT\n${vin}\n`);
  const { body: upload } = await client.post('/vehicles/file', file);
  const { body: webhook } = await client.post('/webhooks', { url: 'https://example.com/events', description: 'Ours' });
  const { body: delivery } = await client.post(`/webhooks/${webhook.id}/test`);
  return {
    company,
    client,
    fleetId: fleet.id,
    vehicleId: vehicle.id,
    vin,
    otherId: other.id,
    otherVin,
    elsewhereVin,
    contractId: contract.id,
    importId: upload.importId,
    eventId: delivery.eventId,
    webhookId: webhook.id,
    deliveryId: delivery.id,
  };
}

const TWO_DAYS_MS = 2 * 86_400_000;

/** A response in which names replace the world's ids, and placeholders other ids, secrets and times of these days. */
export function neutral(value: unknown, { client: _, ...names }: World): Json {
  let text = JSON.stringify(value ?? null);
  for (const [key, name] of Object.entries(names)) text = text.replaceAll(new RegExp(name, 'gi'), `<${key}>`);
  // Old secrets of webhooks are good for another day, which may be in the next month.
  const isNear = (time: string): boolean => Math.abs(Date.parse(time) - Date.now()) < TWO_DAYS_MS;
  return JSON.parse(
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f-]{21}/g, '<id>')
      .replaceAll(/whsec_[\w+/=]+/g, '<secret>')
      .replaceAll(/"(\d{4}-\d\d-\d\dT[\d:.]+Z)"/g, (text, time) => (isNear(time) ? '"<now>"' : text)),
  );
}

/** A world whose ids and VINs `nameOne` makes: unknown or invalid ones. */
export const worldOfNothing = (client: Client, nameOne: (key: string, number: number) => string): World =>
  Object.fromEntries([
    ['client', client],
    ...names.map((key, number) => [key, nameOne(key, number)]),
  ]) as unknown as World;

/** The world's name for `id` or `ids`, by the object in an address (`/webhooks/`) or field (`deleteFleet`). */
export function nameOf(name: string, of: string): string {
  const [, kind] = /(fleet|vehicle|contract|import|event|webhook)/i.exec(of) ?? [];
  return name === 'id' && kind ? `${kind.toLowerCase()}Id` : name;
}
