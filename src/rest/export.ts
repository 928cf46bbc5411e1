import { z } from 'zod';
import { BYTE_ORDER_MARK } from '../core/csv-line.ts';
import { field } from '../core/fields.ts';
import type { Page } from '../core/sql/page.ts';
import { jsonWriter, type RowWriter, type TextPage } from '../core/sql/read.ts';
import { selectionOf } from '../core/sql/selection.ts';
import { eligibility, vehicle, vehicleOrders } from '../core/vehicles/vehicle.ts';
import { vehicleCsvHeader, vehicleCsvWriter } from '../core/vehicles/vehicle-csv.ts';
import { vehicleRows } from '../core/vehicles/vehicles.ts';
import {
  type Answer,
  type AnswerDocs,
  listAnswer,
  pagesFrom,
  type RestRequest,
  readListQuery,
  STREAM_PAGE,
} from './route.ts';

/** A vehicle with its eligibility in short. */
export const vehicleJson = vehicle
  .extend({
    eligibility: eligibility
      .pick({ status: true, eligible: true, verifiedAt: true })
      .describe('In short; the whole is at `/vehicles/eligibility/{vin}`.'),
  })
  .meta({ ...vehicle.meta(), id: 'Vehicle' });

/** A vehicle as a line of NDJSON, which also says why it is not eligible. */
const exportedVehicle = vehicle
  .extend({ eligibility: eligibility.pick({ status: true, eligible: true, verifiedAt: true, reason: true }) })
  .meta({ ...vehicle.meta(), id: 'ExportedVehicle' });

const exportedExample = {
  id: '019aa1b2-6d4e-7f50-8b7c-1d2e3f4a5b6c',
  fleetId: '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b',
  vin: 'WBA3A5C50CF256985',
  manufacturer: 'bmw',
  eligibility: {
    status: 'INELIGIBLE',
    eligible: false,
    verifiedAt: '2026-11-20T08:00:02.000Z',
    reason: {
      code: 'NOT_ELIGIBLE',
      message: 'The manufacturer does not admit this vehicle.',
      actor: 'MANUFACTURER',
      retryable: false,
    },
  },
  warnings: [],
  createdAt: '2026-11-20T08:00:00.000Z',
} satisfies z.output<typeof exportedVehicle>;

const vehicleFiles = {
  'text/csv': field(
    z.string(),
    'A line for each vehicle below its header, in UTF-8 with a byte order mark; it can be uploaded as it is.',
    'vin,fleet_id,fleet_name,manufacturer,status,eligible,reason_code,reason,actor,verified_at,created_at\n',
  ),
  'application/x-ndjson': field(
    z.string(),
    'A Vehicle on each line, whose eligibility also has its `reason`.',
    `${JSON.stringify(exportedExample)}\n`,
  ),
};

export const vehiclesDocs = {
  description: 'The vehicles, in the media type of `Accept` that you like best; JSON where you have no preference.',
  schema: z.array(vehicleJson),
  files: vehicleFiles,
  headers: ['Link', 'Content-Disposition', 'Vary'],
} satisfies AnswerDocs;

/** A way to write vehicles as lines of a file. */
interface Format {
  writer: RowWriter;
  /** The text before all lines. */
  head: string;
  file: string;
}

const formats: Readonly<Record<'text/csv' | 'application/x-ndjson', Format>> = {
  'text/csv': { writer: vehicleCsvWriter, head: BYTE_ORDER_MARK + vehicleCsvHeader, file: 'vehicles.csv' },
  'application/x-ndjson': {
    writer: jsonWriter(vehicleRows.members, selectionOf(exportedVehicle), '\n'),
    head: '',
    file: 'vehicles.ndjson',
  },
};

const asJson = jsonWriter(vehicleRows.members, selectionOf(vehicleJson));

const types = ['application/json', 'text/csv', 'application/x-ndjson'] as const;

/** The answer also depends on `Accept`. */
const headers = { Vary: 'Accept' };

/**
 * A list of vehicles, whose pages `read` reads, as the client likes it best: as JSON, or as a file that is sent while it is
 * read, whole unless the client asks for a page.
 */
export async function vehiclesAnswer(
  request: RestRequest,
  filter: z.ZodObject,
  read: (writer: RowWriter, page: Page) => Promise<TextPage>,
): Promise<Answer> {
  const list = { filter, orders: vehicleOrders };
  const type = request.accepts(types);
  if (type === 'application/json') {
    const answer = await listAnswer(request, (page) => read(asJson, page), list);
    return { ...answer, headers: { ...answer.headers, ...headers } };
  }
  const { writer, file, head } = formats[type];
  const { page, paged, linkTo } = readListQuery(request, list);
  const readPage = (one: Page) => read(writer, one);
  const first = await readPage(paged ? page : { ...page, limit: STREAM_PAGE });
  const link = paged && first.hasNext && first.last !== null ? linkTo(first.last) : {};
  const pieces = fileOf(head, paged ? [first] : pagesFrom(first, page.order, readPage));
  const disposition = { 'Content-Disposition': `attachment; filename="${file}"` };
  return { headers: { ...headers, ...disposition, ...link }, stream: { type, pieces } };
}

async function* fileOf(
  head: string,
  pages: Iterable<TextPage> | AsyncIterable<TextPage>,
): AsyncGenerator<string, void> {
  if (head) yield head;
  for await (const { text } of pages) if (text) yield text;
}
