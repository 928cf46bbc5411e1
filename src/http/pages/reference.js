const place = document.getElementById('reference');
const dark = matchMedia('(prefers-color-scheme: dark)');
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', paint);
paint();

const ui = SwaggerUIBundle({
  url: new URL('openapi.json', location.href).href,
  domNode: place,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete() {
    const { token } = place.dataset;
    if (token) ui.preauthorizeApiKey('bearer', token);
  },
});

// Swagger UI gives these no names that a screen reader could say.
const names = { '#servers': 'Server', '.examples-select-element': 'Example', '.body-param__text': 'Body' };
const nameFields = () => {
  for (const [selector, name] of Object.entries(names)) {
    for (const field of place.querySelectorAll(`${selector}:not([aria-label])`)) field.setAttribute('aria-label', name);
  }
};
new MutationObserver(nameFields).observe(place, { childList: true, subtree: true });
