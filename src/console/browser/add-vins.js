import { useState } from 'preact/hooks';
import { ask, fieldError } from './api.js';
import { Dialog, Field, Form } from './dialog.js';
import { html } from './html.js';
import { toast } from './toast.js';
import { counted } from './words.js';

const addVehicles = `mutation AddVehicles($input: AddVehiclesInput!) {
  addVehicles(input: $input) { summary { created existing rejected } rejected { value message } }
}`;

/** Takes VINs as people have them: one on a line, or parted by commas. Those that are refused stay, with why. */
export function AddVins({ fleetId, close }) {
  const [refused, setRefused] = useState([]);
  const send = async ({ vins: text }) => {
    const vins = text
      .split(/[\n,;\t]+/)
      .map((vin) => vin.trim())
      .filter(Boolean);
    setRefused([]);
    const { summary, rejected } = await add(fleetId, vins);
    if (rejected.length === 0) {
      toast(
        `${counted(summary.created, 'vehicle')} added${summary.existing ? `, ${summary.existing} already there` : ''}.`,
      );
      return close();
    }
    setRefused(rejected);
    throw fieldError('vins', refusal(summary));
  };
  const fields = (error) => html`<${Field} name="vins" label="VINs" area rows="6" class="vin" spellcheck="false"
    autocapitalize="characters" error=${error} hint="One on each line. Spaces and dashes do not matter." />`;
  return html`<${Dialog} title="Add VINs" close=${close}>
    <${Form} verb="Add vehicles" send=${send} close=${close} fields=${fields}>
      ${refused.length > 0 && html`<${Refused} rows=${refused} />`}
    <//>
  <//>`;
}

const Refused = ({ rows }) => html`<ul class="refused" tabindex="0" aria-label="Refused">
  ${rows.slice(0, 20).map(({ value, message }, at) => html`<li key=${at}><code>${value}</code> ${message}</li>`)}
</ul>`;

async function add(fleetId, vins) {
  if (vins.length === 0) throw fieldError('vins', 'Type or paste at least one VIN.');
  try {
    return (await ask(addVehicles, { input: { fleetId, vins } })).addVehicles;
  } catch (error) {
    // Where all are refused, that is an error, with the same report.
    if (error.details?.rejected) return error.details;
    throw error;
  }
}

const refusal = ({ created, rejected }) =>
  `${counted(rejected, 'VIN')} refused${created ? `; ${counted(created, 'vehicle')} added` : '; nothing was added'}.`;
