import { partsOf } from './api.js';
import { openDialog } from './dialog.js';
import { counted, t } from './html.js';
import { someOf } from './words.js';

const endContracts =
  'mutation EndContracts($ids: [ID!]!) { endContracts(input: { ids: $ids }) { contracts { id status to } } }';
const deleteContracts =
  'mutation DeleteContracts($ids: [ID!]!) { deleteContracts(input: { ids: $ids }) { deleted { id name } } }';

/** Asks for confirmation and does something to contracts, at most a thousand at a time; calls `done` afterwards. */
function confirm(contracts, { titleOf, about, document, countOf, said, ...question }, done) {
  const things = counted(contracts.length, 'contract');
  const named = contracts.map(({ name, vehicle }) => `${name} (${vehicle.vin})`);
  openDialog({
    ...question,
    title: titleOf(contracts, things),
    about: `${someOf(named)}. ${about}`,
    send: async (_, run, tell) => {
      let acted = 0;
      let asked = 0;
      for (const part of partsOf(contracts)) {
        acted += countOf(await run(document, { ids: part.map(({ id }) => id) }, part[0].id));
        asked += part.length;
        tell(asked, contracts.length);
      }
      done();
      const first = said(counted(acted, 'contract'));
      const second = counted(asked - acted, 'contract');
      return `${acted < asked ? t('{first}; {second} left as before', { first, second }) : first}.`;
    },
  });
}

export const endNow = (contracts, done = () => {}) =>
  confirm(
    contracts,
    {
      titleOf: ([one, ...others], things) =>
        others.length === 0 ? t('End the contract “{name}” now?', one) : t('End {things} now?', { things }),
      about: t(
        'The end is now, and the manufacturer ends the data services. Ended contracts stay in the list. Those that have not begun stay as they are.',
      ),
      verb: t('End now'),
      document: endContracts,
      countOf: ({ endContracts: { contracts } }) => contracts.length,
      said: (things) => t('{things} ended', { things }),
    },
    done,
  );

export const removeContracts = (contracts, done = () => {}) =>
  confirm(
    contracts,
    {
      titleOf: ([one, ...others], things) =>
        others.length === 0 ? t('Delete the contract “{name}”?', one) : t('Delete {things}?', { things }),
      about: t('This cannot be undone.'),
      verb: t('Delete'),
      danger: true,
      document: deleteContracts,
      countOf: ({ deleteContracts: { deleted } }) => deleted.length,
      said: (things) => t('{things} deleted', { things }),
    },
    done,
  );
