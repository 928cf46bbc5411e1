import { describe, expect, test } from 'vitest';
import { domainErrorOf } from '../../src/core/database-errors.ts';
import { faultOf } from '../../src/database/sqlstate.ts';

/** An error as pg gives it: PostgreSQL's code and, for one of them, the function of the server. */
const failed = (code: string, routine = '') => Object.assign(new Error('as the server says'), { code, routine });

const UNDONE = 'Nothing was changed; try again.';
const UNKNOWN = 'Try again; with an Idempotency-Key nothing is done twice, should it have been done.';

describe('What an error of PostgreSQL says about the database', () => {
  test.each([
    ['25006', 'The database is read-only.', 'leaves', UNDONE],
    ['57P01', 'The database is starting or stopping.', 'leaves', UNKNOWN],
    ['57P02', 'The database is starting or stopping.', 'leaves', UNKNOWN],
    ['57P03', 'The database is starting or stopping.', 'leaves', UNDONE],
    ['57P04', 'The database cannot be reached.', 'leaves', UNKNOWN],
    ['57P05', 'The database cannot be reached.', 'leaves', UNKNOWN],
    ['08006', 'The database cannot be reached.', 'leaves', UNKNOWN],
    ['08P01', 'The database cannot be reached.', 'leaves', UNKNOWN],
    ['ECONNREFUSED', 'The database cannot be reached.', 'leaves', UNKNOWN],
    ['53100', 'The database has no disk space left.', 'stays', UNDONE],
    ['53200', 'The database has no memory left.', 'stays', UNDONE],
    ['53300', 'The database has no connection left.', 'leaves', UNDONE],
    ['26000', 'The database has lost a prepared statement.', 'leaves', UNDONE],
    ['28P01', 'The database refuses the credentials.', 'leaves', UNDONE],
    ['40001', 'Another change came in between.', 'stays', UNDONE],
    ['40P01', 'Another change came in between.', 'stays', UNDONE],
    ['57014', 'The database took too long.', 'stays', UNDONE],
  ])('%s: %s', (code, says, leaves, rest) => {
    expect(faultOf(failed(code))).toMatchObject({ says, leaves: leaves === 'leaves', undone: rest === UNDONE });
    const told = domainErrorOf(failed(code));
    expect(told).toMatchObject({ code: 'UNAVAILABLE', message: `${says} ${rest}`, retryAfter: 2 });
  });

  test('a lock that somebody holds is no fault of the database', () => {
    expect(faultOf(failed('55P03'))).toMatchObject({ is: 'held', leaves: false, undone: true });
    expect(domainErrorOf(failed('55P03'))).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 2 });
  });

  test('a plan that is too old is lost, and a feature that does not exist is the statement’s own fault', () => {
    expect(faultOf(failed('0A000', 'RevalidateCachedQuery'))).toMatchObject({ leaves: true, undone: true });
    expect(faultOf(failed('0A000', 'transformInsertStmt'))).toBeNull();
  });

  test.each(['23505', '22P02', '42601', 'XX000', 'ERR_INVALID_ARG_TYPE'])('%s is the statement’s own', (code) => {
    expect(faultOf(failed(code))).toBeNull();
  });

  test('a lost connection has no code', () => {
    expect(faultOf(new Error('Connection terminated unexpectedly'))).toMatchObject({ is: 'unreachable', leaves: true });
    expect(faultOf(new Error('something else'))).toBeNull();
  });
});
