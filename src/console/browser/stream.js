import { ApiError, dataOf, send, unreachable } from './api.js';
import { t } from './languages/language.js';

/**
 * The data of a subscription as it comes, by GraphQL over server-sent events; ends when the gateway says that it is complete.
 * Throws ApiError, UNREACHABLE where the connection ends before. `opened` is called when the gateway listens.
 */
export async function* subscribe(query, variables, /** @type {any} */ { signal, opened = () => {} }) {
  const answer = await send(query, variables, { accept: 'text/event-stream', signal });
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    dataOf(await answer.text());
    throw unreachable();
  }
  opened();
  for await (const { event, data } of eventsOf(/** @type {ReadableStream} */ (answer.body).getReader())) {
    if (event === 'complete') return;
    if (event === 'next') yield dataOf(data);
  }
  throw new ApiError('UNREACHABLE', t('The gateway does not answer.'));
}

async function* eventsOf(reader) {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split(/\r?\n\r?\n/);
      text = blocks.pop() ?? '';
      for (const block of blocks) yield fieldsOf(block);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function fieldsOf(block) {
  const fields = { event: 'message', data: '' };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === 'data') fields.data += value;
    else if (name) fields[name] = value;
  }
  return fields;
}
