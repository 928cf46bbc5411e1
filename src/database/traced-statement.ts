import { type Step, traced } from '../telemetry/telemetry.ts';

/** A statement that adds many rows repeats itself. */
const LONGEST_TEXT = 4_000;

/** MikroORM's unit of work writes values into the text. The last one may have been cut off. */
const LITERAL = /'(?:[^']|'')*(?:'|$)/g;

/** Sends a statement, as a step with its text and never its values. On its own, outside any step, it is not shown. */
export function traceStatement<T>(text: string, send: () => T | Promise<T>): T | Promise<T> {
  return traced(() => stepOf(text), send);
}

function stepOf(sent: string): Step {
  const text = sent.slice(0, LONGEST_TEXT).replaceAll(LITERAL, '?');
  const operation = /^\W*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? '';
  const table = /\b(?:from|into|update|table)\s+(?:"?\w+"?\.)?"?(\w+)/i.exec(text)?.[1];
  const summary = table ? `${operation} ${table}` : operation;
  const labels = { 'db.system.name': 'postgresql', 'db.operation.name': operation };
  return {
    name: summary,
    kind: 'client',
    place: 'inside',
    attributes: { ...labels, 'db.query.summary': summary, 'db.query.text': text },
    measured: { metric: 'db.client.operation.duration', labels },
  };
}
