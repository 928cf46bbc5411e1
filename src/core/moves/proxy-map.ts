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

/** A company as `url_enc` of HAProxy writes it: keys of a map have no blanks. */
const mapKey = (company: string): string =>
  encodeURIComponent(company).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** Has HAProxy send a company to an installation: at once, and after its next start. */
export async function mapCompany({ file, sockets }: ProxyMap, company: string, installation: string): Promise<void> {
  if (file === undefined) return;
  const key = mapKey(company);
  await writeEntry(file, key, installation);
  for (const socket of sockets) {
    const answer = await command(socket, `set map ${file} ${key} ${installation}`);
    const fault = /not found/i.test(answer) ? await command(socket, `add map ${file} ${key} ${installation}`) : answer;
    if (fault !== '') throw new MoveError(`HAProxy at ${socket} did not take the entry: ${fault}`);
  }
}

async function writeEntry(file: string, key: string, installation: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  const others = text.split('\n').filter((line) => line !== '' && line.split(/\s/)[0] !== key);
  await writeFile(`${file}.new`, `${[...others, `${key} ${installation}`].join('\n')}\n`);
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
