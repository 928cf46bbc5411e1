// 2,000 random documents compared with a plain execution.
import { expect, test } from 'vitest';
import { tryDocuments } from '../documents/trial.ts';
import { startGateway } from '../support/gateway.ts';

/** A fixed seed repeats the documents, so that a harmless change passes; `npm run documents` tries others. */
const { DOCUMENTS_COUNT = '2000', DOCUMENTS_SEED = '1' } = process.env;
const MS_PER_DOCUMENT = 500;

// The limit permits every document, at any cost.
const gateway = await startGateway({ settings: { LIMIT_GRAPHQL_COST: '1000000000000000' } });

test(`random documents are answered like a plain execution: ${DOCUMENTS_COUNT} with seed ${DOCUMENTS_SEED}`, {
  timeout: 60_000 + Number(DOCUMENTS_COUNT) * MS_PER_DOCUMENT,
  retry: 0,
}, async () => {
  const tried = await tryDocuments(gateway, { count: Number(DOCUMENTS_COUNT), seed: Number(DOCUMENTS_SEED) });
  const { documents, answers, withErrors, failures } = tried;
  console.log(`${documents} documents, seed ${DOCUMENTS_SEED}: ${answers} answers, ${withErrors} with errors`);
  expect(failures.join('\n\n')).toBe('');
  expect(documents).toBe(Number(DOCUMENTS_COUNT));
});
