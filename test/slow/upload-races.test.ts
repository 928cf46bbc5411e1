// Uploads beside deletions of their fleets.
import { expect, test } from 'vitest';
import { contextOf } from '../../src/core/context.ts';
import { FleetNotFound } from '../../src/core/errors.ts';
import { beginImport } from '../../src/core/imports/import-vehicles.ts';
import { csvRowBatchOf } from '../../src/core/imports/row-batch.ts';
import { ImportStaging } from '../../src/core/imports/staging.ts';
import { storeImport } from '../../src/core/imports/store.ts';
import { createFleet, newVins, uploadForm } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';

const gateway = await startGateway({ settings: { RATE_LIMIT_PER_MINUTE: '0', LIMIT_UPLOADS: '1000' } });
const caller = { company: 'acme', subject: 'test', scopes: null, expiresAt: Number.POSITIVE_INFINITY };
const acme = await gateway.as('acme');

const deletions: Record<string, (fleetId: string) => Promise<unknown>> = {
  'was deleted': (fleetId) => acme.delete(`/fleets/${fleetId}`),
  'is being deleted': (fleetId) => gateway.execute(`update fleet set deletion = '{}' where id = '${fleetId}'`),
};

test.each(Object.entries(deletions))('a file is refused if its fleet %s after its arrival', async (_, remove) => {
  const ctx = contextOf(gateway.services, 'test', caller);
  const fleet = await createFleet(acme);
  const wanted = { fleetId: fleet.id, mode: 'partial', dryRun: false } as const;
  const { run } = await beginImport(ctx, 'acme', wanted);
  const staging = new ImportStaging(ctx, run);
  const rows = newVins(3).map((value, at) => ({ row: at + 2, value, cells: null }));
  await staging.add(csvRowBatchOf(rows, new Set(['bmw'])));
  await staging.end();
  await remove(fleet.id);
  // The next failing import deletes batches that belong to no running import.
  const { id: other } = await createFleet(acme);
  expect((await acme.post('/vehicles/file', uploadForm(other, 'SHORT'))).status).toBe(400);
  await gateway.execute(`delete from import_batch where import_id = '${run.id}'`);
  await expect(storeImport(ctx, { ...run, digest: 'digest' }, staging)).rejects.toBeInstanceOf(FleetNotFound);
});

test('uploads beside the deletion of their fleet are stored or refused without an internal error', async () => {
  const upload = async (at: number) => {
    const { id } = await createFleet(acme);
    const sent = acme.post('/vehicles/file', uploadForm(id, newVins(at % 3 === 0 ? 500 : 20).join('\n')));
    // Each round deletes at another moment of the upload.
    for (let turn = 0; turn < at; turn++) await acme.get(`/fleets/${id}`);
    const [{ status, body }] = await Promise.all([sent, acme.delete(`/fleets/${id}`)]);
    return status === 201 ? 'stored' : body.code;
  };
  for (let round = 0; round < 16; round++) {
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, at) => upload(at)));
    expect(new Set(outcomes).difference(new Set(['stored', 'FLEET_NOT_FOUND']))).toEqual(new Set());
  }
});
