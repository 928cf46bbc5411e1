import { defineConfig } from '@mikro-orm/postgresql';
import { ormOptions } from './src/database/orm.ts';

/** For MikroORM's own tools, which work on a server; the service itself opens its database in src/database/open.ts. */
export default defineConfig({
  ...ormOptions,
  ...(process.env.DATABASE_URL && { clientUrl: process.env.DATABASE_URL }),
});
