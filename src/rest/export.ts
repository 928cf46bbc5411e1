import { BYTE_ORDER_MARK } from '../core/csv-line.ts';
import { type JsonPage, jsonWriter, type Lines, type RowWriter } from '../core/sql/json-page.ts';
import { selectionOf } from '../core/sql/json-table.ts';
import type { Page } from '../core/sql/page.ts';
import { vehicleOrders } from '../core/vehicles/vehicle.ts';
import { vehicleCsvHeader, vehicleCsvWriter } from '../core/vehicles/vehicle-csv.ts';
import { vehicleRows } from '../core/vehicles/vehicles.ts';
import { exportedVehicle } from './openapi/vehicles.ts';
import { type Answer, listAnswer, pagesFrom, type RestRequest, readListQuery, STREAM_PAGE } from './route.ts';

/** A way to write vehicles as lines of a file. */
interface Format {
  writer: RowWriter;
  /** What stands before all lines, and behind each. */
  head: string;
  end: string;
  file: string;
}

const formats: Readonly<Record<'text/csv' | 'application/x-ndjson', Format>> = {
  'text/csv': { writer: vehicleCsvWriter, head: BYTE_ORDER_MARK + vehicleCsvHeader, end: '', file: 'vehicles.csv' },
  'application/x-ndjson': {
    writer: jsonWriter(vehicleRows.members, selectionOf(exportedVehicle)),
    head: '',
    end: '\n',
    file: 'vehicles.ndjson',
  },
};

const types = ['application/json', 'text/csv', 'application/x-ndjson'] as const;

/** What the answer depends on beside its address. */
const headers = { Vary: 'Accept' };

/**
 * A list of vehicles as the client likes it best: as JSON, whose pages `asJson` makes, or as a file that is sent while it is read,
 * whole unless the client asks for a page.
 */
export async function vehiclesAnswer(
  request: RestRequest,
  path: string,
  asJson: (page: Page) => Promise<JsonPage>,
  read: (writer: RowWriter, page: Page) => Promise<Lines>,
): Promise<Answer> {
  const type = request.accepts(types);
  if (type === 'application/json') {
    const answer = await listAnswer(request, path, asJson, vehicleOrders);
    return { ...answer, headers: { ...answer.headers, ...headers } };
  }
  const { writer, file, ...format } = formats[type];
  const { page, paged, linkTo } = readListQuery(request, path, vehicleOrders);
  const readPage = (one: Page) => read(writer, one);
  const first = await readPage(paged ? page : { ...page, limit: STREAM_PAGE });
  const link = paged && first.hasNext && first.last !== null ? linkTo(first.last) : {};
  const pieces = fileOf(format, paged ? [first] : pagesFrom(first, page.order, readPage));
  const disposition = { 'Content-Disposition': `attachment; filename="${file}"` };
  return { status: 200, headers: { ...headers, ...disposition, ...link }, stream: { type, pieces } };
}

async function* fileOf(
  { head, end }: Pick<Format, 'head' | 'end'>,
  pages: Iterable<Lines> | AsyncIterable<Lines>,
): AsyncGenerator<string, void> {
  let before = head;
  for await (const { lines } of pages) {
    const text = lines.length > 0 ? lines.join(end) + end : '';
    if (before || text) yield before + text;
    before = '';
  }
}
