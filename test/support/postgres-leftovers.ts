import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { PASSWORD } from './operator.ts';

/** Of folders of servers; the id of the process that started one follows. */
export const prefix = 'fleet-gateway-postgres-';

/** Ends servers that killed runs have left behind, and removes their folders. */
export async function removeLeftovers(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    if (isRunning(Number(name.slice(prefix.length).split('-')[0]))) continue;
    const folder = join(tmpdir(), name);
    await stopLeftover(join(folder, 'data')).catch(() => {});
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Ends the server of this folder if it answers; the process id alone might belong to another process by now. */
async function stopLeftover(data: string): Promise<void> {
  const [pid, , , port] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  const client = new pg.Client({
    host: '127.0.0.1',
    port: Number(port),
    user: 'postgres',
    password: PASSWORD,
    connectionTimeoutMillis: 2_000,
  });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query('show data_directory');
  if (rows[0].data_directory === data) process.kill(Number(pid), 'SIGQUIT');
  await client.end();
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
