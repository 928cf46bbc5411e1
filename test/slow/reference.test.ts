// Every example of docs/reference.md gives its answer.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../src/rest/openapi/openapi-document.ts';
import type { Json } from '../support/client.ts';
import { contractFields, createFleet, uploadForm } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const path = join(import.meta.dirname, '../../docs/reference.md');
const page = readFileSync(path, 'utf8');
const BLOCK = /<!-- examples -->\n```sh\n(.*?)```/gs;
const examples = [...page.matchAll(BLOCK)].flatMap(([, block = '']) =>
  [...block.matchAll(/^(.+)\n# (\d{3})(?: (.*))?\n/gm)].map(([, command = '', status = '', answer = '']) => ({
    ...{ command, status, answer },
  })),
);

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');

/** The objects that the examples name, in variables of the shell. */
async function world(): Promise<Record<string, string>> {
  const [fleet, oldFleet] = [await createFleet(acme, { name: 'Berlin' }), await createFleet(acme, { name: 'Bremen' })];
  const other = await createFleet(acme, { name: 'Hamburg' });
  const vin = (last: number) => `WBA3A5C50CF25698${last}`;
  const add = async ({ id }: Json, vins: string[]) =>
    (await acme.post('/vehicles', { fleetId: id, vins })).body.vehicles;
  const [vehicle, , oldVehicle] = await add(fleet, [vin(4), vin(8), 'WBA3A5C50CF256995', 'WBA3A5C50CF256993']);
  await add(other, [vin(6)]);
  await until(async () => (await acme.get(`/vehicles/eligibility/${vin(4)}`)).status === 200);
  const contract = async (pack: string) => (await acme.post('/contracts', contractFields(vehicle, { pack }))).body.id;
  const { body: uploaded } = await acme.post('/vehicles/file', uploadForm(fleet.id, `vin\n${vin(4)}\nSHORT\n`));
  const hook = async () => (await acme.post('/webhooks', { url: 'https://receiver.invalid/hook' })).body;
  const [webhook, oldWebhook] = [await hook(), await hook()];
  const { body: delivery } = await acme.post(`/webhooks/${webhook.id}/test`);
  const deliveries = `/webhooks/${webhook.id}/deliveries?state=FAILED`;
  await until(async () => (await acme.get(deliveries)).body.some(({ id }: Json) => id === delivery.id));
  const { body: events } = await acme.get('/events?type=fleet.created');
  return {
    ...{ A: `authorization: ${acme.headers.authorization}`, G: gateway.url },
    ...{ FLEET: fleet.id, OLD_FLEET: oldFleet.id, VEHICLE: vehicle.id, OLD_VEHICLE: oldVehicle.id },
    ...{ CONTRACT: await contract('odometer'), OLD_CONTRACT: await contract('location'), IMPORT: uploaded.importId },
    ...{ EVENT: events[0].id, WEBHOOK: webhook.id, OLD_WEBHOOK: oldWebhook.id, DELIVERY: delivery.id },
  };
}

/** Runs all examples, each with its body and its status. */
async function run(): Promise<{ status: string; body: string }[]> {
  const separator = '\n--- end ---\n';
  const curl = `curl() { command curl -sS -w '\\n%{http_code}' "$@"; }\n`;
  const script = examples.map(
    ({ command }) =>
      `${command} 2>/dev/null\nprintf '${separator.replaceAll('\n', '\\n').replace(/^\\n---/, '\\n%s')}' '---'\n`,
  );
  const { stdout } = await promisify(execFile)('bash', ['-c', curl + script.join('')], {
    env: { ...process.env, ...(await world()) },
  });
  return stdout
    .split(separator)
    .slice(0, -1)
    .map((printed) => {
      const [, body = printed, status = '200'] = /^(.*)\n(\d{3})$/s.exec(printed) ?? [];
      return { status, body };
    });
}

