import { test } from 'vitest';

test.skip('Citus: TEST_CITUS_URL names no cluster, so nothing was tried (test/support/citus.sh makes one)', () => {});
