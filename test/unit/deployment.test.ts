import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settings } from '../../src/config.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Words in capitals that are no settings. */
const others = [
  /^POSTGRES_/,
  /^AF_/,
  /^(NODE_ENV|NODE_COMPILE_CACHE|PATH|LIMIT|CONFIG|CMD|ALL|TLS)$/,
  /^OTEL_/,
  /^FLEET_GATEWAY_(URL|TOKEN)$/,
];

describe.each([
  'Dockerfile',
  'compose.yaml',
  'deploy/kubernetes.yaml',
  'deploy/nginx.conf',
  'deploy/haproxy.cfg',
  'deploy/fleet-gateway.service',
])('%s', (file) => {
  test('names only existing settings', () => {
    const instructions =
      file === 'Dockerfile' ? /^(FROM|WORKDIR|COPY|RUN|ENV|USER|VOLUME|EXPOSE|HEALTHCHECK)\b/gm : /$^/g;
    const names =
      read(file)
        .replace(instructions, '')
        .match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\b(?:PORT|HOST|PACKS|WORKERS)\b/g) ?? [];
    expect(names.filter((name) => !(name in settings.shape) && !others.some((other) => other.test(name)))).toEqual([]);
  });

  test('names only existing files', () => {
    const paths = read(file).match(/\b(?:src|docs|deploy)\/[\w./-]+\.\w+/g) ?? [];
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

test('nginx accepts the largest file that the gateway accepts', () => {
  const [, megabytes] = /client_max_body_size (\d+)m;/.exec(read('deploy/nginx.conf')) ?? [];
  expect(Number(megabytes) * 1024 * 1024).toBeGreaterThan(settings.parse({}).LIMIT_FILE_BYTES);
});

test('nginx refuses the metrics, in whatever spelling the gateway answers them', () => {
  const [, pattern = ''] = /location ~\* (\S+) \{\s+return 404;/.exec(read('deploy/nginx.conf')) ?? [];
  const refused = new RegExp(pattern, 'i');
  for (const path of ['/metrics', '/metrics/', '/METRICS', '/api/fleet/metrics']) expect(path).toMatch(refused);
  for (const path of ['/', '/graphql', '/readyz', '/vehicles', '/metricsx']) expect(path).not.toMatch(refused);
});

describe.each(['Job', 'Deployment'])('the %s of kubernetes.yaml', (kind) => {
  const [text = ''] = read('deploy/kubernetes.yaml')
    .split(/^---$/m)
    .filter((one) => one.includes(`\nkind: ${kind}\n`));

  test.each([
    'automountServiceAccountToken: false',
    'seccompProfile: { type: RuntimeDefault }',
    'runAsNonRoot: true',
    'allowPrivilegeEscalation: false',
    'readOnlyRootFilesystem: true',
    'capabilities: { drop: [ALL] }',
  ])('has %s', (line) => {
    expect(text.split('\n').map((one) => one.trim())).toContain(line);
  });

  test('requests what it takes', () => {
    expect(text).toMatch(/requests: \{ cpu: \d+m, memory: \d+Mi \}/);
  });
});

test('.dockerignore includes every file that the build copies', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    ([, files]) => files?.split(' ') ?? [],
  );
  const sent = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  expect(copied.filter((file) => !sent.includes(file))).toEqual([]);
});

test.each([
  [undefined, 'production'],
  ['development', 'development'],
])('a service that is started with NODE_ENV %s runs for %s', (given, taken) => {
  const { NODE_ENV: _, ...rest } = process.env;
  const env = given ? { ...rest, NODE_ENV: given } : rest;
  const args = ['--import', './src/preload.js', '-p', 'process.env.NODE_ENV'];
  expect(execFileSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' })).toBe(`${taken}\n`);
});
