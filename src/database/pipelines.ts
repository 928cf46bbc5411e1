import type pg from 'pg';
import type { PostgresConnection } from './postgres-connection.ts';
import type { ServerWatch } from './server-watch.ts';
import { faultOf } from './sqlstate.ts';

// A connection is opening (statements wait in it), open, or leaving. `open` makes it, pg has it open. `retire` has it leave after its
// last answer, since it is spent; `cut` at once, so that statements in it fail; and it leaves by itself where the server ends it.
// A statement is in one connection, then answered, failed by itself, or given back as null: `send` decides by the error.

/** A statement that takes longer is not short, or waits for a lock. */
const SHORT_MS = 500;

/** `most` connections. `repeatable`: doing a statement twice does no harm. */
type PipelineOptions = { most: number; repeatable: boolean };

/** Short statements that share connections in pipeline mode: those of one moment go in one packet. */
export function openPipelines(watch: ServerWatch, config: pg.ClientConfig, { most, repeatable }: PipelineOptions) {
  const connections = new Set<PostgresConnection>();

  /** The rows; null where the statement needs its own connection: it is slow, or repeatable and this one was lost. */
  async function send(statement: string, values: readonly unknown[], asTexts = false): Promise<unknown[] | null> {
    if (watch.isSilent) return null;
    const connection = leastBusy();
    connection.cork();
    try {
      return (await connection.send(statement, values, asTexts)).rows;
    } catch (error) {
      const isUnsent = !connection.isConnected;
      const fault = faultOf(error);
      if (isUnsent || (repeatable && fault)) {
        // Statements behind a slow one would wait as long for each other slow one: they fail at once, and go elsewhere.
        cut(connection);
        return null;
      }
      if (fault?.undone) return null;
      // The stack shows the caller, rather than the reader of the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    }
  }

  function leastBusy(): PostgresConnection {
    let least: PostgresConnection | undefined;
    for (const connection of connections) {
      if (connection.isSpent) retire(connection);
      else if (!least || connection.waiting < least.waiting) least = connection;
    }
    return least && (least.waiting === 0 || connections.size >= most) ? least : open();
  }

  /** Statements wait in it until it is connected. */
  function open(): PostgresConnection {
    const connection = new watch.Client({ ...config, statement_timeout: SHORT_MS });
    const lost = () => connections.delete(connection);
    connection.on('error', lost).once('end', lost);
    connection.connect().catch(() => {});
    connections.add(connection);
    return connection;
  }

  /** Ends a connection when its last statement has its answer. */
  function retire(connection: PostgresConnection): void {
    connections.delete(connection);
    void connection.end();
  }

  function cut(connection: PostgresConnection): void {
    connections.delete(connection);
    connection.socket.destroy();
  }

  return { send, close: () => connections.forEach(cut) };
}
