import { defineConfig } from '@mikro-orm/postgresql';
import { options } from './src/database/orm.ts';

/** For MikroORM's own tools, which work on a server; the service itself opens its database in src/database/open.ts. */
export default defineConfig({ ...options, ...(process.env.DATABASE_URL && { clientUrl: process.env.DATABASE_URL }) });