const IDS = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Shows a text as the page does: without ids and secrets, and not too long. */
function shownText(text: string): string {
  const masked = text.replaceAll(IDS, '…').replace(/^(whsec_).*/, '$1…');
  return masked.length > 90 ? `${masked.slice(0, 90)}…` : masked;
}

/** Shows a value as the page does: of lists the first item, and of objects the first members. */
function shown(value: Json, depth = 0): string {
  if (typeof value === 'string') return JSON.stringify(shownText(value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const [most, all] = Array.isArray(value)
    ? [1, value.map((one) => shown(one, depth + 1))]
    : [[7, 5, 3][depth] ?? 2, Object.entries(value).map(([name, one]) => `"${name}":${shown(one, depth + 1)}`)];
  const text = [...all.slice(0, most), ...(all.length > most ? ['…'] : [])].join(',');
  return Array.isArray(value) ? `[${text}]` : `{${text}}`;
}

const lineOf = (text: string) => text.trim().split(/\r?\n/).join(' ⏎ ');

const asJson = (text: string): Json => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A text as the page shows it, whose `…` stand for anything. */
const textPattern = (text: string) => new RegExp(`^${text.split('…').map(RegExp.escape).join('.*')}$`, 's');

/** What an answer must be: `…` stands for anything, and times for others. */
function patternOf(page: Json): Json {
  if (typeof page === 'string') return expect.stringMatching(TIME.test(page) ? TIME : textPattern(page));
  if (typeof page !== 'object' || page === null) return page;
  if (Array.isArray(page)) {
    const items = page.filter((one) => one !== '…').map(patternOf);
    return items.length === page.length ? items : expect.arrayContaining(items);
  }
  const { '…': open, ...members } = page;
  const all = Object.fromEntries(Object.entries(members).map(([name, one]) => [name, patternOf(one)]));
  return open === undefined ? all : expect.objectContaining(all);
}

/** The JSON of an answer on the page: `…` is a member or an item. */
const parsed = (text: string) =>
  asJson(text.replaceAll(/([{,])…(?=\})/g, '$1"…":0').replaceAll(/([[,])…(?=\])/g, '$1"…"'));

/** Not for clients. */
const operators = ['GET /livez', 'GET /readyz', 'GET /metrics', 'GET /openapi.json'];

test('the reference has an example of every endpoint', () => {
  const paths: Json = openApiDocument().paths;
  const documented = Object.entries<Json>(paths).flatMap(([at, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${at.replaceAll(/\{\w+\}/g, '*')}`),
  );
  const calls = examples.map(({ command }) => {
    const [, at = ''] = /\$G(\/[^\s"?]*)/.exec(command) ?? [];
    const [, method = / -G /.test(command) ? 'GET' : /--json|-F |--data/.test(command) ? 'POST' : 'GET'] =
      / -X (\w+)/.exec(command) ?? [];
    return `${method} ${at.replaceAll(/\$\w+|(?<=eligibility\/)\w+/g, '*')}`;
  });
  expect(documented.filter((one) => !calls.includes(one))).toEqual(operators);
});

test('every example gives its answer', async () => {
  const answers = await run();
  if (process.env.UPDATE_REFERENCE) {
    let at = 0;
    const fresh = page.replaceAll(BLOCK, (block) =>
      block.replaceAll(/^# \d{3}.*$/gm, () => {
        const { status, body } = answers[at++] ?? { status: '', body: '' };
        const json = asJson(body);
        return `# ${status} ${json === undefined ? shownText(lineOf(body)) : shown(json)}`.trim();
      }),
    );
    writeFileSync(path, fresh);
    return;
  }
  for (const [at, { command, status, answer }] of examples.entries()) {
    const got = answers[at];
    expect({ command, ...got }).toMatchObject({ status });
    const json = parsed(answer);
    if (json !== undefined)
      expect({ command, body: asJson(got?.body ?? '') }).toEqual({ command, body: patternOf(json) });
    else expect(lineOf(got?.body ?? '')).toMatch(textPattern(answer));
  }
});
