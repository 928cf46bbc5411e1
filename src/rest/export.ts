import { z } from 'zod';
import { contractSchema, contractSortOrders } from '../core/contracts/contract.ts';
import { contractCsv } from '../core/contracts/contract-csv.ts';
import { contractResource } from '../core/contracts/contracts.ts';
import { BYTE_ORDER_MARK } from '../core/csv-line.ts';
import { field } from '../core/fields.ts';
import { reasonSchema } from '../core/reason.ts';
import type { SortOrders } from '../core/sql/order.ts';
import type { PageArguments } from '../core/sql/page.ts';
import { jsonRowWriter, type RowWriter, type TextPage } from '../core/sql/read.ts';
import { eligibilitySchema, vehicleSchema, vehicleSortOrders } from '../core/vehicles/vehicle.ts';
import { vehicleCsv } from '../core/vehicles/vehicle-csv.ts';
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
type Files = Readonly<
  Record<'text/csv' | 'application/x-ndjson', { writer: RowWriter; head: string; name: string; schema: z.ZodType }>
>;
const files: Files = {
  'text/csv': {
    writer: vehicleCsv.writer,
    head: BYTE_ORDER_MARK + vehicleCsv.header,
    name: 'vehicles.csv',
    schema: field(
      z.string(),
      'A line for each vehicle below its header, in UTF-8 with a byte order mark; it can be uploaded as it is.',
      vehicleCsv.header,
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

const filesDocs = (description: string, schema: z.ZodType, all: Files) =>
  ({
    description: `${description}, in the media type that \`Accept\` prefers; JSON without a preference.`,
    schema,
    files: mapValues(all, (one) => one.schema),
    headers: ['Link', 'Content-Disposition', 'Vary'],
  }) satisfies AnswerDocs;

export const vehiclesDocs = filesDocs('The vehicles', z.array(vehicleJson), files);

interface Listed {
  json: RowWriter;
  files: Files;
  orders: SortOrders;
}
type ReadPage = (writer: RowWriter, page: PageArguments) => Promise<TextPage>;

export const vehiclesAnswer = (request: RestRequest, read: ReadPage): Promise<Answer> =>
  fileAnswer(request, vehicleList, read);
const vehicleList: Listed = {
  json: jsonRowWriter(vehicleResource.members, vehicleJson),
  files,
  orders: vehicleSortOrders,
};

const contractFiles: Files = {
  'text/csv': {
    writer: contractCsv.writer,
    head: BYTE_ORDER_MARK + contractCsv.header,
    name: 'contracts.csv',
    schema: field(
      z.string(),
      'A line for each contract below its header, in UTF-8 with a byte order mark.',
      contractCsv.header,
    ),
  },
  'application/x-ndjson': {
    writer: jsonRowWriter(contractResource.members, contractSchema, '\n'),
    head: '',
    name: 'contracts.ndjson',
    schema: field(z.string(), 'A Contract on each line.', `${JSON.stringify(exampleOf(contractSchema))}\n`),
  },
};
export const contractsDocs = filesDocs('The contracts', z.array(contractSchema), contractFiles);
const contractList: Listed = {
  json: jsonRowWriter(contractResource.members, contractSchema),
  files: contractFiles,
  orders: contractSortOrders,
};
export const contractsAnswer = (request: RestRequest, read: ReadPage): Promise<Answer> =>
  fileAnswer(request, contractList, read);

/** A list in the media type that the client prefers: JSON, or a file, whole unless it asks for a page. */
async function fileAnswer(request: RestRequest, { json, files: own, orders }: Listed, read: ReadPage): Promise<Answer> {
  const type = request.accepts(['application/json', 'text/csv', 'application/x-ndjson']);
  if (type === 'application/json') {
    const answer = await listAnswer(request, (page) => read(json, page), orders);
    return { ...answer, headers: { ...answer.headers, Vary: 'Accept' } };
  }
  const { writer, name, head } = own[type];
  const { page, paged, linkTo } = readListQuery(request, orders);
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
