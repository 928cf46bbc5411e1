import type { Client, Json } from './client.ts';

let lastVin = 0;

/** A new VIN, of BMW by default; the sandbox's answer follows from the last digit (0: eligible at once). */
export const newVin = (lastDigit = 0, wmi = 'WBA'): string =>
  `${wmi}${String(++lastVin).padStart(13, '0')}${lastDigit}`;

export const newVins = (count: number, lastDigit?: number, wmi?: string): string[] =>
  Array.from({ length: count }, () => newVin(lastDigit, wmi));

/** A well-formed id that no object has. */
export const unknownId = '01980000-0000-7000-8000-00000000dead';

export const fleetFields = {
  name: 'Field service',
  companyAddress: '1 Main Street, Berlin',
  email: 'fleet@acme.example',
  vat: 'DE123456789',
};

/** Creates a fleet and returns it as REST shows it. */
export async function createFleet(client: Client, fields: Partial<typeof fleetFields> = {}): Promise<Json> {
  return created(await client.post('/fleets', { ...fleetFields, ...fields }));
}

/** Adds vehicles with these VINs, to `fleet` or else to a new fleet; returns them in the order of the VINs. */
export async function addVehicles(client: Client, vins: string[], fleet?: Json): Promise<Json[]> {
  const { id: fleetId } = fleet ?? (await createFleet(client));
  return created(await client.post('/vehicles', { fleetId, vins })).vehicles;
}

export async function addVehicle(client: Client, vin = newVin()): Promise<Json> {
  const [vehicle] = await addVehicles(client, [vin]);
  return vehicle;
}

/** The fields of a contract for this vehicle, valid through 2030 by default. */
export const contractFields = ({ fleetId, vin }: Json, fields: Record<string, unknown> = {}) => ({
  fleetId,
  name: 'Driving log',
  description: 'Odometer and location for the driving log',
  vin,
  from: '2030-01-01T00:00:00Z',
  to: '2031-01-01T00:00:00Z',
  pack: 'driving-log',
  ...fields,
});

export async function createContract(
  client: Client,
  vehicle?: Json,
  fields: Record<string, unknown> = {},
): Promise<Json> {
  return created(await client.post('/contracts', contractFields(vehicle ?? (await addVehicle(client)), fields)));
}

/** The form of an upload: a fleet and one CSV file. */
export function uploadForm(fleetId: string | undefined, csv: string, name = 'vins.csv', type = 'text/csv'): FormData {
  const form = new FormData();
  if (fleetId !== undefined) form.append('fleetId', fleetId);
  form.append('vins', new Blob([csv], { type }), name);
  return form;
}

function created({ status, body }: { status: number; body: Json }): Json {
  if (status !== 201) throw new Error(`Could not be made: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** Rebuilds vehicle counts after statements that bypass the service: no trigger maintains `vehicle_tally`. */
export const recount = `with gone as (delete from vehicle_tally), zero as (update fleet set vehicle_count = 0, attention_count = 0)
  insert into vehicle_tally (company, fleet_id, status, delta)
  select company, fleet_id, status, count(*) from vehicle group by company, fleet_id, status`;

/** Fleets and statuses whose count in `vehicle_tally` differs from the number of vehicles. */
export const miscounted = `
  select fleet_id, status, sum(counted)::int as counted, sum(tallied)::int as tallied
  from (
    select fleet_id, status, 1 as counted, 0 as tallied from vehicle
    union all select fleet_id, status, 0, delta from vehicle_tally
  ) both_ways group by fleet_id, status having sum(counted) <> sum(tallied)`;
