import { UnderscoreNamingStrategy } from '@mikro-orm/core';

/** Names as PostgreSQL gives them where a migration does not; of foreign keys without the company, which all begin with. */
export class Names extends UnderscoreNamingStrategy {
  override indexName(...[table, columns, type]: Parameters<UnderscoreNamingStrategy['indexName']>): string {
    if (type === 'foreign') return `${table}_${columns.filter((column) => column !== 'company').join('_')}_fkey`;
    return super.indexName(table, columns, type);
  }
}
