import { authorize, type Context } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import { ofFleetThatIsThere } from '../fleets/there.ts';
import { prepare } from '../sql/prepare.ts';
import { firstOf, type WrittenRows, writeRows } from '../sql/row-writer.ts';
import { onNewest } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { Utf8Text } from '../sql/utf8.ts';
import {
  type CsvLayout,
  columnsOf,
  type Delimiter,
  rejectedAt,
  rejectedColumns,
  rejectedHeader,
  rejectedWriter,
} from './csv/csv.ts';
import { oneImport } from './imports.ts';

const REJECTIONS_PAGE = 1000;

/** A report as far as it was read, and what follows; null where that is all. */
export interface RejectedCsv {
  text: Utf8Text;
  rest: AsyncIterable<Utf8Text> | null;
}

/** The rejected rows as a CSV in the file's own layout, with the reason beside each; throws ImportNotFound. */
export async function readRejectedCsv(ctx: Context, { importId }: { importId: string }): Promise<RejectedCsv> {
  const company = authorize(ctx, 'fleets:read');
  const after = (row: number) => (isId(importId) ? readRejections(ctx, company, importId, row) : Promise.resolve([]));
  // Both at once, in one packet.
  const [run, rows] = await Promise.all([layoutOf(ctx, company, importId), after(-1)]);
  const columns = columnsOf(run, firstOf(rows));
  const writer = rejectedWriter(columns, run.delimiter);
  const first = writeRows(rows, writer, REJECTIONS_PAGE);
  const header = Utf8Text.of(rejectedHeader(columns, run.delimiter));
  return {
    text: new Utf8Text(header.latin1 + first.text.latin1),
    rest: first.more ? rest(first, async (row) => writeRows(await after(row), writer, REJECTIONS_PAGE)) : null,
  };
}

const readLayout = prepare((p: { company: string; id: string }) =>
  db
    .selectFrom('import')
    .select([oneImport.ref('import.delimiter').$castTo<Delimiter>().as('delimiter'), 'import.columns'])
    .where('import.id', '=', p.id)
    .where('import.company', '=', p.company)
    .where(ofFleetThatIsThere('import', p.company)),
);

async function layoutOf(ctx: Context, company: string, id: string): Promise<CsvLayout> {
  const [layout] = isId(id) ? await readLayout(onNewest(ctx), { company, id }) : [];
  if (!layout) throw new ImportNotFound();
  return layout;
}

async function* rest(first: WrittenRows, read: (after: number) => Promise<WrittenRows>): AsyncGenerator<Utf8Text> {
  for (let page = first; page.more && page.last; ) {
    page = await read(rejectedAt(page.last));
    yield page.text;
  }
}

const rejections = `select ${rejectedColumns} from import_rejection r
  where r.company = $1 and r.import_id = $2 and r.row > $3 order by r.row limit ${REJECTIONS_PAGE + 1}`;

const readRejections = (ctx: Context, company: string, importId: string, after: number) =>
  ctx.services.database.rows(rejections, [company, importId, after], { newest: true });
