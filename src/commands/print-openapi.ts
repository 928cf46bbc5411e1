import { writeFile } from 'node:fs/promises';
import { openApiDocument } from '../rest/openapi/openapi-document.ts';
import { readOptions, runCommand } from './command.ts';

export const openApiFile = new URL('../../docs/openapi.json', import.meta.url);

export const openApiText = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`;

const usage = 'Usage: npm run openapi\nWrites docs/openapi.json.';
if (import.meta.main) {
  await runCommand({ usage }, async (args) => {
    readOptions(args, {}, usage);
    await writeFile(openApiFile, openApiText());
    return 0;
  });
}
