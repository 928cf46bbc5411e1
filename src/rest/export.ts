import { BYTE_ORDER_MARK } from '../core/csv-line.ts';
import type { Page } from '../core/sql/page.ts';
import { jsonWriter, type RowWriter, type TextPage } from '../core/sql/read.ts';
import { selectionOf } from '../core/sql/selection.ts';
import { vehicleOrders } from '../core/vehicles/vehicle.ts';
import { vehicleCsvHeader, vehicleCsvWriter } from '../core/vehicles/vehicle-csv.ts';
import { vehicleRows } from '../core/vehicles/vehicles.ts';
import { exportedVehicle, vehicleJson } from './openapi/vehicles.ts';
import { type Answer, listAnswer, pagesFrom, type RestRequest, readListQuery, STREAM_PAGE } from './route.ts';

/** A way to write vehicles as lines of a file. */
interface Format {
  writer: RowWriter;
  /** What stands before all lines. */
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

/** What the answer depends on beside its address. */
const headers = { Vary: 'Accept' };

/**
 * A list of vehicles, whose pages `read` reads, as the client likes it best: as JSON, or as a file that is sent while it is
 * read, whole unless the client asks for a page.
 */
export async function vehiclesAnswer(
  request: RestRequest,
  path: string,
  read: (writer: RowWriter, page: Page) => Promise<TextPage>,
): Promise<Answer> {
  const type = request.accepts(types);
  if (type === 'application/json') {
    const answer = await listAnswer(request, path, (page) => read(asJson, page), vehicleOrders);
    return { ...answer, headers: { ...answer.headers, ...headers } };
  }
  const { writer, file, head } = formats[type];
  const { page, paged, linkTo } = readListQuery(request, path, vehicleOrders);
  const readPage = (one: Page) => read(writer, one);
  const first = await readPage(paged ? page : { ...page, limit: STREAM_PAGE });
  const link = paged && first.hasNext && first.last !== null ? linkTo(first.last) : {};
  const pieces = fileOf(head, paged ? [first] : pagesFrom(first, page.order, readPage));
  const disposition = { 'Content-Disposition': `attachment; filename="${file}"` };
  return { status: 200, headers: { ...headers, ...disposition, ...link }, stream: { type, pieces } };
}

async function* fileOf(
  head: string,
  pages: Iterable<TextPage> | AsyncIterable<TextPage>,
): AsyncGenerator<string, void> {
  if (head) yield head;
  for await (const { text } of pages) if (text) yield text;
}
