import { fieldError } from './api.js';
import { openDialog } from './dialog.js';
import { startUpload } from './uploads.js';

/** The files that choosers offer. */
export const accepted = '.csv,.xlsx,.json,.txt,.tsv,text/csv,application/json';

const fields = [
  { name: 'file', label: 'File', type: 'file', accept: accepted },
  { name: 'dryRun', label: 'Only check it, and store nothing', type: 'check', value: true },
  { name: 'atomic', label: 'Add none if a row is refused', type: 'check' },
];

/** Asks for a file, and whether it is to be stored. */
export const uploadForm = (fleetId) =>
  openDialog({
    title: 'Check a file',
    fields,
    verb: 'Send',
    send: ({ file, dryRun, atomic }) => {
      if (!file.name) throw fieldError('file', 'Choose a file.');
      startUpload(fleetId, file, { dryRun, mode: atomic ? 'ATOMIC' : 'PARTIAL' });
    },
  });
