/** A generator of clients: its command, and a program that creates a fleet and finds it again. */
interface Generator {
  /** Its script, below `node_modules`, and arguments. */
  command: (document: string, output: string) => [script: string, ...args: string[]];
  program: string;
  /** Further files that its users write. */
  files?: Record<string, string>;
}

const fields = `{ name: 'North', companyAddress: 'Main Street 1', email: 'fleet@example.com', vat: 'DE1' }`;
// Each result is a fleet, a vehicle or a contract, as its type says.
const shown = `(one) => one.type === 'Fleet' ? one.vat : one.type === 'Vehicle' ? one.vin : one.pack`;

/** Those that npm's users take, each with its defaults. */
export const generators: Record<string, Generator> = {
  orval: {
    command: (document, output) => ['orval/dist/bin/orval.mjs', '--input', document, '--output', `${output}/api.ts`],
    program: `
      import { createFleet, search } from './orval/api';
      export async function use(baseURL: string, token: string) {
        const options = { baseURL, headers: { Authorization: \`Bearer \${token}\` } };
        await createFleet(${fields}, options);
        const { data } = await search({ q: 'North' }, options);
        return data.map(${shown});
      }`,
  },
  'openapi-typescript-codegen': {
    command: (document, output) => ['openapi-typescript-codegen/bin/index.js', '--input', document, '--output', output],
    program: `
      import { FleetsService, OpenAPI, SearchService } from './openapi-typescript-codegen';
      export async function use(baseUrl: string, token: string) {
        Object.assign(OpenAPI, { BASE: baseUrl, TOKEN: token });
        await FleetsService.createFleet(${fields});
        // It reads no \`const\`: every type is a string.
        return (await SearchService.search('North')).map((one) => 'vat' in one ? one.vat : one.id);
      }`,
  },
  oazapfts: {
    command: (document, output) => ['oazapfts/dist/cli.js', document, `${output}.ts`],
    program: `
      import { createFleet, defaults, search } from './oazapfts';
      export async function use(baseUrl: string, token: string) {
        Object.assign(defaults, { baseUrl, headers: { Authorization: \`Bearer \${token}\` } });
        await createFleet(${fields});
        const found = await search('North');
        return found.status === 200 ? found.data.map(${shown}) : found.data.code;
      }`,
  },
  'swagger-typescript-api': {
    command: (document, output) => [
      ...(['swagger-typescript-api/dist/cli.mjs', 'generate', '--path', document] as const),
      ...['--output', output, '--name', 'api.ts'],
    ],
    program: `
      import { Api } from './swagger-typescript-api/api';
      export async function use(baseUrl: string, token: string) {
        const headers = { Authorization: \`Bearer \${token}\` };
        const api = new Api({ baseUrl, baseApiParams: { headers } });
        await api.fleets.createFleet(${fields});
        return (await api.search.search({ q: 'North' })).data.map(${shown});
      }`,
  },
  '@rtk-query/codegen-openapi': {
    command: () => ['@rtk-query/codegen-openapi/lib/bin/cli.mjs', 'rtk.json'],
    files: {
      'rtk.json': JSON.stringify({ schemaFile: 'openapi.json', apiFile: './rtk-base.ts', outputFile: './rtk.ts' }),
      'rtk-base.ts': `
        import { createApi, fetchBaseQuery } from '@reduxjs/toolkit/query';
        export const service = { url: '', token: '' };
        export const api = createApi({
          baseQuery: (args, call, extra) => fetchBaseQuery({
            baseUrl: service.url,
            prepareHeaders: (headers) => headers.set('Authorization', \`Bearer \${service.token}\`),
          })(args, call, extra),
          endpoints: () => ({}),
        });`,
    },
    program: `
      import { configureStore } from '@reduxjs/toolkit';
      import { enhancedApi } from './rtk';
      import { api, service } from './rtk-base';
      export async function use(url: string, token: string) {
        Object.assign(service, { url, token });
        const store = configureStore({
          reducer: { [api.reducerPath]: api.reducer },
          middleware: (usual) => usual().concat(api.middleware),
        });
        const { createFleet, search } = enhancedApi.endpoints;
        await store.dispatch(createFleet.initiate({ body: ${fields} })).unwrap();
        return (await store.dispatch(search.initiate({ q: 'North' })).unwrap()).map(${shown});
      }`,
  },
  'openapi-zod-client': {
    command: (document, output) => ['openapi-zod-client/bin.js', document, '--output', `${output}.ts`],
    program: `
      import { createApiClient } from './openapi-zod-client';
      export async function use(baseUrl: string, token: string) {
        const headers = { Authorization: \`Bearer \${token}\` };
        const client = createApiClient(baseUrl, { axiosConfig: { headers } });
        await client.createFleet(${fields});
        return (await client.search({ queries: { q: 'North' } })).map(${shown});
      }`,
  },
};
