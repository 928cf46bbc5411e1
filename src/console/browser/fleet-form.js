import { ask } from './api.js';
import { Dialog, Field, Form } from './dialog.js';
import { html } from './html.js';
import { go, hrefOf } from './router.js';
import { toast } from './toast.js';

const createFleet = `mutation CreateFleet($input: CreateFleetInput!) {
  createFleet(input: $input) { fleet { id name } }
}`;

/** Asks for a new fleet, and goes there. */
export function FleetForm({ close }) {
  const send = async (input) => {
    const { createFleet: made } = await ask(createFleet, { input });
    toast(`“${made.fleet.name}” is there.`);
    close();
    go(hrefOf(['fleets', made.fleet.id]));
  };
  const fields = (error) => html`<${Field} name="name" label="Name" error=${error} autocomplete="off" />
    <${Field} name="companyAddress" label="Company address" error=${error} autocomplete="street-address" />
    <${Field} name="email" label="E-mail of who answers for it" type="email" error=${error} autocomplete="email" />
    <${Field} name="vat" label="VAT number" error=${error} autocomplete="off" />`;
  return html`<${Dialog} title="New fleet" close=${close}>
    <${Form} verb="Create fleet" send=${send} close=${close} fields=${fields} />
  <//>`;
}
