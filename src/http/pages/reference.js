const place = document.getElementById('reference');
const dark = matchMedia('(prefers-color-scheme: dark)');
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', paint);
paint();

const ui = SwaggerUIBundle({
  url: '/openapi.json',
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
