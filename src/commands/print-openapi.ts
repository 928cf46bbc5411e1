import { writeFile } from 'node:fs/promises';
import { openApiDocument } from '../rest/openapi/document.ts';

/** The document as it is committed. */
export const openApiFile = new URL('../../docs/openapi.json', import.meta.url);

export const openApiText = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`;

if (import.meta.main) await writeFile(openApiFile, openApiText());
