import { crc32, deflateRawSync } from 'node:zlib';

/** A ZIP archive of these parts, written byte by byte so that its sizes may be false. */
export function zipOf(parts: Readonly<Record<string, string | Buffer>>, claimedSize?: number): Buffer {
  const bodies: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(parts)) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(crc32(bytes), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(claimedSize ?? bytes.length, 18);
    facts.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), facts, Buffer.from(name), packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), facts, place, Buffer.from(name)]));
    bodies.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, directory, end]);
}

const workbook = {
  'xl/workbook.xml': `<x:workbook xmlns:x="m" xmlns:r="r"><x:sheets><x:sheet name="A" sheetId="1" r:id="a"/></x:sheets></x:workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships><Relationship Id="a" Type="http://x/worksheet" Target="/xl/worksheets/one.xml"/></Relationships>`,
};

/** A workbook with one sheet; `rows` is the XML of its rows. */
export const workbookOf = (rows: string, more: Readonly<Record<string, string>> = {}, claimedSize?: number): Buffer =>
  zipOf(
    {
      ...workbook,
      'xl/worksheets/one.xml': `<x:worksheet xmlns:x="m"><x:sheetData>${rows}</x:sheetData></x:worksheet>`,
      ...more,
    },
    claimedSize,
  );

interface SheetOf {
  name: string;
  hidden?: boolean;
  /** XML of the sheet's rows. */
  rows: string;
}

/** A workbook with these sheets; the names and order of its parts differ from those of the sheets. */
export function workbookOfSheets(sheets: readonly SheetOf[]): Buffer {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  const part = (at: number) => `worksheets/sheet${sheets.length - at}.xml`;
  const listed = sheets.map(
    ({ name, hidden }, at) =>
      `<sheet name="${escaped(name)}" sheetId="${at + 1}" r:id="r${at}"${hidden ? ' state="hidden"' : ''}/>`,
  );
  const related = sheets
    .map((_, at) => `<Relationship Id="r${at}" Type="http://x/worksheet" Target="${part(at)}"/>`)
    .toReversed();
  return zipOf({
    ...Object.fromEntries(
      sheets.map(({ rows }, at) => [`xl/${part(at)}`, `<worksheet><sheetData>${rows}</sheetData></worksheet>`]),
    ),
    'xl/workbook.xml': `<workbook xmlns:r="r"><sheets>${listed.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${related.join('')}</Relationships>`,
  });
}

/** XML of rows whose cells hold texts. */
export const rowsOf = (rows: readonly (readonly string[])[]): string =>
  rows
    .map((cells) => cells.map((text) => `<c t="inlineStr"><is><t>${text}</t></is></c>`).join(''))
    .map((cells) => `<row>${cells}</row>`)
    .join('');
