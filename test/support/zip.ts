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

const ROOT = `<Relationships><Relationship Id="w" Type="http://x/officeDocument" Target="xl/workbook.xml"/></Relationships>`;
const workbook = {
  '_rels/.rels': ROOT,
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
    '_rels/.rels': ROOT,
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

/** How a program writes a workbook; each of these is allowed. */
export interface WorkbookStyle {
  /** Folder and name of the workbook's part, and of the sheet's and the texts' from there. */
  folder: string;
  workbook: string;
  sheet: string;
  texts: string;
  /** Changes the name of a part as the archive has it. */
  stored(name: string): string;
  /** Changes the target of a relationship, given from the folder of the part that has it, and from the root. */
  target(relative: string, absolute: string): string;
  prefix: string;
  idPrefix: string;
  strict: boolean;
  shared: boolean;
  reversed: boolean;
}

/** A workbook with one sheet of these texts, as some program writes it, with decoys under the usual names. */
export function workbookAs(rows: readonly (readonly string[])[], style: WorkbookStyle): Buffer {
  const { folder, workbook, sheet, texts, stored, target, strict, shared, reversed } = style;
  const p = style.prefix && `${style.prefix}:`;
  const r = style.idPrefix;
  const office = strict
    ? 'http://purl.oclc.org/ooxml/officeDocument'
    : 'http://schemas.openxmlformats.org/officeDocument/2006';
  const main = strict
    ? 'http://purl.oclc.org/ooxml/spreadsheetml/main'
    : 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const xmlns = `xmlns${style.prefix && `:${style.prefix}`}="${main}"`;
  const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
  const relationships = (all: readonly [id: string, type: string, target: string][]) =>
    `${head}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${(reversed
      ? all.toReversed()
      : all
    )
      .map(([id, type, to]) => `<Relationship Id="${id}" Type="${office}/relationships/${type}" Target="${to}"/>`)
      .join('')}</Relationships>`;
  const strings = [...new Set(rows.flat())];
  const cell = (text: string) =>
    shared
      ? `<${p}c t="s"><${p}v>${strings.indexOf(text)}</${p}v></${p}c>`
      : `<${p}c t="inlineStr"><${p}is><${p}t>${text}</${p}t></${p}is></${p}c>`;
  const from = (name: string) => `${folder}${name}`;
  const parts: [name: string, content: string][] = [
    ['[Content_Types].xml', `${head}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`],
    [
      '_rels/.rels',
      relationships([
        ['x', 'extended-properties', 'docProps/app.xml'],
        ['w', 'officeDocument', target(from(workbook), from(workbook))],
      ]),
    ],
    [
      from(`_rels/${workbook}.rels`),
      relationships([
        ['c', 'chartsheet', target(sheet, from(sheet))],
        ['s', 'worksheet', target(sheet, from(sheet))],
        ...(shared ? [['t', 'sharedStrings', target(texts, from(texts))] as [string, string, string]] : []),
      ]),
    ],
    [
      from(workbook),
      `${head}<${p}workbook ${xmlns} xmlns:${r}="${office}/relationships"><${p}sheets><${p}sheet name="S" sheetId="1" ${r}:id="s"/></${p}sheets></${p}workbook>`,
    ],
    [
      from(sheet),
      `${head}<${p}worksheet ${xmlns}><${p}sheetData>${rows.map((cells) => `<${p}row>${cells.map(cell).join('')}</${p}row>`).join('')}</${p}sheetData></${p}worksheet>`,
    ],
    ...(shared
      ? [
          [
            from(texts),
            `${head}<${p}sst ${xmlns}>${strings.map((text) => `<${p}si><${p}t>${text}</${p}t></${p}si>`).join('')}</${p}sst>`,
          ] as [string, string],
        ]
      : []),
  ];
  const named = new Set(parts.map(([name]) => name.toLowerCase()));
  for (const decoy of [
    'xl/workbook.xml',
    'xl/_rels/workbook.xml.rels',
    'xl/sharedStrings.xml',
    'xl/worksheets/sheet1.xml',
  ])
    if (!named.has(decoy.toLowerCase())) parts.push([decoy, '<decoy/>']);
  const all = reversed ? parts.toReversed() : parts;
  return zipOf(Object.fromEntries(all.map(([name, content]) => [stored(name), content])));
}
