import { StringDecoder } from 'node:string_decoder';
import sax from 'sax';
import { damaged } from './archive.ts';

/** What is done with a document on its way. Names come without their prefixes, and without those of other attributes. */
export interface Handler {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** Deeper than any part of a workbook, and wider. */
const MOST_LEVELS = 40;
const MOST_ATTRIBUTES = 60;

/**
 * Reads a document piece by piece, and comes back after each; declarations of entities are not looked at.
 * Throws ValidationFailed for what is no such document, and what the handler throws.
 */
export async function* readXml(pieces: AsyncIterable<Buffer>, handler: Handler): AsyncGenerator<void, void> {
  const parser = sax.parser(true);
  const decoder = new StringDecoder();
  let levels = 0;
  let attributes = 0;
  const check = (fits: boolean, what: string) => {
    if (!fits) throw damaged(new Error(what));
  };
  parser.onerror = (error) => {
    throw damaged(error);
  };
  parser.onattribute = () => check(++attributes <= MOST_ATTRIBUTES, 'too many attributes');
  parser.onopentag = ({ name, attributes: given }) => {
    check(++levels <= MOST_LEVELS, 'too many levels');
    attributes = 0;
    handler.open(bare(name), given as Record<string, string>);
  };
  parser.onclosetag = (name) => {
    levels--;
    handler.close?.(bare(name));
  };
  parser.ontext = (text) => handler.text?.(text);
  parser.oncdata = (text) => handler.text?.(text);
  for await (const piece of pieces) {
    parser.write(decoder.write(piece));
    yield;
  }
  parser.close();
}

/** Some programs write `x:row` where others write `row`. */
const bare = (name: string): string => name.slice(name.indexOf(':') + 1);

/** Reads a whole document. */
export async function readAll(pieces: AsyncIterable<Buffer>, handler: Handler): Promise<void> {
  for await (const _ of readXml(pieces, handler));
}
