import { z } from 'zod';
import { BYTE_ORDER_MARK } from '../core/csv-line.ts';
import { field } from '../core/fields.ts';
import { reasonSchema } from '../core/reason.ts';
import type { PageArguments } from '../core/sql/page.ts';
import { jsonRowWriter, type RowWriter, type TextPage } from '../core/sql/read.ts';
import { eligibilitySchema, vehicleSchema, vehicleSortOrders } from '../core/vehicles/vehicle.ts';
import { vehicleCsvHeader, vehicleCsvWriter } from '../core/vehicles/vehicle-csv.ts';
import { vehicleResource } from '../core/vehicles/vehicles.ts';
import { listAnswer, pagesFrom, readListQuery } from './list.ts';
import { type Json, mapValues, Schemas } from './openapi/json-schema.ts';
import type { Answer, AnswerDocs, RestRequest } from './route.ts';

export const vehicleJson = vehicleSchema
  .extend({
    eligibility: eligibilitySchema
      .pick({ status: true, eligible: true, verifiedAt: true })
      .describe('The connected-data eligibility of the vehicle in short; `/vehicles/eligibility/{vin}` has the whole.'),
  })
  .meta({ ...vehicleSchema.meta(), id: 'Vehicle' });

/** A line of NDJSON, which also has the reason. */
const exportedVehicle = vehicleSchema.extend({
  eligibility: eligibilitySchema.pick({ status: true, eligible: true, verifiedAt: true, reason: true }),
});

const exampleOf = (schema: z.ZodType) => {
  const schemas = new Schemas();
  return schemas.exampleOf(schemas.of(schema, 'output')) as Json;
};
const reason = exampleOf(reasonSchema);
const ineligible = { status: 'INELIGIBLE', eligible: false, verifiedAt: '2026-11-20T08:00:02.000Z', reason };
const exportedExample = { ...exampleOf(exportedVehicle), eligibility: ineligible };

/** The media types of files, with the writer of their lines and the text before all lines. */
const files = {
  'text/csv': {
    writer: vehicleCsvWriter,
    head: BYTE_ORDER_MARK + vehicleCsvHeader,
    name: 'vehicles.csv',
    schema: field(
      z.string(),
      'A line for each vehicle below its header, in UTF-8 with a byte order mark; it can be uploaded as it is.',
      vehicleCsvHeader,
    ),
  },
  'application/x-ndjson': {
    writer: jsonRowWriter(vehicleResource.members, exportedVehicle, '\n'),
    head: '',
    name: 'vehicles.ndjson',
    schema: field(
      z.string(),
      'A Vehicle on each line, with `eligibility.reason`.',
      `${JSON.stringify(exportedExample)}\n`,
    ),
  },
};

export const vehiclesDocs = {
  description: 'The vehicles, in the media type that `Accept` prefers; JSON without a preference.',
  schema: z.array(vehicleJson),
  files: mapValues(files, ({ schema }) => schema),
  headers: ['Link', 'Content-Disposition', 'Vary'],
} satisfies AnswerDocs;

const asJson = jsonRowWriter(vehicleResource.members, vehicleJson);

/** A list of vehicles in the media type that the client prefers: JSON, or a file, whole unless it asks for a page. */
export async function vehiclesAnswer(
  request: RestRequest,
  read: (writer: RowWriter, page: PageArguments) => Promise<TextPage>,
): Promise<Answer> {
  const type = request.accepts(['application/json', 'text/csv', 'application/x-ndjson']);
  if (type === 'application/json') {
    const answer = await listAnswer(request, (page) => read(asJson, page), vehicleSortOrders);
    return { ...answer, headers: { ...answer.headers, Vary: 'Accept' } };
  }
  const { writer, name, head } = files[type];
  const { page, paged, linkTo } = readListQuery(request, vehicleSortOrders);
  const readPage = (one: PageArguments) => read(writer, one);
  const first = await readPage(page);
  const link = paged && first.hasNext && first.last !== null ? linkTo(first.last) : {};
  const pieces = fileOf(head, paged ? [first] : pagesFrom(first, page.order, readPage));
  const headers = { Vary: 'Accept', 'Content-Disposition': `attachment; filename="${name}"`, ...link };
  return { headers, stream: { type, pieces } };
}

async function* fileOf(head: string, pages: Iterable<TextPage> | AsyncIterable<TextPage>) {
  if (head) yield head;
  for await (const { text } of pages) if (text) yield text;
}
