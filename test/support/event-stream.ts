import type { Client, Headed, Json } from './client.ts';

/** One server-sent event, its data parsed. */
export interface SentEvent {
  id: string;
  event: string;
  data: Json;
}

/** Opens a stream of server-sent events; `next` waits for the next one. */
export async function openStream(client: Client, path: string, headers: Headed = {}) {
  const gone = new AbortController();
  const response = await fetch(new URL(path, client.url), {
    headers: { ...client.headers, ...headers },
    signal: gone.signal,
  });
  if (!response.ok || !response.body) throw new Error(`${path} answered ${response.status}`);
  // Read the body at once: fetch cancels the body of a response that is garbage-collected before a reader has begun.
  const sent = eventsOf(response.body.pipeThrough(new TextDecoderStream() as never));
  return {
    async next(): Promise<SentEvent> {
      const { value, done } = await sent.next();
      if (done) throw new Error('the stream has ended');
      return value;
    },
    close: () => gone.abort(),
  };
}

async function* eventsOf(body: ReadableStream<string>): AsyncGenerator<SentEvent> {
  let text = '';
  for await (const chunk of body) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s)));
      if (fields.data) yield { id: fields.id, event: fields.event, data: JSON.parse(fields.data) };
    }
  }
}
