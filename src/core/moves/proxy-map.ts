import { readFile, rename, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { MoveError } from './installation.ts';

/** The map by which HAProxy knows where companies are (deploy/haproxy.cfg), in its file and in its memory. */
export interface ProxyMap {
  /** As HAProxy names it: the path in its configuration. */
  file: string | undefined;
  /** Its admin sockets: paths, or host:port. */
  sockets: readonly string[];
}

const LONGEST_MS = 5_000;

/**
 * A company as `url_enc` of HAProxy writes it: keys of a map have no blanks. HAProxy reads what a token escapes (\u00fc) as one byte, and
 * nothing above it.
 */
const mapKeys = (company: string): string[] => {
  const encodings = /^[\0-\xff]*$/.test(company) ? (['utf8', 'latin1'] as const) : (['utf8'] as const);
  const bytes = encodings.map((encoding) => Buffer.from(company, encoding).toString('latin1'));
  const encoded = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  return [...new Set(bytes.map((text) => text.replaceAll(/[^\w.~-]/g, encoded)))];
};

/** Has HAProxy send a company to an installation: at once, and after its next start. */
export async function mapCompany({ file, sockets }: ProxyMap, company: string, installation: string): Promise<void> {
  if (file === undefined) return;
  const keys = mapKeys(company);
  await writeEntries(file, keys, installation);
  for (const [socket, key] of sockets.flatMap((one) => keys.map((key) => [one, key] as const))) {
    const answer = await command(socket, `set map ${file} ${key} ${installation}`);
    const fault = /not found/i.test(answer) ? await command(socket, `add map ${file} ${key} ${installation}`) : answer;
    if (fault !== '') throw new MoveError(`HAProxy at ${socket} did not take the entry: ${fault}`);
  }
}

async function writeEntries(file: string, keys: readonly string[], installation: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  const others = text.split('\n').filter((line) => line !== '' && !keys.includes(line.split(/\s/)[0] ?? ''));
  await writeFile(`${file}.new`, `${[...others, ...keys.map((key) => `${key} ${installation}`)].join('\n')}\n`);
  await rename(`${file}.new`, file);
}

async function command(address: string, line: string): Promise<string> {
  const [, host, port] = /^(?!\/)(.*):(\d+)$/.exec(address) ?? [];
  const socket = port ? connect(Number(port), host) : connect(address);
  socket.setTimeout(LONGEST_MS, () => socket.destroy(new Error(`no answer in ${LONGEST_MS / 1000} s`)));
  let answer = '';
  try {
    socket.end(`${line}\n`);
    for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
  } catch (cause) {
    throw new MoveError(`HAProxy at ${address} cannot be reached: ${(cause as Error).message}`, { cause });
  }
  return answer.trim();
}
