import { authorize, type Context } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import { fleetIsThere } from '../fleets/fleet.ts';
import { numbered } from '../sql/prepare.ts';
import { type WrittenRows, writeRows } from '../sql/read.ts';
import { readRows } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import {
  columnsOf,
  LAYOUT_ROW,
  layoutColumns,
  layoutIn,
  rejectedAt,
  rejectedColumns,
  rejectedHeader,
  rejectedWriter,
} from './csv/rejected.ts';

const REJECTIONS_PAGE = 1000;

/** A report as far as it was read, and what follows; null where that is all. */
export interface RejectedCsv {
  text: string;
  rest: AsyncIterable<string> | null;
}

/** The rejected rows as a CSV in the file's own layout, with the reason beside each; throws ImportNotFound. */
export async function readRejectedCsv(ctx: Context, { importId }: { importId: string }): Promise<RejectedCsv> {
  const company = authorize(ctx, 'fleets:read');
  const read = (statement: string, ...values: unknown[]) =>
    readRows(ctx, statement, [company, importId, ...values], { newest: true });
  const [begun, ...rows] = isId(importId) ? await read(begin) : [];
  const layout = begun && layoutIn(begun);
  if (!layout) throw new ImportNotFound();
  const columns = columnsOf(layout, rows[0]);
  const writer = rejectedWriter(columns, layout.delimiter);
  const first = writeRows(rows, writer, REJECTIONS_PAGE);
  return {
    text: rejectedHeader(columns, layout.delimiter) + first.text,
    rest: first.more ? rest(first, async (row) => writeRows(await read(after, row), writer, REJECTIONS_PAGE)) : null,
  };
}

async function* rest(first: WrittenRows, read: (after: number) => Promise<WrittenRows>): AsyncGenerator<string> {
  for (let page = first; page.more && page.last; ) {
    page = await read(rejectedAt(page.last));
    yield page.text;
  }
}

const rejections = (after: string) => `select ${rejectedColumns} from import_rejection r
  where r.company = $company and r.import_id = $id and r.row > ${after} order by r.row limit ${REJECTIONS_PAGE + 1}`;

/** The layout, and the first rows behind it, if the import is there. */
const { text: begin } = numbered(`select ${layoutColumns} from import
  where import.company = $company and import.id = $id and ${fleetIsThere('import')}
  union all (${rejections(`${LAYOUT_ROW}`)}) order by row`);

/** The rows behind one. */
const { text: after } = numbered(rejections('$row'));
