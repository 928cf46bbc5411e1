import { buildSchema, introspectionFromSchema } from 'graphql';
import { defineConfig } from 'vite';

const gateway = process.env.GATEWAY ?? 'http://127.0.0.1:4000';
const proxy = { '/graphql': { target: gateway, ws: true } };

/** Replaces each document by the artifact that Relay's compiler made of it, as Relay's plugin for Babel does. */
const relay = {
  name: 'relay',
  enforce: 'pre',
  transform(code, path) {
    if (!path.endsWith('/relay/main.jsx')) return;
    const names = [];
    const text = code.replaceAll(/graphql`\s*\w+ (\w+)[^`]*`/g, (_document, name) => {
      names.push(name);
      return name;
    });
    return [...names.map((name) => `import ${name} from './__generated__/${name}.graphql.js';`), text].join('\n');
  },
};

/** `import schema from 'schema.graphql'` gives the introspection that urql's Graphcache reads. */
const introspection = {
  name: 'introspection',
  transform(code, path) {
    if (!path.endsWith('/schema.graphql')) return;
    const schema = introspectionFromSchema(buildSchema(code), { descriptions: false });
    return `export default ${JSON.stringify(schema)}`;
  },
};

/** Pages and the gateway have one origin, as behind a proxy in production; the token is the one in VITE_TOKEN. */
export default defineConfig({ plugins: [relay, introspection], server: { proxy }, preview: { proxy } });
