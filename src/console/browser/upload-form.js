import { fieldError } from './api.js';
import { openDialog } from './dialog.js';
import { t } from './languages/language.js';
import { startUpload } from './uploads.js';

/** The files that choosers offer. */
export const accepted = '.csv,.xlsx,.json,.txt,.tsv,text/csv,application/json';

const fields = [
  { name: 'file', label: t('File'), type: 'file', accept: accepted },
  { name: 'dryRun', label: t('Only check it, and store nothing'), type: 'check', value: true },
  { name: 'atomic', label: t('Add none if a row is refused'), type: 'check' },
];

/** Asks for a file, and whether it is to be stored. */
export const uploadForm = (fleetId) =>
  openDialog({
    title: t('Check a file'),
    fields,
    verb: t('Send'),
    send: ({ file, dryRun, atomic }) => {
      if (!file.name) throw fieldError('file', t('Choose a file.'));
      startUpload(fleetId, file, { dryRun, mode: atomic ? 'ATOMIC' : 'PARTIAL' });
    },
  });
