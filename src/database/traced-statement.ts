import { type Step, traced } from '../telemetry/telemetry.ts';

/** A statement that adds many rows repeats itself. */
const LONGEST_TEXT = 4_000;

/** MikroORM's unit of work writes values into the text. The last one may have been cut off. */
const LITERAL = /'(?:[^']|'')*(?:'|$)/g;

/** Sends a statement, as a step with its text and never its values. On its own, outside any step, it is not shown. */
export function traceStatement<T>(text: string, send: () => T | Promise<T>): T | Promise<T> {
  return traced(() => stepOf(text), send);
}

/** What a statement changes, wherever it says so: in steps before it, too. A lock is no change. */
const CHANGE = /\b(insert|delete|(?<!for |key |do )update)\s+(?:into\s+|from\s+)?(?:"?\w+"?\.)?"?(\w+)/i;
const READ = /\bfrom\s+(?:"?\w+"?\.)?"?(\w+)/i;

/** What a statement does above all, and to which table: the first change of several. */
function gistOf(text: string): { operation: string; table: string | undefined } {
  const [, change = '', changed] = CHANGE.exec(text) ?? [];
  if (change) return { operation: change.toUpperCase(), table: changed };
  const [, first = ''] = /^\W*(\w+)/.exec(text) ?? [];
  return { operation: first.toUpperCase().replace('WITH', 'SELECT'), table: READ.exec(text)?.[1] };
}

function stepOf(sent: string): Step {
  const text = sent.slice(0, LONGEST_TEXT).replaceAll(LITERAL, '?');
  const { operation, table } = gistOf(text);
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
